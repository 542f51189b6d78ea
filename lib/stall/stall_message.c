/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the stall inspector's frames; see stall_message.h. */
#include "lib/stall/stall_message.h"

#include "lib/base/text.h"

#include <string.h>

void stall_clean(char *text)
{
    text_make_lines(text);
    while ((text = strchr(text, '\n')))
        *text = '?';
}

static void put_u32(struct wire_writer *writer, int value)
{
    wire_put_u32(writer, (uint32_t)value);
}

void stall_names_encode(struct wire_writer *writer, const struct stall_names *names)
{
    wire_put_u8(writer, (uint8_t)names->count);
    for (int i = 0; i < names->count; i++) {
        wire_put_u8(writer, (uint8_t)names->at[i].kind);
        wire_put_u32(writer, names->at[i].age_ms);
        wire_put_string(writer, names->at[i].text);
    }
}

void stall_probe_encode(struct wire_writer *writer, const struct stall_probe *probe)
{
    wire_put_u32(writer, probe->id);
    wire_put_u32(writer, probe->budget_ms);
    stall_names_encode(writer, &probe->names);
}

static void put_ranges(struct wire_writer *writer, const struct rank_ranges *ranges)
{
    wire_put_u8(writer, (uint8_t)ranges->count);
    wire_put_u8(writer, ranges->closed);
    for (int i = 0; i < ranges->count; i++) {
        put_u32(writer, ranges->range[i].first);
        put_u32(writer, ranges->range[i].end);
    }
}

void stall_answer_encode(struct wire_writer *writer, const struct stall_answer *answer)
{
    wire_put_u32(writer, answer->id);
    wire_put_u8(writer, (uint8_t)answer->nnames);
    for (int i = 0; i < answer->nnames; i++) {
        wire_put_u32(writer, answer->name[i].age_ms);
        put_ranges(writer, &answer->name[i].missing);
    }
    put_ranges(writer, &answer->silent);
    late_ranks_encode(writer, &answer->idle);
    wire_put_u8(writer, (uint8_t)answer->nranks);
    for (int i = 0; i < answer->nranks; i++) {
        put_u32(writer, answer->ranks[i].rank);
        wire_put_u8(writer, answer->ranks[i].missing);
        wire_put_string(writer, answer->ranks[i].text);
    }
}

/* A number that must be below `end`; otherwise the reader fails. */
static int get_less_than(struct wire_reader *reader, uint32_t value, int end)
{
    if (value < (uint32_t)end)
        return (int)value;
    reader->failed = true;
    return 0;
}

static int get_count(struct wire_reader *reader, int max)
{
    return get_less_than(reader, wire_get_u8(reader), max + 1);
}

static int stall_message_finish(const struct wire_reader *reader, const char *what, struct err *err)
{
    if (wire_reader_finished(reader))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "%s of the stall inspector is malformed", what);
}

static void get_names(struct wire_reader *reader, struct stall_names *names)
{
    names->count = get_count(reader, STALL_NAMES_MAX);
    for (int i = 0; i < names->count; i++) {
        names->at[i].kind =
            (enum collective_kind)get_less_than(reader, wire_get_u8(reader), COLLECTIVE_KINDS);
        names->at[i].age_ms = wire_get_u32(reader);
        wire_get_string(reader, names->at[i].text, sizeof names->at[i].text);
        reader->failed |= names->at[i].kind == 0 || names->at[i].text[0] == '\0';
    }
}

int stall_names_decode(struct stall_names *names, const void *body, size_t nbytes, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, body, nbytes);
    get_names(&reader, names);
    return stall_message_finish(&reader, "an alert", err);
}

int stall_probe_decode(struct stall_probe *probe, const void *body, size_t nbytes, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, body, nbytes);
    probe->id = wire_get_u32(&reader);
    probe->budget_ms = wire_get_u32(&reader);
    get_names(&reader, &probe->names);
    return stall_message_finish(&reader, "a probe", err);
}

/* Ranges of ranks first, ..., end - 1. */
static void get_ranges(struct wire_reader *reader, struct rank_ranges *ranges, int first, int end)
{
    *ranges = (struct rank_ranges){ .count = get_count(reader, VARIANT_RANGES_MAX) };
    ranges->closed = get_less_than(reader, wire_get_u8(reader), 2) > 0;
    reader->failed |= ranges->closed && ranges->count == 0;
    int least = first;
    for (int i = 0; i < ranges->count; i++) {
        struct rank_range *range = &ranges->range[i];
        range->first = get_less_than(reader, wire_get_u32(reader), end);
        range->end = get_less_than(reader, wire_get_u32(reader), end + 1);
        reader->failed |= range->first < least || range->end <= range->first;
        least = range->end + 1;
    }
}

static void get_ranks(struct wire_reader *reader, struct stall_answer *answer, int first, int end)
{
    answer->nranks = get_count(reader, STALL_RANKS_MAX);
    for (int i = 0; i < answer->nranks; i++) {
        struct stall_rank *rank = &answer->ranks[i];
        rank->rank = get_less_than(reader, wire_get_u32(reader), end);
        rank->missing = wire_get_u8(reader);
        wire_get_string(reader, rank->text, sizeof rank->text);
        stall_clean(rank->text);
        reader->failed |= rank->rank < first || rank->missing >> answer->nnames != 0;
        first = rank->rank + 1;
    }
}

int stall_answer_decode(struct stall_answer *answer, int first, int end, const void *body,
                        size_t nbytes, struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, body, nbytes);
    answer->id = wire_get_u32(&reader);
    answer->nnames = get_count(&reader, STALL_NAMES_MAX);
    for (int i = 0; i < answer->nnames; i++) {
        answer->name[i].age_ms = wire_get_u32(&reader);
        get_ranges(&reader, &answer->name[i].missing, first, end);
    }
    get_ranges(&reader, &answer->silent, first, end);
    late_ranks_decode(&answer->idle, first, end, &reader);
    get_ranks(&reader, answer, first, end);
    return stall_message_finish(&reader, "an answer", err);
}

void stall_answer_add_rank(struct stall_answer *answer, const struct stall_rank *rank)
{
    int at = answer->nranks;
    while (at > 0 && answer->ranks[at - 1].rank > rank->rank)
        at--;
    if (at == STALL_RANKS_MAX)
        return;
    int after = answer->nranks - at - (answer->nranks == STALL_RANKS_MAX);
    memmove(&answer->ranks[at + 1], &answer->ranks[at], (size_t)after * sizeof *rank);
    answer->ranks[at] = *rank;
    answer->nranks = at + 1 + after;
}

void stall_answer_merge(struct stall_answer *answer, const struct stall_answer *other)
{
    for (int i = 0; i < answer->nnames; i++) {
        if (answer->name[i].age_ms < other->name[i].age_ms)
            answer->name[i].age_ms = other->name[i].age_ms;
        rank_ranges_add_all(&answer->name[i].missing, &other->name[i].missing);
    }
    rank_ranges_add_all(&answer->silent, &other->silent);
    late_ranks_add_all(&answer->idle, &other->idle);
    for (int i = 0; i < other->nranks; i++)
        stall_answer_add_rank(answer, &other->ranks[i]);
}
