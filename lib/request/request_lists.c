/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are lists: alltoall's splits, the tensors of a group, the ranks of a process set;
 * see request.h. */
#include "lib/request/request.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int share_splits(int64_t *filled, int64_t rows, int size, struct err *err)
{
    if (rows % size != 0)
        return fail(err, HVD_ERR_INVALID,
                    "dims[0] is %" PRId64 ", without splits it must divide by the %d ranks", rows,
                    size);
    for (int i = 0; i < size; i++)
        filled[i] = rows / size;
    return HVD_OK;
}

static int check_splits(const int64_t *splits, int nsplits, int64_t rows, struct err *err)
{
    int64_t left = rows;
    for (int i = 0; i < nsplits; i++) {
        if (splits[i] < 0)
            return fail(err, HVD_ERR_INVALID, "splits[%d] is %" PRId64 ", a split is 0 or more", i,
                        splits[i]);
        if (splits[i] > left)
            return fail(err, HVD_ERR_INVALID,
                        "splits add up to more than the %" PRId64 " rows there are", rows);
        left -= splits[i];
    }
    return HVD_OK;
}

static int copy_splits(int64_t *filled, const int64_t *splits, int nsplits, int64_t rows, int size,
                       struct err *err)
{
    if (nsplits != size)
        return fail(err, HVD_ERR_INVALID, "nsplits is %d, one split is needed for each of %d ranks",
                    nsplits, size);
    int rc = check_splits(splits, nsplits, rows, err);
    if (rc == HVD_OK)
        memcpy(filled, splits, (size_t)size * sizeof *filled);
    return rc;
}

int request_check_splits(const int64_t *splits, int nsplits, const struct hvd_tensor *tensor,
                         struct err *err)
{
    char label[REQUEST_LABEL];
    int rc = HVD_OK;
    if (splits && nsplits < 0)
        rc =
            fail(err, HVD_ERR_INVALID, "nsplits is %d, one split is needed for each rank", nsplits);
    else if (splits)
        rc = check_splits(splits, nsplits, tensor->dims[0], err);
    if (rc < 0)
        fail_context(err, "%s", request_label(label, COLLECTIVE_ALLTOALL, tensor->name));
    return rc;
}

int request_splits(int64_t *filled, const int64_t *splits, int nsplits,
                   const struct hvd_tensor *tensor, const struct request_set *set, struct err *err)
{
    char label[REQUEST_LABEL];
    int64_t rows = tensor->dims[0];
    int rc = splits ? copy_splits(filled, splits, nsplits, rows, set->size, err)
                    : share_splits(filled, rows, set->size, err);
    if (rc < 0)
        fail_context(err, "%s", request_label(label, COLLECTIVE_ALLTOALL, tensor->name));
    return rc;
}

uint64_t request_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash ? hash : 1;
}

static int check_all_named(const struct hvd_tensor *tensors, int count, struct err *err)
{
    for (int i = 1; i < count; i++)
        if (!tensors[i].name != !tensors[0].name)
            return fail(err, HVD_ERR_INVALID, "tensors[%d] has %s name, tensors[0] has %s", i,
                        tensors[i].name ? "a" : "no", tensors[0].name ? "one" : "none");
    return HVD_OK;
}

/* A hash table whose memory lies in the descriptions themselves, so that nothing is allocated:
 * `tag` of description b is 1 + the first tensor in bucket b, `group_size` of description i is 1 +
 * the next tensor behind i. */
static int check_names_differ(struct description *descriptions, const struct hvd_tensor *tensors,
                              int count, struct err *err)
{
    char label[REQUEST_LABEL];
    for (int i = 0; i < count; i++) {
        uint64_t hash = descriptions[i].group = request_hash(tensors[i].name);
        struct description *bucket = &descriptions[hash % (uint64_t)count];
        for (uint64_t j = bucket->tag; j > 0; j = descriptions[j - 1].group_size)
            if (descriptions[j - 1].group == hash &&
                strcmp(tensors[j - 1].name, tensors[i].name) == 0)
                return fail(err, HVD_ERR_INVALID, "%s is there twice, as tensors[%d] and [%d]",
                            request_label(label, descriptions[i].kind, tensors[i].name), (int)j - 1,
                            i);
        descriptions[i].group_size = (uint32_t)bucket->tag;
        bucket->tag = (uint64_t)i + 1;
    }
    return HVD_OK;
}

static int check_group(struct description *descriptions, const struct hvd_tensor *tensors,
                       int count, struct err *err)
{
    if (count < 1)
        return fail(err, HVD_ERR_INVALID, "count is %d, a group has at least one tensor", count);
    if (!tensors)
        return fail(err, HVD_ERR_INVALID, "tensors is NULL");
    int rc = check_all_named(tensors, count, err);
    if (rc < 0 || !tensors[0].name)
        return rc;
    return check_names_differ(descriptions, tensors, count, err);
}

int request_group(struct description *descriptions, const struct hvd_tensor *tensors, int count,
                  enum collective_kind kind, struct err *err)
{
    int rc = check_group(descriptions, tensors, count, err);
    if (rc < 0) {
        fail_context(err, "grouped %s", collective_name(kind));
        return rc;
    }
    uint64_t group = tensors[0].name ? request_hash(tensors[0].name) : 1;
    for (int i = 0; i < count; i++) {
        descriptions[i].group = group;
        descriptions[i].group_size = (uint32_t)count;
        descriptions[i].tag = 0;
    }
    return HVD_OK;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int request_ranks(int *sorted, const int *ranks, int count, int size, struct err *err)
{
    if (count < 1)
        return fail(err, HVD_ERR_INVALID, "count is %d, a process set has at least one rank",
                    count);
    if (!ranks)
        return fail(err, HVD_ERR_INVALID, "ranks is NULL");
    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0)
            return fail(err, HVD_ERR_INVALID, "ranks[%d] is %d, a rank is 0 or more", i, ranks[i]);
        sorted[i] = ranks[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_number);
    for (int i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            return fail(err, HVD_ERR_INVALID, "rank %d is there twice", sorted[i]);
    for (int i = 0; i < count; i++)
        if (ranks[i] >= size)
            return fail(err, HVD_ERR_INVALID, "ranks[%d] is %d, which is not in a world of %d", i,
                        ranks[i], size);
    return HVD_OK;
}
