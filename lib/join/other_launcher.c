/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of other launchers; see other_launcher.h. */
#include "lib/join/other_launcher.h"

#include <stdio.h>
#include <stdlib.h>

/* A launcher that sets `variable` to at least `least`, and `companion`, started more than one
 * process. */
static const struct {
    const char *launcher, *variable;
    long least;
    const char *companion;
} signs[] = {
    { "mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", 2, "OMPI_COMM_WORLD_RANK" },
    { "mpiexec of MPICH or a relative", "PMI_SIZE", 2, "PMI_RANK" },
    { "mpirun of MVAPICH", "MV2_COMM_WORLD_SIZE", 2, "MV2_COMM_WORLD_RANK" },
    { "jsrun", "JSM_NAMESPACE_SIZE", 2, "JSM_NAMESPACE_RANK" },
    { "flux run", "FLUX_JOB_SIZE", 2, "FLUX_TASK_RANK" },
    { "torchrun or the like", "WORLD_SIZE", 2, "RANK" },
};

static bool tells_of_a_job(environment_get_fn *get)
{
    return get(ENV_SIZE) || get(ENV_RENDEZVOUS) || get(ENV_RENDEZVOUS_ADDR);
}

static bool number_at_least(const char *text, long least)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end > text && *end == '\0' && value >= least;
}

bool other_launcher_text(char text[OTHER_LAUNCHER_TEXT], environment_get_fn *get)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs && !tells_of_a_job(get); i++) {
        const char *value = get(signs[i].companion) ? get(signs[i].variable) : NULL;
        if (!value || !number_at_least(value, signs[i].least))
            continue;
        snprintf(
            text, OTHER_LAUNCHER_TEXT,
            "hvd_init: this process is a world of 1 rank, although %s=%.9s: %s started several, "
            "which do not know of each other; start them with hvdrun, or set HOROVOD_RANK=0 "
            "HOROVOD_SIZE=1 if each is meant to be alone",
            signs[i].variable, value, signs[i].launcher);
        return true;
    }
    return false;
}
