/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of one name, merged, written and read; see variants.h. */
#include "lib/negotiation/variants.h"

void variants_init(struct variants *variants, const struct description *description, int first,
                   int end)
{
    variants->count = 1;
    variants->ranks = end - first;
    variants->variant[0] = (struct variant){ .description = *description };
    rank_ranges_add(&variants->variant[0].ranks, first, end);
}

static void merge_one(struct variants *variants, const struct variant *variant)
{
    int i = 0;
    while (i < variants->count &&
           !description_agree(&variants->variant[i].description, &variant->description))
        i++;
    if (i < variants->count)
        rank_ranges_add_all(&variants->variant[i].ranks, &variant->ranks);
    else if (i < VARIANTS_MAX)
        variants->variant[variants->count++] = *variant;
}

void variants_merge(struct variants *variants, const struct variants *other)
{
    for (int i = 0; i < other->count; i++)
        merge_one(variants, &other->variant[i]);
    variants->ranks += other->ranks;
}

void variants_encode(struct wire_writer *writer, const struct variants *variants)
{
    wire_put_i32(writer, variants->ranks);
    wire_put_u8(writer, (uint8_t)variants->count);
    for (int i = 0; i < variants->count; i++) {
        const struct rank_ranges *ranks = &variants->variant[i].ranks;
        description_encode(writer, &variants->variant[i].description);
        wire_put_u8(writer, ranks->closed);
        wire_put_u8(writer, (uint8_t)ranks->count);
        for (int j = 0; j < ranks->count; j++) {
            wire_put_i32(writer, ranks->range[j].first);
            wire_put_i32(writer, ranks->range[j].end);
        }
    }
}

static int decode_ranges(struct rank_ranges *ranks, int size, struct wire_reader *reader,
                         struct err *err)
{
    int closed = wire_get_u8(reader), count = wire_get_u8(reader);
    *ranks = (struct rank_ranges){ .closed = closed };
    if (closed > 1 || count < 1 || count > VARIANT_RANGES_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "%d ranges of ranks, %d closed", count, closed);
    for (int least = 0; ranks->count < count; ranks->count++) {
        int first = wire_get_i32(reader), end = wire_get_i32(reader);
        if (first < least || end <= first || end > size)
            return fail(err, HVD_ERR_PROTOCOL, "range %d, [%d, %d), of the ranks of %d is wrong",
                        ranks->count, first, end, size);
        ranks->range[ranks->count] = (struct rank_range){ first, end };
        least = end + 1;
    }
    return HVD_OK;
}

static int decode_variant(struct variant *variant, int size, struct wire_reader *reader,
                          struct err *err)
{
    int rc = description_decode(&variant->description, reader, err);
    if (rc == HVD_OK && variant->description.root >= size)
        rc = fail(err, HVD_ERR_PROTOCOL, "root %d of %d ranks", variant->description.root, size);
    return rc < 0 ? rc : decode_ranges(&variant->ranks, size, reader, err);
}

int variants_decode(struct variants *variants, int size, struct wire_reader *reader,
                    struct err *err)
{
    variants->ranks = wire_get_i32(reader);
    variants->count = 0;
    int count = wire_get_u8(reader), rc = HVD_OK;
    if (count < 1 || count > VARIANTS_MAX || variants->ranks < count || variants->ranks > size)
        rc = fail(err, HVD_ERR_PROTOCOL, "%d descriptions by %d of %d ranks", count,
                  variants->ranks, size);
    while (rc == HVD_OK && variants->count < count)
        rc = decode_variant(&variants->variant[variants->count++], size, reader, err);
    if (reader->failed)
        return fail(err, HVD_ERR_PROTOCOL, "descriptions are cut short");
    return rc;
}
