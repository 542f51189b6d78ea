/* SPDX-License-Identifier: Apache-2.0 */
/* PMI-1 on the socket PMI_FD: what Hydra (mpiexec of MPICH and its relatives) and flux speak.
 *
 *   init, get_my_kvsname, get PMI_process_mapping; put (rank 0), barrier_in, get (the others);
 *   finalize
 *
 * A value is visible after a barrier in which every rank takes part, so a rank that never comes
 * keeps all others until the deadline: PMI-1 does not tell which rank that is. See
 * process_manager.h. */
#include "lib/base/clock.h"
#include "lib/pmi/pmi_mapping.h"
#include "lib/pmi/pmi_socket.h"
#include "lib/pmi/process_manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KVS_NAME_SIZE = 257 };

struct pmi1 {
    struct pmi_socket socket;
    int rank;
    char kvs[KVS_NAME_SIZE]; /* the name of the job's key-value space */
    struct pmi_writer request;
    struct pmi_message answer;
};

static int pmi1_ask(struct pmi1 *pmi, const char *answer, uint64_t deadline_ms, struct err *err)
{
    int rc = pmi_socket_ask(&pmi->socket, &pmi->request, &pmi->answer, deadline_ms, err);
    return rc < 0 ? rc : pmi_message_expect(&pmi->answer, answer, err);
}

static int pmi1_init(struct pmi1 *pmi, uint64_t deadline_ms, struct err *err)
{
    int version;
    pmi_writer_begin(&pmi->request, PMI1, "init");
    pmi_writer_put(&pmi->request, "pmi_version", "1");
    pmi_writer_put(&pmi->request, "pmi_subversion", "1");
    int rc = pmi1_ask(pmi, "response_to_init", deadline_ms, err);
    return rc < 0 ? rc : pmi_message_number(&pmi->answer, "pmi_version", 1, 1, &version, err);
}

static int pmi1_find_kvs(struct pmi1 *pmi, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI1, "get_my_kvsname");
    int rc = pmi1_ask(pmi, "my_kvsname", deadline_ms, err);
    const char *name = rc < 0 ? NULL : pmi_message_get(&pmi->answer, "kvsname");
    if (rc == HVD_OK && (!name || snprintf(pmi->kvs, KVS_NAME_SIZE, "%s", name) >= KVS_NAME_SIZE))
        return fail(err, HVD_ERR_PROTOCOL, "no name of the key-value space in the answer");
    return rc;
}

/* Borrowed until the next request. */
static int pmi1_get(struct pmi1 *pmi, const char *key, const char **value, uint64_t deadline_ms,
                    struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI1, "get");
    pmi_writer_put(&pmi->request, "kvsname", pmi->kvs);
    pmi_writer_put(&pmi->request, "key", key);
    int rc = pmi1_ask(pmi, "get_result", deadline_ms, err);
    if (rc < 0)
        return rc;
    *value = pmi_message_get(&pmi->answer, "value");
    return *value ? HVD_OK : fail(err, HVD_ERR_PROTOCOL, "no 'value' in the answer");
}

/* Where there is no mapping, the host name tells. */
static int pmi1_find_host(struct pmi1 *pmi, struct process_manager_place *place,
                          uint64_t deadline_ms, struct err *err)
{
    const char *mapping;
    int rc = pmi1_get(pmi, "PMI_process_mapping", &mapping, deadline_ms, err);
    if (rc == HVD_OK)
        (void)pmi_mapping_place(mapping, place->rank, place->size, &place->local_rank,
                                &place->local_size);
    return rc == HVD_ERR_PROTOCOL ? HVD_OK : rc;
}

static int pmi1_begin(struct pmi1 *pmi, struct process_manager_place *place,
                      environment_get_fn *get, uint64_t deadline_ms, struct err *err)
{
    *place = (struct process_manager_place){ 0 };
    int rc = pmi_variable(get, "PMI_SIZE", 1, WORLD_SIZE_MAX, &place->size, err);
    if (rc == HVD_OK)
        rc = pmi_variable(get, "PMI_RANK", 0, place->size - 1, &place->rank, err);
    if (rc == HVD_OK)
        rc = pmi_socket_init(&pmi->socket, get, err);
    if (rc == HVD_OK)
        rc = pmi1_init(pmi, deadline_ms, err);
    if (rc == HVD_OK)
        rc = pmi1_find_kvs(pmi, deadline_ms, err);
    pmi->rank = place->rank;
    return rc < 0 ? rc : pmi1_find_host(pmi, place, deadline_ms, err);
}

static int pmi1_open(void **session, struct process_manager_place *place, environment_get_fn *get,
                     uint64_t deadline_ms, struct err *err)
{
    struct pmi1 *pmi = calloc(1, sizeof *pmi);
    if (!pmi)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = pmi1_begin(pmi, place, get, deadline_ms, err);
    if (rc < 0)
        free(pmi);
    *session = rc < 0 ? NULL : pmi;
    return rc;
}

static int pmi1_put(struct pmi1 *pmi, const char *value, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI1, "put");
    pmi_writer_put(&pmi->request, "kvsname", pmi->kvs);
    pmi_writer_put(&pmi->request, "key", PROCESS_MANAGER_KEY);
    pmi_writer_put(&pmi->request, "value", value);
    return pmi1_ask(pmi, "put_result", deadline_ms, err);
}

static int pmi1_barrier(struct pmi1 *pmi, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI1, "barrier_in");
    int rc = pmi1_ask(pmi, "barrier_out", deadline_ms, err);
    if (rc == HVD_ERR_TIMEOUT)
        return fail(err, rc, "some ranks of the job have not called hvd_init in time");
    return rc;
}

static int pmi1_exchange(void *session, char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                         struct err *err)
{
    struct pmi1 *pmi = session;
    const char *found = NULL;
    int rc = pmi->rank == 0 ? pmi1_put(pmi, value, deadline_ms, err) : HVD_OK;
    if (rc == HVD_OK)
        rc = pmi1_barrier(pmi, deadline_ms, err);
    if (rc == HVD_OK && pmi->rank > 0)
        rc = pmi1_get(pmi, PROCESS_MANAGER_KEY, &found, deadline_ms, err);
    if (found)
        snprintf(value, PROCESS_MANAGER_VALUE_MAX, "%s", found);
    return rc;
}

enum { FINALIZE_MS = 2000 };

/* What the process manager answers, or that it does not, changes nothing. */
static void pmi1_close(void *session)
{
    struct pmi1 *pmi = session;
    if (!process_manager_shared_with_mpi()) {
        pmi_writer_begin(&pmi->request, PMI1, "finalize");
        (void)pmi1_ask(pmi, "finalize_ack", monotonic_ms() + FINALIZE_MS, NULL);
    }
    explicit_bzero(pmi, sizeof *pmi); /* the key of the job has been here */
    free(pmi);
}

const struct process_manager process_manager_pmi1 = { "pmi1", pmi1_open, pmi1_exchange,
                                                      pmi1_close };
