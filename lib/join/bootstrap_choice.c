/* SPDX-License-Identifier: Apache-2.0 */
/* Which bootstrap a process uses; see bootstrap_choice.h. */
#include "lib/join/bootstrap_choice.h"

#include <string.h>

/* A bootstrap applies if both variables are set (NULL: one is enough), and no variable of `counts`
 * is "1", which is the number of processes that were started. In order of preference. */
static const struct bootstrap_row {
    enum bootstrap_kind kind;
    const char *name, *variable, *companion, *counts[2];
} rows[] = {
    { BOOTSTRAP_SERVICE, "service", ENV_RENDEZVOUS, NULL, { NULL } },
    { BOOTSTRAP_HVDRUN, "hvdrun", ENV_RENDEZVOUS_ADDR, NULL, { NULL } },
    { BOOTSTRAP_ALONE, "alone", ENV_SIZE, NULL, { NULL } },
    { BOOTSTRAP_PMIX,
      "pmix",
      "PMIX_RANK",
      "PMIX_NAMESPACE",
      { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS" } },
    { BOOTSTRAP_PMI2, "pmi2", "PMI_FD", "PMI_JOBID", { "PMI_SIZE" } },
    { BOOTSTRAP_PMI1, "pmi1", "PMI_FD", "PMI_RANK", { "PMI_SIZE" } },
    { BOOTSTRAP_PMI_LIBRARY,
      "pmi1",
      "SLURM_STEP_NUM_TASKS",
      "SLURM_PROCID",
      { "SLURM_STEP_NUM_TASKS" } },
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool variables_are_set(const struct bootstrap_row *row, environment_get_fn *get)
{
    return get(row->variable) && (!row->companion || get(row->companion));
}

static bool is_single(const struct bootstrap_row *row, environment_get_fn *get)
{
    for (size_t i = 0; i < sizeof row->counts / sizeof *row->counts; i++) {
        const char *count = row->counts[i] ? get(row->counts[i]) : NULL;
        if (count && strcmp(count, "1") == 0)
            return true;
    }
    return false;
}

static void take_row(struct bootstrap_choice *choice, const struct bootstrap_row *row,
                     environment_get_fn *get)
{
    *choice = (struct bootstrap_choice){ row->kind, row->name, row->variable, NULL };
    for (const struct bootstrap_row *other = row + 1; other < rows + ROWS; other++)
        if (other->kind != BOOTSTRAP_ALONE && variables_are_set(other, get) &&
            strcmp(other->variable, row->variable) != 0 && !choice->unused)
            choice->unused = other->variable;
}

static int choose_wanted(struct bootstrap_choice *choice, const char *wanted,
                         environment_get_fn *get, struct err *err)
{
    const struct bootstrap_row *known = NULL;
    char quoted[QUOTED_SIZE];
    *choice = (struct bootstrap_choice){ BOOTSTRAP_ALONE, "alone", ENV_BOOTSTRAP, NULL };
    if (strcmp(wanted, "alone") == 0)
        return HVD_OK;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, wanted) != 0)
            continue;
        known = known ? known : &rows[i];
        if (!variables_are_set(&rows[i], get))
            continue;
        *choice = (struct bootstrap_choice){ rows[i].kind, rows[i].name, ENV_BOOTSTRAP, NULL };
        return HVD_OK;
    }
    if (!known)
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "%s: '%s' is not one of hvdrun, service, pmix, pmi2, pmi1 and alone",
                    ENV_BOOTSTRAP, quote_token(quoted, sizeof quoted, wanted, strlen(wanted)));
    return fail(err, HVD_ERR_ENVIRONMENT, "%s is %s but %s is not set", ENV_BOOTSTRAP, known->name,
                get(known->variable) ? known->companion : known->variable);
}

int bootstrap_choose(struct bootstrap_choice *choice, environment_get_fn *get, struct err *err)
{
    const char *wanted = get(ENV_BOOTSTRAP);
    if (wanted)
        return choose_wanted(choice, wanted, get, err);
    *choice = (struct bootstrap_choice){ BOOTSTRAP_ALONE, "alone", NULL, NULL };
    for (size_t i = 0; i < ROWS; i++) {
        if (!variables_are_set(&rows[i], get) || is_single(&rows[i], get))
            continue;
        take_row(choice, &rows[i], get);
        return HVD_OK;
    }
    return HVD_OK;
}
