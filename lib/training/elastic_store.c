/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a state in memory; see elastic_store.h. */
#include "lib/training/elastic_store.h"

#include "lib/device/device_copy.h"
#include "lib/reduce/reduce.h"
#include "lib/training/parameters.h"

#include <stdlib.h>
#include <string.h>

enum { TENSOR_ALIGNMENT = 64 };

static size_t round_up(size_t size)
{
    return (size + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
}

void elastic_values_pack(const struct elastic_lists *lists, void *packed)
{
    char *at = packed;
    for (int i = 0; i < lists->nvalues; i++) {
        size_t size = dtype_size((int)lists->values[i].dtype);
        memcpy(at, lists->values[i].value, size);
        at += size;
    }
}

void elastic_values_unpack(const struct elastic_lists *lists, const void *packed)
{
    const char *at = packed;
    for (int i = 0; i < lists->nvalues; i++) {
        size_t size = dtype_size((int)lists->values[i].dtype);
        memcpy(lists->values[i].value, at, size);
        at += size;
    }
}

int elastic_store_init(struct elastic_store *store, const struct elastic_lists *lists,
                       struct err *err)
{
    size_t size = 0;
    *store = (struct elastic_store){ .lists = *lists };
    for (int i = 0; i < lists->nvalues; i++)
        size += dtype_size((int)lists->values[i].dtype);
    store->values_size = size;
    size = round_up(size);
    for (int i = 0; i < lists->ntensors; i++) {
        size_t nbytes = round_up(parameter_bytes(&lists->tensors[i]));
        if (__builtin_add_overflow(size, nbytes, &size))
            return fail(err, HVD_ERR_NOMEM, "no memory for a copy of the state");
    }
    store->block = aligned_alloc(TENSOR_ALIGNMENT, size + TENSOR_ALIGNMENT);
    if (!store->block)
        return fail(err, HVD_ERR_NOMEM, "no memory for a copy of the state, %zu bytes", size);
    return elastic_store_save(store, err);
}

void elastic_store_fini(struct elastic_store *store)
{
    free(store->block);
    *store = (struct elastic_store){ 0 };
}

static int tensor_save(void *copy, const struct hvd_parameter *tensor, size_t nbytes,
                       struct err *err)
{
    if (tensor->device == 0)
        memcpy(copy, tensor->data, nbytes);
    else if (device_read(tensor->device, copy, tensor->data, nbytes, err) < 0)
        return fail_context(err, "tensor '%s'", tensor->name);
    return HVD_OK;
}

static int tensor_restore(const struct hvd_parameter *tensor, const void *copy, size_t nbytes,
                          struct err *err)
{
    if (tensor->device == 0)
        memcpy(tensor->data, copy, nbytes);
    else if (device_write(tensor->device, tensor->data, copy, nbytes, err) < 0)
        return fail_context(err, "tensor '%s'", tensor->name);
    return HVD_OK;
}

int elastic_store_save(struct elastic_store *store, struct err *err)
{
    char *at = store->block + round_up(store->values_size);
    int rc = HVD_OK;
    elastic_values_pack(&store->lists, store->block);
    for (int i = 0; i < store->lists.ntensors && rc == HVD_OK; i++) {
        size_t nbytes = parameter_bytes(&store->lists.tensors[i]);
        if (nbytes > 0)
            rc = tensor_save(at, &store->lists.tensors[i], nbytes, err);
        at += round_up(nbytes);
    }
    return rc;
}

int elastic_store_restore(const struct elastic_store *store, struct err *err)
{
    const char *at = store->block + round_up(store->values_size);
    int rc = HVD_OK;
    elastic_values_unpack(&store->lists, store->block);
    for (int i = 0; i < store->lists.ntensors && rc == HVD_OK; i++) {
        size_t nbytes = parameter_bytes(&store->lists.tensors[i]);
        if (nbytes > 0)
            rc = tensor_restore(&store->lists.tensors[i], at, nbytes, err);
        at += round_up(nbytes);
    }
    return rc;
}
