/* SPDX-License-Identifier: Apache-2.0 */
/* A PMIx server, by libpmix.so.2: mpirun of Open MPI, PRRTE, "srun --mpi=pmix", flux. The library
 * is loaded when it is wanted, and stays loaded; a build that had no headers of PMIx cannot use it,
 * and says so.
 *
 *   PMIx_Init; PMIx_Put and PMIx_Commit (rank 0), PMIx_Get of rank 0's value (the others);
 *   PMIx_Finalize
 *
 * There is no fence: PMIx_Get waits for rank 0's value alone. So rank 0 does not wait for the
 * others here, and when one never comes, the rendezvous knows which. PMIx counts how often it was
 * initialized: MPI that was there before goes on, but a process that has finalized PMIx altogether
 * cannot use MPI afterwards. See process_manager.h. */
#include "lib/pmi/blocking_session.h"

#include "lib/base/clock.h"

#ifdef HAVE_PMIX

#include <dlfcn.h>
#include <limits.h>
#include <pmix.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between two questions for rank 0's value. */
enum { PAUSE_FIRST_MS = 5, PAUSE_MAX_MS = 100 };

/* The calls of PMIx's C interface that are used. */
struct pmix_calls {
    __typeof__(&PMIx_Init) init;
    __typeof__(&PMIx_Put) put;
    __typeof__(&PMIx_Commit) commit;
    __typeof__(&PMIx_Get) get;
    __typeof__(&PMIx_Finalize) finalize;
    __typeof__(&PMIx_Error_string) error_string;
    pmix_proc_t self;
    bool begun;
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    { "PMIx_Init", offsetof(struct pmix_calls, init) },
    { "PMIx_Put", offsetof(struct pmix_calls, put) },
    { "PMIx_Commit", offsetof(struct pmix_calls, commit) },
    { "PMIx_Get", offsetof(struct pmix_calls, get) },
    { "PMIx_Finalize", offsetof(struct pmix_calls, finalize) },
    { "PMIx_Error_string", offsetof(struct pmix_calls, error_string) },
};

static int pmix_load(struct pmix_calls *calls, struct err *err)
{
    void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return fail(err, HVD_ERR_ENVIRONMENT, "libpmix.so.2 has no %s", symbols[i].name);
        memcpy((char *)calls + symbols[i].offset, &symbol, sizeof symbol);
    }
    return HVD_OK;
}

static int pmix_check(const struct pmix_calls *calls, struct blocking_shared *shared,
                      const char *call, pmix_status_t code)
{
    if (code == PMIX_SUCCESS)
        return HVD_OK;
    return fail(&shared->err, HVD_ERR_ENVIRONMENT, "%s: %s (%d)", call, calls->error_string(code),
                code);
}

static void pmix_value_free(pmix_value_t *value)
{
    if (value->type == PMIX_STRING && value->data.string)
        explicit_bzero(value->data.string, strlen(value->data.string)); /* maybe the job's key */
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
}

/* -1: not known. */
static int pmix_number(const struct pmix_calls *calls, pmix_rank_t rank, const char *key)
{
    pmix_proc_t proc = calls->self;
    pmix_value_t *value = NULL;
    int64_t number = -1;
    proc.rank = rank;
    if (calls->get(&proc, key, NULL, 0, &value) != PMIX_SUCCESS || !value)
        return -1;
    if (value->type == PMIX_UINT32)
        number = value->data.uint32;
    else if (value->type == PMIX_UINT16)
        number = value->data.uint16;
    pmix_value_free(value);
    return number <= INT_MAX ? (int)number : -1;
}

/* Leaves `host` empty if it is not known, or is not one. */
static void pmix_find_host_name(const struct pmix_calls *calls, char host[JOIN_HOST_MAX])
{
    pmix_value_t *value = NULL;
    if (calls->get(&calls->self, PMIX_HOSTNAME, NULL, 0, &value) != PMIX_SUCCESS || !value)
        return;
    if (value->type == PMIX_STRING && value->data.string &&
        snprintf(host, JOIN_HOST_MAX, "%s", value->data.string) >= JOIN_HOST_MAX)
        host[0] = '\0';
    pmix_value_free(value);
}

static int pmix_find_place(const struct pmix_calls *calls, struct blocking_shared *shared)
{
    struct process_manager_place *place = &shared->place;
    place->size = pmix_number(calls, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    if (place->size < 1 || place->size > WORLD_SIZE_MAX ||
        calls->self.rank >= (pmix_rank_t)place->size)
        return fail(&shared->err, HVD_ERR_PROTOCOL, "the PMIx server says rank %u of %d",
                    calls->self.rank, place->size);
    place->rank = (int)calls->self.rank;
    place->local_size = pmix_number(calls, PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
    place->local_rank = pmix_number(calls, calls->self.rank, PMIX_LOCAL_RANK);
    if (place->local_size > place->size || place->local_rank < 0 ||
        place->local_rank >= place->local_size)
        place->local_rank = place->local_size = 0;
    pmix_find_host_name(calls, place->host);
    return HVD_OK;
}

static int pmix_begin(void *library, struct blocking_shared *shared)
{
    struct pmix_calls *calls = library;
    pmix_status_t code = calls->init(&calls->self, NULL, 0);
    if (code != PMIX_SUCCESS)
        return fail(
            &shared->err, HVD_ERR_ENVIRONMENT,
            "no PMIx server answers: %s (%d); if PMIX_RANK and PMIX_NAMESPACE are left over "
            "from another program, unset them or set HVD_BOOTSTRAP=alone",
            calls->error_string(code), code);
    calls->begun = true;
    return pmix_find_place(calls, shared);
}

static int pmix_publish(const struct pmix_calls *calls, struct blocking_shared *shared)
{
    pmix_value_t value = { .type = PMIX_STRING, .data.string = shared->value };
    int rc =
        pmix_check(calls, shared, "PMIx_Put", calls->put(PMIX_GLOBAL, PROCESS_MANAGER_KEY, &value));
    return rc < 0 ? rc : pmix_check(calls, shared, "PMIx_Commit", calls->commit());
}

/* A server may answer at once that rank 0 has published nothing yet, although it was told how long
 * to wait: it is asked again until then. */
static pmix_status_t pmix_get_of_rank_0(const struct pmix_calls *calls, uint64_t limit_ms,
                                        pmix_value_t **value)
{
    pmix_proc_t first = calls->self;
    pmix_info_t timeout = { .value = { .type = PMIX_INT } };
    uint64_t deadline_ms = monotonic_ms() + limit_ms, pause_ms = PAUSE_FIRST_MS;
    first.rank = 0;
    snprintf(timeout.key, sizeof timeout.key, "%s", PMIX_TIMEOUT);
    timeout.value.data.integer = (int)(limit_ms / 1000) + 1;
    for (;;) {
        pmix_status_t code = calls->get(&first, PROCESS_MANAGER_KEY, &timeout, 1, value);
        if (code != PMIX_ERR_NOT_FOUND || monotonic_ms() + pause_ms >= deadline_ms)
            return code;
        poll(NULL, 0, (int)pause_ms);
        pause_ms = pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : pause_ms;
    }
}

static int pmix_find(const struct pmix_calls *calls, struct blocking_shared *shared)
{
    pmix_value_t *value = NULL;
    pmix_status_t code = pmix_get_of_rank_0(calls, shared->limit_ms, &value);
    if (code == PMIX_ERR_TIMEOUT || code == PMIX_ERR_NOT_FOUND)
        return fail(&shared->err, HVD_ERR_TIMEOUT, "rank 0 has not called hvd_init in time");
    int rc = pmix_check(calls, shared, "PMIx_Get", code);
    if (rc < 0)
        return rc;
    bool is_text = value->type == PMIX_STRING && value->data.string;
    if (is_text)
        snprintf(shared->value, sizeof shared->value, "%s", value->data.string);
    pmix_value_free(value);
    return is_text ? HVD_OK
                   : fail(&shared->err, HVD_ERR_PROTOCOL, "the value of rank 0 is no text");
}

static int pmix_exchange(void *library, struct blocking_shared *shared)
{
    const struct pmix_calls *calls = library;
    return shared->place.rank == 0 ? pmix_publish(calls, shared) : pmix_find(calls, shared);
}

static void pmix_end(void *library)
{
    const struct pmix_calls *calls = library;
    if (calls->begun)
        (void)calls->finalize(NULL, 0);
}

static int pmix_open(void **session, struct process_manager_place *place, environment_get_fn *get,
                     uint64_t deadline_ms, struct err *err)
{
    static const struct blocking_calls blocking = { sizeof(struct pmix_calls), pmix_begin,
                                                    pmix_exchange, pmix_end };
    struct pmix_calls calls = { 0 };
    struct blocking_session *opened;
    (void)get;
    int rc = pmix_load(&calls, err);
    if (rc == HVD_OK)
        rc = blocking_session_open(&opened, &blocking, &calls, place, deadline_ms, err);
    *session = rc < 0 ? NULL : opened;
    return rc;
}

static int pmix_exchange_value(void *session, char value[PROCESS_MANAGER_VALUE_MAX],
                               uint64_t deadline_ms, struct err *err)
{
    return blocking_session_exchange(session, value, deadline_ms, err);
}

static void pmix_close(void *session)
{
    blocking_session_close(session);
}

#else

static int pmix_open(void **session, struct process_manager_place *place, environment_get_fn *get,
                     uint64_t deadline_ms, struct err *err)
{
    (void)session;
    (void)place;
    (void)get;
    (void)deadline_ms;
    return fail(err, HVD_ERR_ENVIRONMENT, "this libhvd was built without PMIx (libpmix-dev)");
}

#define pmix_exchange_value NULL
#define pmix_close NULL

#endif

const struct process_manager process_manager_pmix = { "pmix", pmix_open, pmix_exchange_value,
                                                      pmix_close };
