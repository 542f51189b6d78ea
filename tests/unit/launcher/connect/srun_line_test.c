/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm's words on stderr mean: lines of Slurm 22.05, and others. */
#include "launcher/connect/srun_line.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *line;
    enum srun_line_kind kind;
    int task;
    const char *text, *hosts;
} lines[] = {
    { "0: slurmstepd-host1: error: *** STEP 5.0 ON host1 CANCELLED AT 2026-11-24T23:42:35 DUE TO "
      "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
      SRUN_CANCELLED, 0,
      "STEP 5.0 ON host1 CANCELLED AT 2026-11-24T23:42:35 DUE TO NODE FAILURE, SEE SLURMCTLD LOG "
      "FOR DETAILS",
      "" },
    { "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT T DUE TO TIME LIMIT ***", SRUN_CANCELLED, -1,
      "JOB 7 ON n1 CANCELLED AT T DUE TO TIME LIMIT", "" },
    { "slurmstepd: error: *** STEP 1.0 ON n1 CANC", SRUN_CANCELLED, -1, "STEP 1.0 ON n1 CANC", "" },
    { "srun: error: Node failure on host2", SRUN_NODE_FAILED, -1, "Node failure on host2",
      "host2 " },
    { "srun: error: host1: task 0: Killed", SRUN_TASKS_ENDED, -1, "host1: task 0: Killed",
      "host1 " },
    { "srun: error: host[1-2]: tasks 0-1: Exited with exit code 2", SRUN_TASKS_ENDED, -1,
      "host[1-2]: tasks 0-1: Exited with exit code 2", "host1 host2 " },
    { "12: hvdagent: hvdrun is not reached", SRUN_TASK_WROTE, 12, "hvdagent: hvdrun is not reached",
      "" },
    { "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.", SRUN_ABORTED, -1,
      "Job step aborted", "" },
    { "srun: error: Unable to create step for job 3: Requested nodes are busy", SRUN_SAYS, -1,
      "srun: error: Unable to create step for job 3: Requested nodes are busy", "" },
    { "srun: error: host[1-: task 0: Killed", SRUN_SAYS, -1, "srun: error: host[1-: task 0: Killed",
      "" },
    { "3: srun: error: Node failure on host2", SRUN_TASK_WROTE, 3,
      "srun: error: Node failure on host2", "" }, /* a task says so, not srun */
    { "3: error: *** not Slurm's words ***", SRUN_TASK_WROTE, 3, "error: *** not Slurm's words ***",
      "" },
    { "12:no label", SRUN_SAYS, -1, "12:no label", "" },
    { "", SRUN_SAYS, -1, "", "" },
};

START_TEST(a_line_of_slurm_is_understood)
{
    struct srun_line line;
    char text[300], hosts[64] = "";
    srun_line_read(&line, lines[_i].line);
    snprintf(text, sizeof text, "%.*s", line.length, line.text);
    for (int i = 0; i < line.hosts.count; i++)
        snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "%s ",
                 line.hosts.hosts[i].name);
    ck_assert_int_eq(line.kind, lines[_i].kind);
    ck_assert_int_eq(line.task, lines[_i].task);
    ck_assert_str_eq(text, lines[_i].text);
    ck_assert_str_eq(hosts, lines[_i].hosts);
    srun_line_fini(&line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("srun_line");
    TCase *tcase = tcase_create("lines");
    tcase_add_loop_test(tcase, a_line_of_slurm_is_understood, 0, sizeof lines / sizeof *lines);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
