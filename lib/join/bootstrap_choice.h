/* SPDX-License-Identifier: Apache-2.0 */
/* Which bootstrap a process uses: what HVD_BOOTSTRAP says, or else the first whose variables are
 * set:
 *
 *   service   HVD_RENDEZVOUS: the rendezvous of a service
 *   hvdrun    HOROVOD_GLOO_RENDEZVOUS_ADDR: hvdrun, or Horovod's own launcher
 *   alone     HOROVOD_SIZE without these
 *   pmix      PMIX_NAMESPACE and PMIX_RANK: mpirun of Open MPI, PRRTE, srun --mpi=pmix
 *   pmi2      PMI_FD and PMI_JOBID: srun --mpi=pmi2
 *   pmi1      PMI_FD: mpiexec of MPICH; or the variables of srun: srun without an MPI plugin
 *   alone     otherwise, and whenever a process manager has started a single process
 *
 * Fails (HVD_ERR_ENVIRONMENT) when HVD_BOOTSTRAP names no bootstrap, or one whose variables are not
 * set. */
#ifndef LIB_JOIN_BOOTSTRAP_CHOICE_H
#define LIB_JOIN_BOOTSTRAP_CHOICE_H

#include "lib/base/env_names.h"
#include "lib/base/status.h"

#include <stdbool.h>

enum bootstrap_kind {
    BOOTSTRAP_ALONE,
    BOOTSTRAP_SERVICE,
    BOOTSTRAP_HVDRUN,
    BOOTSTRAP_PMIX,
    BOOTSTRAP_PMI2,
    BOOTSTRAP_PMI1,
    BOOTSTRAP_PMI_LIBRARY /* also "pmi1" */
};

struct bootstrap_choice {
    enum bootstrap_kind kind;
    const char *name;   /* a value of HVD_BOOTSTRAP */
    const char *reason; /* the variable that has decided; NULL: none is set */
    const char *unused; /* a variable of another bootstrap, which is not used; NULL: none is set */
};

int bootstrap_choose(struct bootstrap_choice *choice, environment_get_fn *get, struct err *err);

#endif
