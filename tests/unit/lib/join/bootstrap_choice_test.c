/* SPDX-License-Identifier: Apache-2.0 */
/* Which bootstrap a process uses, from the variables that launchers set. */
#include "lib/join/bootstrap_choice.h"

#include "lib/hvd.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* "NAME=value NAME=value" */
static const char *variables;

static const char *get(const char *name)
{
    static char value[64];
    size_t length = strlen(name);
    for (const char *at = variables; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length + 1, " "),
                     at + length + 1);
            return value;
        }
    return NULL;
}

#define MPIRUN "OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=1 PMIX_NAMESPACE=7 "
#define MPIEXEC "PMI_RANK=1 PMI_SIZE=4 PMI_FD=6 "
#define SRUN "SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 "

static const struct {
    const char *variables;
    enum bootstrap_kind kind;
    const char *name, *reason, *unused;
} good[] = {
    { "", BOOTSTRAP_ALONE, "alone", NULL, NULL },
    { "HVD_RENDEZVOUS=a:1", BOOTSTRAP_SERVICE, "service", "HVD_RENDEZVOUS", NULL },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_SIZE=4", BOOTSTRAP_HVDRUN, "hvdrun",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", NULL },
    { MPIRUN, BOOTSTRAP_PMIX, "pmix", "PMIX_RANK", NULL },
    { MPIEXEC, BOOTSTRAP_PMI1, "pmi1", "PMI_FD", NULL },
    { MPIEXEC SRUN "PMI_JOBID=7.0", BOOTSTRAP_PMI2, "pmi2", "PMI_FD", "SLURM_STEP_NUM_TASKS" },
    { SRUN, BOOTSTRAP_PMI_LIBRARY, "pmi1", "SLURM_STEP_NUM_TASKS", NULL },
    /* two at once */
    { MPIRUN MPIEXEC, BOOTSTRAP_PMIX, "pmix", "PMIX_RANK", "PMI_FD" },
    { MPIRUN SRUN, BOOTSTRAP_PMIX, "pmix", "PMIX_RANK", "SLURM_STEP_NUM_TASKS" },
    { MPIRUN "HVD_RENDEZVOUS=a:1", BOOTSTRAP_SERVICE, "service", "HVD_RENDEZVOUS", "PMIX_RANK" },
    { MPIEXEC "HOROVOD_GLOO_RENDEZVOUS_ADDR=a", BOOTSTRAP_HVDRUN, "hvdrun",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", "PMI_FD" },
    { MPIEXEC "HOROVOD_RANK=0 HOROVOD_SIZE=1", BOOTSTRAP_ALONE, "alone", "HOROVOD_SIZE", "PMI_FD" },
    /* HVD_BOOTSTRAP decides */
    { MPIRUN MPIEXEC "HVD_BOOTSTRAP=pmi1", BOOTSTRAP_PMI1, "pmi1", "HVD_BOOTSTRAP", NULL },
    { SRUN "HVD_BOOTSTRAP=pmi1", BOOTSTRAP_PMI_LIBRARY, "pmi1", "HVD_BOOTSTRAP", NULL },
    { MPIRUN "HVD_BOOTSTRAP=alone", BOOTSTRAP_ALONE, "alone", "HVD_BOOTSTRAP", NULL },
    { "HVD_BOOTSTRAP=alone", BOOTSTRAP_ALONE, "alone", "HVD_BOOTSTRAP", NULL },
    { "HVD_BOOTSTRAP=service HVD_RENDEZVOUS=a:1", BOOTSTRAP_SERVICE, "service", "HVD_BOOTSTRAP",
      NULL },
    /* one process, or a variable without its companion */
    { "OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 PMIX_NAMESPACE=7", BOOTSTRAP_ALONE, "alone", NULL, NULL },
    { "PMI_RANK=0 PMI_SIZE=1 PMI_FD=6", BOOTSTRAP_ALONE, "alone", NULL, NULL },
    { "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", BOOTSTRAP_ALONE, "alone", NULL, NULL },
    { "PMIX_RANK=0", BOOTSTRAP_ALONE, "alone", NULL, NULL },
    { "SLURM_NTASKS=4 SLURM_PROCID=0", BOOTSTRAP_ALONE, "alone", NULL, NULL }, /* a batch script */
};

START_TEST(the_variables_decide)
{
    struct bootstrap_choice choice;
    struct err err;
    variables = good[_i].variables;
    ck_assert_int_eq(bootstrap_choose(&choice, get, &err), HVD_OK);
    ck_assert_int_eq(choice.kind, good[_i].kind);
    ck_assert_str_eq(choice.name, good[_i].name);
    ck_assert_pstr_eq(choice.reason, good[_i].reason);
    ck_assert_pstr_eq(choice.unused, good[_i].unused);
}
END_TEST

static const struct {
    const char *variables, *text;
} bad[] = {
    { "HVD_BOOTSTRAP=mpi",
      "HVD_BOOTSTRAP: 'mpi' is not one of hvdrun, service, pmix, pmi2, pmi1 and alone" },
    { "HVD_BOOTSTRAP=",
      "HVD_BOOTSTRAP: '' is not one of hvdrun, service, pmix, pmi2, pmi1 and alone" },
    { "HVD_BOOTSTRAP=PMIX",
      "HVD_BOOTSTRAP: 'PMIX' is not one of hvdrun, service, pmix, pmi2, pmi1 and alone" },
    { "HVD_BOOTSTRAP=pmix", "HVD_BOOTSTRAP is pmix but PMIX_RANK is not set" },
    { "HVD_BOOTSTRAP=pmix PMIX_RANK=0", "HVD_BOOTSTRAP is pmix but PMIX_NAMESPACE is not set" },
    { "HVD_BOOTSTRAP=pmi1", "HVD_BOOTSTRAP is pmi1 but PMI_FD is not set" },
    { MPIEXEC "HVD_BOOTSTRAP=pmi2", "HVD_BOOTSTRAP is pmi2 but PMI_JOBID is not set" },
    { MPIEXEC "HVD_BOOTSTRAP=hvdrun",
      "HVD_BOOTSTRAP is hvdrun but HOROVOD_GLOO_RENDEZVOUS_ADDR is not set" },
    { "HVD_BOOTSTRAP=service", "HVD_BOOTSTRAP is service but HVD_RENDEZVOUS is not set" },
};

START_TEST(a_choice_that_cannot_be_is_refused)
{
    struct bootstrap_choice choice;
    struct err err;
    variables = bad[_i].variables;
    ck_assert_int_eq(bootstrap_choose(&choice, get, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, bad[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bootstrap_choice");
    TCase *tcase = tcase_create("bootstrap_choice");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_variables_decide, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tcase, a_choice_that_cannot_be_is_refused, 0, sizeof bad / sizeof *bad);
    return unit_run(suite);
}
