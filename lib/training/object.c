/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast and allgather of bytes of any size (hvd_training.h):
 *
 *   broadcast: the size; memory for it; whether all have memory; the bytes.
 *   allgather: the sizes; one block for all; whether all have it; the bytes, then each object is
 *              moved to where memory of its own would begin.
 *
 * An impossible name, root or process set is this rank's own mistake, reported at once as with
 * every collective, because without them the rank cannot meet the others. Any other mistake, and
 * lack of memory, fails on all ranks before the bytes travel. */
#include "lib/hvd_training.h"

#include "lib/process.h"
#include "lib/training/agreement.h"
#include "lib/training/call.h"
#include "lib/training/names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The collectives refuse more than this. */
#define OBJECT_MAX (SIZE_MAX / 256)

enum { ALIGNMENT = _Alignof(max_align_t) };

/* One call. */
struct parcel {
    const char *what; /* NULL: nameless */
    int process_set;
    int root; /* of a broadcast, and is this rank that one? */
    bool is_root;
    char size_name[HVD_NAME_MAX + 1], bytes_name[HVD_NAME_MAX + 1];
    char agreement_name[HVD_NAME_MAX + 1]; /* unlike those of other calls, whatever its own is */
};

static int parcel_init(struct parcel *parcel, const char *name, int process_set, struct err *err)
{
    *parcel = (struct parcel){ .what = name, .process_set = process_set };
    if (!name)
        return HVD_OK;
    int rc = name_check(name, err);
    if (rc < 0)
        return rc;
    snprintf(parcel->size_name, sizeof parcel->size_name, "%s.sz", name);
    snprintf(parcel->bytes_name, sizeof parcel->bytes_name, "%s.t", name);
    snprintf(parcel->agreement_name, sizeof parcel->agreement_name, "object.%s", name);
    return HVD_OK;
}

static const char *size_name(const struct parcel *parcel)
{
    return parcel->what ? parcel->size_name : NULL;
}

static const char *bytes_name(const struct parcel *parcel)
{
    return parcel->what ? parcel->bytes_name : NULL;
}

static int agree_on_mistakes(const struct parcel *parcel, const struct err *own, struct err *err)
{
    return agreement_complete(parcel->what ? parcel->agreement_name : NULL, parcel->process_set,
                              own, err);
}

static int check_bytes(const void *data, size_t size, struct err *err)
{
    if (size > OBJECT_MAX)
        return fail(err, HVD_ERR_INVALID, "an object of %zu bytes is larger than memory can hold",
                    size);
    if (size > 0 && !data)
        return fail(err, HVD_ERR_INVALID, "data is NULL, but size is %zu", size);
    return HVD_OK;
}

static int no_memory(uint64_t size, struct err *err)
{
    return fail(err, HVD_ERR_NOMEM, "no memory for %" PRIu64 " bytes", size);
}

/* ---- broadcast ---- */

/* Allocates memory for the object. */
static void *object_receive(uint64_t size, struct err *own)
{
    void *data = size > 0 && size <= OBJECT_MAX ? malloc((size_t)size) : NULL;
    if (size > 0 && !data && own->code == HVD_OK)
        no_memory(size, own);
    return data;
}

/* `received` is the root's object, or the object that other ranks make. */
static int broadcast_bytes(const struct parcel *parcel, const struct hvd_object *object,
                           const struct err *mistake, struct hvd_object *received, struct err *err)
{
    struct err own = *mistake;
    if (own.code == HVD_OK && parcel->is_root &&
        check_bytes(object->data, object->size, &own) == HVD_OK)
        *received = *object;
    uint64_t size = received->size;
    int rc = call_broadcast_bytes(size_name(parcel), parcel->process_set, &size, sizeof size,
                                  parcel->root, err);
    if (rc < 0)
        return call_own_mistake_first(rc, &own, err);
    if (!parcel->is_root)
        received->data = object_receive(size, &own);
    received->size = (size_t)size;
    rc = agree_on_mistakes(parcel, &own, err);
    if (rc < 0 || size == 0)
        return rc;
    return call_broadcast_bytes(bytes_name(parcel), parcel->process_set, received->data,
                                received->size, parcel->root, err);
}

static int object_broadcast(const char *name, struct hvd_object *object, int root, int process_set,
                            struct err *err)
{
    struct parcel parcel;
    struct hvd_object received = { 0 };
    struct err own = { .code = HVD_OK };
    int rank = 0, rc = parcel_init(&parcel, name, process_set, err);
    if (rc < 0)
        return rc;
    if (!object)
        fail(&own, HVD_ERR_INVALID, "the object is NULL");
    rc = call_check_root(process_set, root, err);
    if (rc == HVD_ERR_NOMEM) { /* the other ranks have to learn of it */
        own = *err;
        rc = HVD_OK;
    }
    if (rc == HVD_OK)
        rc = rank = call_answer(hvd_rank(), err);
    if (rc < 0)
        return call_own_mistake_first(rc, &own, err);
    parcel.root = root;
    parcel.is_root = rank == root;
    rc = broadcast_bytes(&parcel, object, &own, &received, err);
    if (parcel.is_root)
        return rc;
    if (rc < 0)
        hvd_object_free(&received);
    if (object)
        *object = received;
    return rc;
}

int hvd_broadcast_object(const char *name, struct hvd_object *object, int root, int process_set)
{
    struct err err;
    int rc = object_broadcast(name, object, root, process_set, &err);
    if (rc < 0)
        fail_context(&err, "broadcast object");
    return process_answer(rc, &err);
}

/* ---- allgather ---- */

/* One block of memory: the objects, then their data. Until they are moved, the received bytes lie
 * at its end, with nothing between them. */
struct block {
    struct hvd_object *objects; /* owned; NULL when there is no memory */
    int count;
    unsigned char *data;   /* where they belong */
    unsigned char *packed; /* where they come in */
    size_t packed_size;
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The message of the set's k-th rank. */
static uint64_t size_of(const struct hvd_result *sizes, int k)
{
    uint64_t size;
    memcpy(&size, (const char *)sizes->data + (size_t)k * sizeof size, sizeof size);
    return size;
}

static int block_measure(struct block *block, const struct hvd_result *sizes, size_t *total,
                         struct err *err)
{
    for (int k = 0; k < sizes->nrows; k++) {
        if (sizes->rows[k] != sizeof(uint64_t))
            return fail(err, HVD_ERR_PROTOCOL, "%" PRId64 " bytes for a size", sizes->rows[k]);
        if (size_of(sizes, k) > OBJECT_MAX || *total > OBJECT_MAX)
            return no_memory(size_of(sizes, k), err);
        *total += aligned((size_t)size_of(sizes, k));
        block->packed_size += (size_t)size_of(sizes, k);
    }
    return HVD_OK;
}

static int block_init(struct block *block, const struct hvd_result *sizes, struct err *err)
{
    size_t head = aligned((size_t)sizes->nrows * sizeof *block->objects), total = head;
    if (block_measure(block, sizes, &total, err) < 0)
        return err->code;
    block->objects = malloc(total);
    if (!block->objects)
        return no_memory(total, err);
    block->count = sizes->nrows;
    block->data = (unsigned char *)block->objects + head;
    block->packed = (unsigned char *)block->objects + total - block->packed_size;
    for (int k = 0; k < block->count; k++)
        block->objects[k].size = (size_t)size_of(sizes, k);
    return HVD_OK;
}

static int object_fill(const struct parcel *parcel, const struct block *block, const void *data,
                       size_t size, struct err *err)
{
    const struct hvd_options options = { .process_set = parcel->process_set };
    const int64_t dim = (int64_t)size;
    const struct hvd_tensor tensor = { .name = bytes_name(parcel),
                                       .input = data,
                                       .output = block->packed,
                                       .output_size = block->packed_size,
                                       .dtype = HVD_UINT8,
                                       .ndims = 1,
                                       .dims = &dim };
    int64_t handle;
    struct hvd_result result = { 0 };
    int rc = hvd_allgather_async(&tensor, &options, &handle);
    rc = call_answer(rc < 0 ? rc : hvd_wait_result(handle, &result), err);
    if (rc == HVD_OK && result.size != block->packed_size)
        rc = fail(err, HVD_ERR_PROTOCOL, "%zu bytes, %zu were announced", result.size,
                  block->packed_size);
    hvd_result_free(&result);
    return rc;
}

/* Objects move towards the front, so the first is moved first. */
static void spread(const struct block *block)
{
    unsigned char *to = block->data, *from = block->packed;
    for (int k = 0; k < block->count; k++) {
        size_t size = block->objects[k].size;
        block->objects[k].data = size > 0 ? memmove(to, from, size) : NULL;
        to += aligned(size);
        from += size;
    }
}

static int gather_bytes(const struct parcel *parcel, const void *data, size_t size,
                        const struct err *mistake, struct block *block, struct err *err)
{
    struct hvd_result sizes = { 0 };
    struct err own = *mistake;
    uint64_t mine = own.code < 0 ? 0 : size;
    int rc =
        call_gather_bytes(size_name(parcel), parcel->process_set, &mine, sizeof mine, &sizes, err);
    if (rc < 0)
        return call_own_mistake_first(rc, &own, err);
    if (own.code == HVD_OK)
        block_init(block, &sizes, &own);
    hvd_result_free(&sizes);
    rc = agree_on_mistakes(parcel, &own, err);
    if (rc < 0)
        return rc;
    if (block->packed_size > 0)
        rc = object_fill(parcel, block, data, size, err);
    if (rc == HVD_OK)
        spread(block);
    return rc;
}

static int gather(const char *name, const void *data, size_t size, int process_set,
                  struct hvd_object **objects, struct err *err)
{
    struct parcel parcel;
    struct block block = { 0 };
    struct err own = { .code = HVD_OK };
    int rc = parcel_init(&parcel, name, process_set, err);
    if (rc < 0)
        return rc;
    if (!objects)
        fail(&own, HVD_ERR_INVALID, "there is no place for the objects");
    else
        check_bytes(data, size, &own);
    rc = gather_bytes(&parcel, data, size, &own, &block, err);
    if (rc == HVD_OK)
        *objects = block.objects;
    else
        free(block.objects);
    return rc;
}

int hvd_allgather_object(const char *name, const void *data, size_t size, int process_set,
                         struct hvd_object **objects)
{
    struct err err;
    if (objects)
        *objects = NULL;
    int rc = gather(name, data, size, process_set, objects, &err);
    if (rc < 0)
        fail_context(&err, "allgather object");
    return process_answer(rc, &err);
}

void hvd_object_free(struct hvd_object *object)
{
    if (!object)
        return;
    free(object->data);
    *object = (struct hvd_object){ 0 };
}
