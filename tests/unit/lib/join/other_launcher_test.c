/* SPDX-License-Identifier: Apache-2.0 */
/* A process that another launcher started as one of several, and that is told of no job: what is a
 * sign of that and what is not, and the one line that hvd_init() writes. The variables are those
 * that the launchers set. */
#include "lib/join/other_launcher.h"

#include "lib/hvd.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static const struct {
    const char *variables, *sign; /* NULL: there is none */
} cases[] = {
    { "", NULL },
    { "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 PMIX_NAMESPACE=p",
      "OMPI_COMM_WORLD_SIZE=2: mpirun of Open MPI " },
    { "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 PMIX_NAMESPACE=p", NULL },
    { "OMPI_COMM_WORLD_SIZE=2", NULL },
    { "PMI_SIZE=2 PMI_RANK=1 PMI_FD=6", "PMI_SIZE=2: mpiexec of MPICH" },
    { "PMI_SIZE=1 PMI_RANK=0 PMI_FD=6", NULL },
    { "MV2_COMM_WORLD_SIZE=8 MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_SIZE=8" },
    { "JSM_NAMESPACE_SIZE=6 JSM_NAMESPACE_RANK=0", "JSM_NAMESPACE_SIZE=6" },
    { "FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=2" },
    { "WORLD_SIZE=2 RANK=0 LOCAL_RANK=0", "WORLD_SIZE=2: torchrun" },
    { "WORLD_SIZE=2", NULL },
    { "WORLD_SIZE=many RANK=0", NULL },
    { "WORLD_SIZE= RANK=0", NULL },
    { "WORLD_SIZE=1 RANK=0", NULL },
    /* told of a job */
    { "PMI_SIZE=2 PMI_RANK=1 HOROVOD_RANK=0 HOROVOD_SIZE=1", NULL },
    { "PMI_SIZE=2 PMI_RANK=1 HVD_RENDEZVOUS=node1:29400", NULL },
    { "PMI_SIZE=2 PMI_RANK=1 HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1", NULL },
};

START_TEST(a_launcher_of_several_processes_is_named_with_its_variable)
{
    char text[OTHER_LAUNCHER_TEXT] = "";
    variables = cases[_i].variables;
    ck_assert_int_eq(other_launcher_text(text, get), cases[_i].sign != NULL);
    ck_assert_msg(strstr(text, cases[_i].sign ? cases[_i].sign : ""), "%s", text);
}
END_TEST

/* What a process that joins and leaves writes to stderr. */
static void init_with(const char *size, char *out, size_t room)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        setenv("OMPI_COMM_WORLD_SIZE", size, 1);
        setenv("OMPI_COMM_WORLD_RANK", "0", 1);
        _exit(hvd_init() != HVD_OK || hvd_size() != 1 || hvd_shutdown() != HVD_OK);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; length < room - 1 && (n = read(ends[0], out + length, room - 1 - length)) > 0;)
        length += (size_t)n;
    out[length] = '\0';
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

START_TEST(hvd_init_warns_once_and_goes_on_alone)
{
    char text[1024];
    init_with("2", text, sizeof text);
    ck_assert_msg(strstr(text, "W]: hvd_init: this process is a world of 1 rank, although "
                               "OMPI_COMM_WORLD_SIZE=2: mpirun of Open MPI started several"),
                  "%s", text);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    init_with("1", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("other_launcher");
    TCase *tcase = tcase_create("other_launcher");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_launcher_of_several_processes_is_named_with_its_variable, 0,
                        sizeof cases / sizeof *cases);
    tcase_add_test(tcase, hvd_init_warns_once_and_goes_on_alone);
    return unit_run(suite);
}
