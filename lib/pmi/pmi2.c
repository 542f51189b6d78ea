/* SPDX-License-Identifier: Apache-2.0 */
/* PMI-2 on the socket PMI_FD: what "srun --mpi=pmi2" speaks.
 *
 *   init (in the form of PMI-1), fullinit, info-getjobattr PMI_process_mapping;
 *   kvs-put (rank 0), kvs-fence, kvs-get (the others); finalize
 *
 * The fence is a barrier in which every rank takes part, as in pmi1.c. See process_manager.h. */
#include "lib/base/clock.h"
#include "lib/pmi/pmi_mapping.h"
#include "lib/pmi/pmi_socket.h"
#include "lib/pmi/process_manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_NAME_SIZE = 128 };

struct pmi2 {
    struct pmi_socket socket;
    int rank;
    char job[JOB_NAME_SIZE]; /* PMI_JOBID */
    struct pmi_writer request;
    struct pmi_message answer;
};

static int pmi2_ask(struct pmi2 *pmi, const char *answer, uint64_t deadline_ms, struct err *err)
{
    int rc = pmi_socket_ask(&pmi->socket, &pmi->request, &pmi->answer, deadline_ms, err);
    return rc < 0 ? rc : pmi_message_expect(&pmi->answer, answer, err);
}

/* The version is agreed upon in a message of PMI-1. */
static int pmi2_init(struct pmi2 *pmi, uint64_t deadline_ms, struct err *err)
{
    int version;
    pmi_writer_begin(&pmi->request, PMI1, "init");
    pmi_writer_put(&pmi->request, "pmi_version", "2");
    pmi_writer_put(&pmi->request, "pmi_subversion", "0");
    pmi->socket.dialect = PMI1;
    int rc = pmi2_ask(pmi, "response_to_init", deadline_ms, err);
    pmi->socket.dialect = PMI2;
    return rc < 0 ? rc : pmi_message_number(&pmi->answer, "pmi_version", 2, 2, &version, err);
}

static int pmi2_full_init(struct pmi2 *pmi, struct process_manager_place *place, const char *rank,
                          uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI2, "fullinit");
    pmi_writer_put(&pmi->request, "pmijobid", pmi->job);
    pmi_writer_put(&pmi->request, "pmirank", rank);
    pmi_writer_put(&pmi->request, "threaded", "FALSE");
    int rc = pmi2_ask(pmi, "fullinit-response", deadline_ms, err);
    if (rc == HVD_OK)
        rc = pmi_message_number(&pmi->answer, "size", 1, WORLD_SIZE_MAX, &place->size, err);
    if (rc == HVD_OK)
        rc = pmi_message_number(&pmi->answer, "rank", 0, place->size - 1, &place->rank, err);
    return rc;
}

static bool pmi2_found(const struct pmi2 *pmi, const char **value)
{
    const char *found = pmi_message_get(&pmi->answer, "found");
    *value = pmi_message_get(&pmi->answer, "value");
    return *value && (!found || strcmp(found, "TRUE") == 0);
}

/* Where there is no mapping, the host name tells. */
static int pmi2_find_host(struct pmi2 *pmi, struct process_manager_place *place,
                          uint64_t deadline_ms, struct err *err)
{
    const char *mapping;
    pmi_writer_begin(&pmi->request, PMI2, "info-getjobattr");
    pmi_writer_put(&pmi->request, "key", "PMI_process_mapping");
    int rc = pmi2_ask(pmi, "info-getjobattr-response", deadline_ms, err);
    if (rc == HVD_OK && pmi2_found(pmi, &mapping))
        (void)pmi_mapping_place(mapping, place->rank, place->size, &place->local_rank,
                                &place->local_size);
    return rc == HVD_ERR_PROTOCOL ? HVD_OK : rc;
}

static int pmi2_begin(struct pmi2 *pmi, struct process_manager_place *place,
                      environment_get_fn *get, uint64_t deadline_ms, struct err *err)
{
    char rank[16];
    const char *job = get("PMI_JOBID");
    *place = (struct process_manager_place){ 0 };
    int rc = pmi_variable(get, "PMI_RANK", 0, WORLD_SIZE_MAX - 1, &place->rank, err);
    if (rc == HVD_OK)
        rc = pmi_socket_init(&pmi->socket, get, err);
    if (rc == HVD_OK)
        rc = pmi2_init(pmi, deadline_ms, err);
    if (rc < 0)
        return rc;
    snprintf(pmi->job, sizeof pmi->job, "%s", job ? job : "");
    snprintf(rank, sizeof rank, "%d", place->rank);
    rc = pmi2_full_init(pmi, place, rank, deadline_ms, err);
    pmi->rank = place->rank;
    return rc < 0 ? rc : pmi2_find_host(pmi, place, deadline_ms, err);
}

static int pmi2_open(void **session, struct process_manager_place *place, environment_get_fn *get,
                     uint64_t deadline_ms, struct err *err)
{
    struct pmi2 *pmi = calloc(1, sizeof *pmi);
    if (!pmi)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = pmi2_begin(pmi, place, get, deadline_ms, err);
    if (rc < 0)
        free(pmi);
    *session = rc < 0 ? NULL : pmi;
    return rc;
}

static int pmi2_put(struct pmi2 *pmi, const char *value, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI2, "kvs-put");
    pmi_writer_put(&pmi->request, "key", PROCESS_MANAGER_KEY);
    pmi_writer_put(&pmi->request, "value", value);
    return pmi2_ask(pmi, "kvs-put-response", deadline_ms, err);
}

static int pmi2_fence(struct pmi2 *pmi, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_begin(&pmi->request, PMI2, "kvs-fence");
    int rc = pmi2_ask(pmi, "kvs-fence-response", deadline_ms, err);
    if (rc == HVD_ERR_TIMEOUT)
        return fail(err, rc, "some ranks of the job have not called hvd_init in time");
    return rc;
}

static int pmi2_get(struct pmi2 *pmi, char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                    struct err *err)
{
    const char *found;
    pmi_writer_begin(&pmi->request, PMI2, "kvs-get");
    pmi_writer_put(&pmi->request, "jobid", pmi->job);
    pmi_writer_put(&pmi->request, "srcid", "-1");
    pmi_writer_put(&pmi->request, "key", PROCESS_MANAGER_KEY);
    int rc = pmi2_ask(pmi, "kvs-get-response", deadline_ms, err);
    if (rc == HVD_OK && !pmi2_found(pmi, &found))
        return fail(err, HVD_ERR_PROTOCOL, "rank 0 has published nothing");
    if (rc == HVD_OK)
        snprintf(value, PROCESS_MANAGER_VALUE_MAX, "%s", found);
    return rc;
}

static int pmi2_exchange(void *session, char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                         struct err *err)
{
    struct pmi2 *pmi = session;
    int rc = pmi->rank == 0 ? pmi2_put(pmi, value, deadline_ms, err) : HVD_OK;
    if (rc == HVD_OK)
        rc = pmi2_fence(pmi, deadline_ms, err);
    if (rc == HVD_OK && pmi->rank > 0)
        rc = pmi2_get(pmi, value, deadline_ms, err);
    return rc;
}

enum { FINALIZE_MS = 2000 };

/* What the process manager answers, or that it does not, changes nothing. */
static void pmi2_close(void *session)
{
    struct pmi2 *pmi = session;
    if (!process_manager_shared_with_mpi()) {
        pmi_writer_begin(&pmi->request, PMI2, "finalize");
        (void)pmi2_ask(pmi, "finalize-response", monotonic_ms() + FINALIZE_MS, NULL);
    }
    explicit_bzero(pmi, sizeof *pmi); /* the key of the job has been here */
    free(pmi);
}

const struct process_manager process_manager_pmi2 = { "pmi2", pmi2_open, pmi2_exchange,
                                                      pmi2_close };
