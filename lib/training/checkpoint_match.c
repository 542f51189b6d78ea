/* SPDX-License-Identifier: Apache-2.0 */
/* A program's list against a file's: both in the order of kinds and names, side by side. The text
 * reports the first difference: an entry that is missing, one too many, or another type or shape.
 * Fails also when memory runs out. */
#include "lib/training/checkpoint_list.h"

#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const struct checkpoint_entry *entry_pointer;

static int checkpoint_match_compare(entry_pointer a, entry_pointer b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_pointers(const void *a, const void *b)
{
    return checkpoint_match_compare(*(const entry_pointer *)a, *(const entry_pointer *)b);
}

/* For free(); NULL when out of memory. */
static entry_pointer *sort(const struct checkpoint_entry *entries, size_t count)
{
    entry_pointer *sorted = calloc(count + 1, sizeof(entry_pointer));
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &entries[i];
    if (sorted)
        qsort(sorted, count, sizeof(entry_pointer), compare_pointers);
    return sorted;
}

/* ---- texts ---- */

static const char *const kind_names[] = {
    [CHECKPOINT_TENSOR] = "tensor", [CHECKPOINT_SCALAR] = "scalar"
};

enum { FORM_SIZE = 16 + HVD_DIMS_MAX * 22 };

/* "float32 [3, 3]"; of a scalar "int64". Returns `text`. */
static const char *form_of(char text[FORM_SIZE], entry_pointer entry)
{
    int used = snprintf(text, FORM_SIZE, "%s", dtype_name((int)entry->dtype));
    if (entry->kind == CHECKPOINT_SCALAR)
        return text;
    used += snprintf(text + used, FORM_SIZE - (size_t)used, " [");
    for (int i = 0; i < entry->ndims; i++)
        used += snprintf(text + used, FORM_SIZE - (size_t)used, "%s%" PRId64, i > 0 ? ", " : "",
                         entry->dims[i]);
    snprintf(text + used, FORM_SIZE - (size_t)used, "]");
    return text;
}

/* ---- comparing ---- */

static bool same_form(entry_pointer a, entry_pointer b)
{
    return a->dtype == b->dtype && a->ndims == b->ndims &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* One of the two may be missing. */
static int check_pair(entry_pointer expected, entry_pointer found, struct err *err)
{
    char quoted[QUOTED_SIZE], is[FORM_SIZE], should_be[FORM_SIZE];
    entry_pointer either = expected ? expected : found;
    const char *kind = kind_names[either->kind];
    quote_token(quoted, sizeof quoted, either->name, strlen(either->name));
    if (!found)
        return fail(err, HVD_ERR_INVALID, "%s '%s' is missing, expected %s", kind, quoted,
                    form_of(should_be, expected));
    if (!expected)
        return fail(err, HVD_ERR_INVALID, "%s '%s' is %s, expected no such %s", kind, quoted,
                    form_of(is, found), kind);
    if (!same_form(expected, found))
        return fail(err, HVD_ERR_INVALID, "%s '%s' is %s, expected %s", kind, quoted,
                    form_of(is, found), form_of(should_be, expected));
    return HVD_OK;
}

/* Of the next entries of both, NULL at the end, the later one is not compared yet. */
static void keep_first(entry_pointer *expected, entry_pointer *found)
{
    int order = *expected && *found ? checkpoint_match_compare(*expected, *found) : 0;
    if (order < 0)
        *found = NULL;
    if (order > 0)
        *expected = NULL;
}

static int match(const struct checkpoint_list *list, const struct checkpoint_entry *file,
                 const entry_pointer *found, size_t *places, struct err *err)
{
    for (size_t i = 0; i < list->count || *found; i++, found++) {
        entry_pointer want = i < list->count ? &list->entries[i] : NULL, have = *found;
        keep_first(&want, &have);
        int rc = check_pair(want, have, err);
        if (rc < 0)
            return rc;
        places[i] = (size_t)(have - file);
    }
    return HVD_OK;
}

int checkpoint_list_match(const struct checkpoint_list *list, const struct checkpoint_entry *found,
                          size_t nfound, size_t *places, struct err *err)
{
    entry_pointer *sorted = sort(found, nfound);
    if (!sorted)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = match(list, found, sorted, places, err);
    free(sorted);
    return rc;
}
