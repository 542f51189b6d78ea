/* SPDX-License-Identifier: Apache-2.0 */
/* PMI-1 by Slurm's library libpmi.so.0, which speaks to srun where srun has no MPI plugin. The
 * library is loaded when it is wanted, and stays loaded. A value is visible after a barrier in
 * which every rank takes part, as in pmi1.c. See process_manager.h. */
#include "lib/pmi/blocking_session.h"
#include "lib/pmi/pmi_socket.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { KVS_NAME_SIZE = 512, LIBRARY_VALUE_SIZE = 1024, PMI_SUCCESS = 0 };

/* The calls of PMI-1's C interface that are used. */
struct pmi_calls {
    int (*init)(int *spawned);
    int (*get_rank)(int *rank);
    int (*get_size)(int *size);
    int (*kvs_get_my_name)(char *name, int length);
    int (*kvs_put)(const char *kvs, const char *key, const char *value);
    int (*kvs_commit)(const char *kvs);
    int (*barrier)(void);
    int (*kvs_get)(const char *kvs, const char *key, char *value, int length);
    int (*finalize)(void);
    bool begun;
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    { "PMI_Init", offsetof(struct pmi_calls, init) },
    { "PMI_Get_rank", offsetof(struct pmi_calls, get_rank) },
    { "PMI_Get_size", offsetof(struct pmi_calls, get_size) },
    { "PMI_KVS_Get_my_name", offsetof(struct pmi_calls, kvs_get_my_name) },
    { "PMI_KVS_Put", offsetof(struct pmi_calls, kvs_put) },
    { "PMI_KVS_Commit", offsetof(struct pmi_calls, kvs_commit) },
    { "PMI_Barrier", offsetof(struct pmi_calls, barrier) },
    { "PMI_KVS_Get", offsetof(struct pmi_calls, kvs_get) },
    { "PMI_Finalize", offsetof(struct pmi_calls, finalize) },
};

static int library_load(struct pmi_calls *calls, struct err *err)
{
    /* Its plugins find its symbols only if they are global. */
    void *library = dlopen("libpmi.so.0", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!library)
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "%s; start the job with srun --mpi=pmi2 or --mpi=pmix, or set "
                    "HVD_BOOTSTRAP=alone if each process is meant to be alone",
                    dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return fail(err, HVD_ERR_ENVIRONMENT, "libpmi.so.0 has no %s", symbols[i].name);
        memcpy((char *)calls + symbols[i].offset, &symbol, sizeof symbol);
    }
    return HVD_OK;
}

static int library_check(struct blocking_shared *shared, const char *call, int code)
{
    if (code == PMI_SUCCESS)
        return HVD_OK;
    return fail(&shared->err, HVD_ERR_ENVIRONMENT, "%s of libpmi.so.0 has failed with %d", call,
                code);
}

static int library_begin(void *library, struct blocking_shared *shared)
{
    struct pmi_calls *calls = library;
    int spawned;
    int rc = library_check(shared, "PMI_Init", calls->init(&spawned));
    calls->begun = rc == HVD_OK;
    if (rc == HVD_OK)
        rc = library_check(shared, "PMI_Get_size", calls->get_size(&shared->place.size));
    if (rc == HVD_OK)
        rc = library_check(shared, "PMI_Get_rank", calls->get_rank(&shared->place.rank));
    if (rc == HVD_OK && (shared->place.size < 1 || shared->place.size > WORLD_SIZE_MAX ||
                         shared->place.rank < 0 || shared->place.rank >= shared->place.size))
        rc =
            fail(&shared->err, HVD_ERR_ENVIRONMENT,
                 "libpmi.so.0 says rank %d of %d; if variables of Slurm are left over from another "
                 "program, unset SLURM_PROCID or set HVD_BOOTSTRAP=alone",
                 shared->place.rank, shared->place.size);
    return rc;
}

static int library_publish(const struct pmi_calls *calls, const char *kvs,
                           struct blocking_shared *shared)
{
    int rc = library_check(shared, "PMI_KVS_Put",
                           calls->kvs_put(kvs, PROCESS_MANAGER_KEY, shared->value));
    return rc < 0 ? rc : library_check(shared, "PMI_KVS_Commit", calls->kvs_commit(kvs));
}

static int library_find(const struct pmi_calls *calls, const char *kvs,
                        struct blocking_shared *shared)
{
    char value[LIBRARY_VALUE_SIZE] = "";
    int rc = library_check(shared, "PMI_KVS_Get",
                           calls->kvs_get(kvs, PROCESS_MANAGER_KEY, value, sizeof value));
    snprintf(shared->value, sizeof shared->value, "%.*s", PROCESS_MANAGER_VALUE_MAX - 1, value);
    explicit_bzero(value, sizeof value); /* the job's key */
    return rc;
}

static int library_exchange(void *library, struct blocking_shared *shared)
{
    const struct pmi_calls *calls = library;
    char kvs[KVS_NAME_SIZE];
    int rc = library_check(shared, "PMI_KVS_Get_my_name", calls->kvs_get_my_name(kvs, sizeof kvs));
    if (rc == HVD_OK && shared->place.rank == 0)
        rc = library_publish(calls, kvs, shared);
    if (rc == HVD_OK)
        rc = library_check(shared, "PMI_Barrier", calls->barrier());
    if (rc == HVD_OK && shared->place.rank > 0)
        rc = library_find(calls, kvs, shared);
    return rc;
}

static void library_end(void *library)
{
    const struct pmi_calls *calls = library;
    if (calls->begun)
        (void)calls->finalize();
}

/* A step on one node is all on this host. */
static void library_find_host(struct process_manager_place *place, environment_get_fn *get)
{
    int nodes, local_rank;
    if (pmi_variable(get, "SLURM_STEP_NUM_NODES", 1, WORLD_SIZE_MAX, &nodes, NULL) < 0 ||
        pmi_variable(get, "SLURM_LOCALID", 0, place->size - 1, &local_rank, NULL) < 0 || nodes > 1)
        return;
    place->local_rank = local_rank;
    place->local_size = place->size;
}

static int library_open(void **session, struct process_manager_place *place,
                        environment_get_fn *get, uint64_t deadline_ms, struct err *err)
{
    static const struct blocking_calls blocking = { sizeof(struct pmi_calls), library_begin,
                                                    library_exchange, library_end };
    struct pmi_calls calls = { 0 };
    struct blocking_session *opened;
    int rc = library_load(&calls, err);
    if (rc == HVD_OK)
        rc = blocking_session_open(&opened, &blocking, &calls, place, deadline_ms, err);
    if (rc < 0)
        return rc;
    library_find_host(place, get);
    *session = opened;
    return HVD_OK;
}

static int library_exchange_value(void *session, char value[PROCESS_MANAGER_VALUE_MAX],
                                  uint64_t deadline_ms, struct err *err)
{
    return blocking_session_exchange(session, value, deadline_ms, err);
}

static void library_close(void *session)
{
    blocking_session_close(session);
}

const struct process_manager process_manager_pmi_library = { "pmi1", library_open,
                                                             library_exchange_value,
                                                             library_close };
