/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a mismatch, when ranks disagree on a name; see variants.h.
 *
 * A table has a row for each property: how to compare two descriptions, and how to put one into
 * words. The text reports the first row with a difference, each value once with all its ranks. */
#include "lib/negotiation/variants.h"

#include "lib/negotiation/list_text.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_TEXT = SHAPE_TEXT, RANKS_TEXT = 40 };

/* A barrier has no element type, so its type cannot differ. */
static bool same_dtype(const struct description *a, const struct description *b)
{
    return a->dtype == b->dtype || !collective_has_tensor(a->kind) ||
           !collective_has_tensor(b->kind);
}

static void put_dtype(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "%s", dtype_name((int)description->dtype));
}

static bool same_kind(const struct description *a, const struct description *b)
{
    return a->kind == b->kind;
}

static void put_kind(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "%s", collective_name(description->kind));
}

static bool same_set(const struct description *a, const struct description *b)
{
    if (a->kind != COLLECTIVE_ADD_SET && a->kind != COLLECTIVE_REMOVE_SET)
        return true;
    return shape_agree(&a->shape, &b->shape, a->kind) && a->tag == b->tag;
}

/* The shape of a set to be added begins with its number of ranks. */
static void put_set(char text[VALUE_TEXT], const struct description *description)
{
    const struct shape *shape = &description->shape;
    struct list_text list;
    if (description->kind == COLLECTIVE_REMOVE_SET) {
        snprintf(text, VALUE_TEXT, "%" PRIu64, description->tag);
        return;
    }
    list_text_init(&list, text, VALUE_TEXT - 1);
    for (int i = 1; i < shape->ndims; i++)
        list_text_add(&list, "%s%" PRId64, i == 1 ? "{" : ", ", shape->dims[i]);
    if (shape->ndims > 0 && shape->dims[0] > shape->ndims - 1)
        list_text_add(&list, shape->ndims > 1 ? ", ..." : "{...");
    strcat(text, *text ? "}" : "{}");
}

static bool same_shape(const struct description *a, const struct description *b)
{
    return shape_agree(&a->shape, &b->shape, a->kind);
}

static void put_shape(char text[VALUE_TEXT], const struct description *description)
{
    shape_text(text, &description->shape, collective_has_own_rows(description->kind));
}

static void put_factors(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "(%g, %g)", description->prescale, description->postscale);
}

static void put_exact_factors(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "(%.17g, %.17g)", description->prescale, description->postscale);
}

static bool same_factors_in_text(const struct description *a, const struct description *b)
{
    char text_a[VALUE_TEXT], text_b[VALUE_TEXT];
    put_factors(text_a, a);
    put_factors(text_b, b);
    return strcmp(text_a, text_b) == 0;
}

static bool same_op(const struct description *a, const struct description *b)
{
    return a->op == b->op;
}

static void put_op(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "%s", op_name((int)description->op));
}

static bool same_group(const struct description *a, const struct description *b)
{
    return a->group == b->group && a->group_size == b->group_size;
}

static void put_group(char text[VALUE_TEXT], const struct description *description)
{
    if (description->group == 0 && description->group_size == 0)
        snprintf(text, VALUE_TEXT, "none");
    else
        snprintf(text, VALUE_TEXT, "%" PRIu32 " tensors (hash of the first name: %08" PRIx32 ")",
                 description->group_size, (uint32_t)description->group);
}

static bool same_root(const struct description *a, const struct description *b)
{
    return a->root == b->root;
}

static bool same_memory(const struct description *a, const struct description *b)
{
    return a->memory == b->memory;
}

static void put_memory(char text[VALUE_TEXT], const struct description *description)
{
    static const char *const texts[MEMORY_KINDS] = {
        [MEMORY_HOST] = "in host memory",
        [MEMORY_DEVICE] = "in device memory",
        [MEMORY_DEVICE_REDUCES] = "in device memory, reduced by the device",
    };
    bool moves =
        description->memory == MEMORY_DEVICE_REDUCES && !description_is_reduction(description);
    snprintf(text, VALUE_TEXT, "%s",
             moves ? "in device memory, moved by the device" : texts[description->memory]);
}

static bool same_tag(const struct description *a, const struct description *b)
{
    return a->tag == b->tag;
}

static void put_tag(char text[VALUE_TEXT], const struct description *description)
{
    snprintf(text, VALUE_TEXT, "%" PRIu64, description->tag);
}

static const struct comparison {
    const char *what;
    bool (*same)(const struct description *a, const struct description *b);
    void (*put)(char text[VALUE_TEXT], const struct description *description); /* NULL: the root */
} comparisons[] = {
    { "element types", same_dtype, put_dtype },
    { "collectives", same_kind, put_kind },
    { "process sets", same_set, put_set },
    { "shapes", same_shape, put_shape },
    { "factors", same_factors_in_text, put_factors },
    { "factors", description_same_factors, put_exact_factors },
    { "operations", same_op, put_op },
    { "groups", same_group, put_group },
    { "roots", same_root, NULL },
    { "places", same_memory, put_memory },
    { "tags", same_tag, put_tag },
};

/* Ranks with the same value in one comparison. */
struct party {
    const struct description *description;
    struct rank_ranges ranks;
};

static int by_first_rank(const void *a, const void *b)
{
    const struct party *x = a, *y = b;
    return x->ranks.range[0].first - y->ranks.range[0].first;
}

static int make_parties(struct party parties[VARIANTS_MAX], const struct variants *variants,
                        const struct comparison *comparison)
{
    int count = 0;
    for (int i = 0; i < variants->count; i++) {
        const struct variant *variant = &variants->variant[i];
        int j = 0;
        while (j < count && !comparison->same(parties[j].description, &variant->description))
            j++;
        if (j == count)
            parties[count++] = (struct party){ &variant->description, { 0 } };
        rank_ranges_add_all(&parties[j].ranks, &variant->ranks);
    }
    return count;
}

/* "allreduce 'grad'"; "tensor 'grad'" when even the collectives differ. */
static void add_label(struct list_text *list, const struct variants *variants, const char *name)
{
    char quoted[QUOTED_SIZE];
    enum collective_kind kind = variants->variant[0].description.kind;
    bool one_kind = true;
    for (int i = 1; i < variants->count; i++)
        one_kind &= variants->variant[i].description.kind == kind;
    quote_token(quoted, sizeof quoted, name_shown(name), strlen(name_shown(name)));
    if (one_kind && !collective_has_tensor(kind))
        list_text_add(list, "%s", collective_name(kind));
    else
        list_text_add(list, "%s '%s'", one_kind ? collective_name(kind) : "tensor", quoted);
}

static void add_party(struct list_text *list, const char *separator, const struct party *party,
                      const struct comparison *comparison, const int *world_ranks)
{
    char value[VALUE_TEXT], ranks[RANKS_TEXT];
    int root = party->description->root;
    if (comparison->put)
        comparison->put(value, party->description);
    else
        snprintf(value, sizeof value, "%d", world_ranks ? world_ranks[root] : root);
    rank_ranges_text(ranks, sizeof ranks, &party->ranks, world_ranks);
    list_text_add(list, "%s%s on %s", separator, value, ranks);
}

/* Ranks whose description was dropped. */
static void add_rest(struct list_text *list, const struct variants *variants,
                     const struct party *parties, int count)
{
    int rest = variants->ranks;
    for (int i = 0; i < count; i++)
        rest -= rank_ranges_count(&parties[i].ranks);
    if (variants->count == VARIANTS_MAX && rest > 0)
        list_text_add(list, ", more on %d other%s", rest, rest > 1 ? "s" : "");
}

int variants_check(const struct variants *variants, const char *name, const int *world_ranks,
                   struct err *err)
{
    if (variants->count == 1)
        return HVD_OK;
    const struct comparison *comparison = comparisons;
    const struct comparison *end = comparisons + sizeof comparisons / sizeof *comparisons;
    struct party parties[VARIANTS_MAX];
    int count = 1;
    for (; comparison < end; comparison++)
        if ((count = make_parties(parties, variants, comparison)) > 1)
            break;
    if (count == 1)
        return HVD_OK;
    qsort(parties, (size_t)count, sizeof *parties, by_first_rank);

    char text[sizeof err->text];
    struct list_text list;
    list_text_init(&list, text, sizeof text);
    add_label(&list, variants, name);
    list_text_add(&list, ": %s differ", comparison->what);
    for (int i = 0; i < count; i++)
        add_party(&list, i == 0 ? ": " : ", ", &parties[i], comparison, world_ranks);
    add_rest(&list, variants, parties, count);
    return fail(err, HVD_ERR_MISMATCH, "%s", text);
}
