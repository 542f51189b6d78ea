/* SPDX-License-Identifier: Apache-2.0 */
/* The process manager that started this process (mpirun, mpiexec, srun): an interface and its
 * implementations.
 *
 *   pmix      a PMIx server, by libpmix.so.2, loaded at run time
 *   pmi2      the PMI-2 wire protocol on the socket PMI_FD
 *   pmi1      the PMI-1 wire protocol on the socket PMI_FD
 *   pmi1      Slurm's PMI-1, by libpmi.so.0, loaded at run time
 *
 * A session is opened, exchanges one value, and is closed when all ranks have met; all three calls
 * block. The session does not live longer than hvd_init(), so that the end of the process needs no
 * farewell to the process manager, and a process that ends badly is noticed by its exit status.
 *
 * Fails when the process manager does not answer before the deadline (HVD_ERR_TIMEOUT), has closed
 * the connection or never had one, which variables left over from another job look like
 * (HVD_ERR_ENVIRONMENT), speaks another version, or answers what it should not
 * (HVD_ERR_PROTOCOL). */
#ifndef LIB_PMI_PROCESS_MANAGER_H
#define LIB_PMI_PROCESS_MANAGER_H

#include "lib/base/env_names.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What fits into a value of every process manager: Slurm's library has 512 bytes. */
enum { PROCESS_MANAGER_VALUE_MAX = 480 };

/* The key of the value that rank 0 publishes. */
#define PROCESS_MANAGER_KEY "hvd-contact"

/* The place of this process, as the process manager knows it. */
struct process_manager_place {
    int rank, size;
    int local_rank, local_size; /* local_size 0: not known */
    char host[JOIN_HOST_MAX];   /* "": not known */
};

struct process_manager {
    const char *name; /* a value of HVD_BOOTSTRAP */

    /* Fills in the session, to be closed, and the place. On failure there is nothing to close. */
    int (*open)(void **session, struct process_manager_place *place, environment_get_fn *get,
                uint64_t deadline_ms, struct err *err);

    /* Rank 0 publishes `value`, which is printable and has no blank, ';' or '='; every other rank
     * gets it. Each rank calls this once. May wait for the other ranks. */
    int (*exchange)(void *session, char value[PROCESS_MANAGER_VALUE_MAX], uint64_t deadline_ms,
                    struct err *err);

    void (*close)(void *session);
};

/* True if the process has loaded MPI, which uses the socket PMI_FD before or after us: whoever
 * sends "finalize" ends the connection for both, so that is left to MPI. */
bool process_manager_shared_with_mpi(void);

extern const struct process_manager process_manager_pmix, process_manager_pmi2,
    process_manager_pmi1, process_manager_pmi_library;

#endif
