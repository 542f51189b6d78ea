/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank has submitted; see rank_waits.h. */
#include "lib/base/rank_waits.h"

#include "lib/base/rank_info.h"
#include "lib/base/text.h"

bool rank_waits_has(const struct rank_waits *waits, uint64_t key, uint64_t set_key)
{
    for (int i = 0; i < waits->count; i++)
        if (waits->keys[i] == key || waits->keys[i] == set_key)
            return true;
    return false;
}

static void first_encode(struct wire_writer *writer, const struct rank_waits *waits)
{
    wire_put_u64(writer, waits->set_key);
    wire_put_u32(writer, waits->age_ms);
    wire_put_u8(writer, waits->moves);
    wire_put_string(writer, waits->name);
    wire_put_u8(writer, (uint8_t)waits->nmembers);
    for (int i = 0; i < waits->nmembers; i++) {
        wire_put_u32(writer, waits->members[i].first);
        wire_put_u32(writer, waits->members[i].end);
    }
}

void rank_waits_encode(struct wire_writer *writer, const struct rank_waits *waits)
{
    wire_put_u8(writer, (uint8_t)waits->for_whom);
    wire_put_u8(writer, (uint8_t)waits->count);
    wire_put_u8(writer, waits->more);
    for (int i = 0; i < waits->count; i++)
        wire_put_u64(writer, waits->keys[i]);
    if (waits->count > 0)
        first_encode(writer, waits);
}

static bool members_decode(struct rank_waits *waits, struct wire_reader *reader)
{
    uint32_t end = 0;
    int count = wire_get_u8(reader);
    if (count > WAITS_RANGES_MAX)
        return false;
    for (int i = 0; i < count && !reader->failed; i++) {
        waits->members[i].first = wire_get_u32(reader);
        waits->members[i].end = wire_get_u32(reader);
        if (waits->members[i].first < end || waits->members[i].end <= waits->members[i].first ||
            waits->members[i].end > WORLD_SIZE_MAX)
            return false;
        end = waits->members[i].end;
    }
    waits->nmembers = count;
    return true;
}

static bool first_decode(struct rank_waits *waits, struct wire_reader *reader)
{
    waits->set_key = wire_get_u64(reader);
    waits->age_ms = wire_get_u32(reader);
    waits->moves = wire_get_u8(reader) != 0;
    wire_get_string(reader, waits->name, sizeof waits->name);
    text_make_line(waits->name);
    return members_decode(waits, reader);
}

void rank_waits_decode(struct rank_waits *waits, struct wire_reader *reader)
{
    *waits = (struct rank_waits){ .count = 0 };
    int for_whom = wire_get_u8(reader);
    int count = wire_get_u8(reader);
    waits->more = wire_get_u8(reader) != 0;
    bool valid = for_whom < WAITS_FOR_KINDS && count <= WAITS_MAX;
    for (int i = 0; i < count && valid; i++)
        waits->keys[i] = wire_get_u64(reader);
    if (valid && count > 0)
        valid = first_decode(waits, reader);
    if (!valid || reader->failed) {
        reader->failed = true;
        return;
    }
    waits->for_whom = for_whom;
    waits->count = count;
}
