/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NCCL; see nccl.h. */
#include "lib/cuda/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char nccl_file[] = "libnccl.so.2";

static struct {
    pthread_mutex_t lock;
    bool open;
    struct nccl nccl;
} loaded = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The first symbol that the library lacks, or NULL. */
static const char *nccl_look_up(struct nccl *nccl)
{
    const struct {
        const char *symbol;
        void *member;
    } entries[] = { { "ncclGetErrorString", &nccl->get_error_string },
#define ENTRY(member, name, parameters) { #name, &nccl->member },
                    NCCL_CALLS(ENTRY)
#undef ENTRY
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *address = dlsym(nccl->library, entries[i].symbol);
        if (!address)
            return entries[i].symbol;
        memcpy(entries[i].member, &address, sizeof address);
    }
    return NULL;
}

int nccl_fail(const struct nccl *nccl, int result, const char *call, struct err *err)
{
    const char *text = nccl->get_error_string(result);
    return fail(err, HVD_ERR_SYSTEM, "%s: %s (%d)", call, text ? text : "unknown error", result);
}

static int nccl_load(struct nccl *nccl, struct err *err)
{
    nccl->library = dlopen(nccl_file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!nccl->library)
        return fail(err, HVD_ERR_SYSTEM, "no NCCL: %s", dlerror());
    const char *lacks = nccl_look_up(nccl);
    if (lacks)
        return fail(err, HVD_ERR_SYSTEM, "%s has no %s: 2.14 or later is needed", nccl_file, lacks);
    int result = nccl->get_version(&nccl->version);
    if (result != NCCL_OK)
        return nccl_fail(nccl, result, "ncclGetVersion", err);
    if (nccl->version >= NCCL_LEAST)
        return HVD_OK;
    return fail(err, HVD_ERR_SYSTEM, "NCCL is version %d, at least %d is needed", nccl->version,
                NCCL_LEAST);
}

const struct nccl *nccl_open(struct err *err)
{
    pthread_mutex_lock(&loaded.lock);
    if (!loaded.open)
        loaded.open = nccl_load(&loaded.nccl, err) == HVD_OK;
    bool open = loaded.open;
    pthread_mutex_unlock(&loaded.lock);
    return open ? &loaded.nccl : NULL;
}

bool nccl_numbers(enum hvd_dtype dtype, enum hvd_op op, int *nccl_dtype, int *nccl_op)
{
    static const struct {
        enum hvd_dtype dtype;
        int number;
        bool averages;
    } dtypes[] = {
        { HVD_UINT8, NCCL_UINT8, false },    { HVD_INT8, NCCL_INT8, false },
        { HVD_INT32, NCCL_INT32, false },    { HVD_INT64, NCCL_INT64, false },
        { HVD_FLOAT16, NCCL_FLOAT16, true }, { HVD_FLOAT32, NCCL_FLOAT32, true },
        { HVD_FLOAT64, NCCL_FLOAT64, true }, { HVD_BFLOAT16, NCCL_BFLOAT16, true },
    };
    static const int ops[] = {
        [HVD_AVERAGE] = NCCL_AVERAGE, [HVD_SUM] = NCCL_SUM, [HVD_ADASUM] = -1,
        [HVD_MIN] = NCCL_MIN,         [HVD_MAX] = NCCL_MAX, [HVD_PRODUCT] = NCCL_PRODUCT
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (dtypes[i].dtype != dtype)
            continue;
        *nccl_dtype = dtypes[i].number;
        *nccl_op = ops[op];
        return ops[op] >= 0 && (op != HVD_AVERAGE || dtypes[i].averages);
    }
    return false;
}
