/* SPDX-License-Identifier: Apache-2.0 */
/* The one oracle; see oracle.h. A fault that came when the ranks were about to end may have come
 * too late: then the job has ended well. One that came while the job was being started may be told
 * as a failure to start. Of launchers that are not ours only what is left is judged. */
#include "tests/chaos/oracle.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { PATIENCE_TIMES = 3, PATIENCE_MORE_MS = 15000 };

int oracle_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int next_ms(const struct fault *fault)
{
    int sum = 0;
    for (const struct fault_next *next = fault->next; next->signum; next++)
        sum += next->after_ms;
    return sum;
}

int oracle_bound_ms(const struct plan *plan, bool hosts)
{
    return (hosts ? plan->fault->hosts_ms : plan->fault->local_ms) + next_ms(plan->fault) +
           (plan->kind->stubborn ? FAULT_GRACE_MS : 0);
}

int oracle_patience_ms(const struct plan *plan, bool hosts)
{
    return oracle_bound_ms(plan, hosts) * PATIENCE_TIMES + PATIENCE_MORE_MS;
}

/* The line begins as it must, and does not say that something is left. */
static bool line_fits(const char *line, const struct fault *fault, const char *host)
{
    static const char left[] = "could not be killed";
    char beginning[200];
    size_t length = strlen(line), tail = sizeof left - 1;
    if (!fault->line)
        return true;
    const char *gap = strstr(fault->line, "%s");
    snprintf(beginning, sizeof beginning, "%.*s%s%s", gap ? (int)(gap - fault->line) : 100,
             fault->line, gap ? host : "", gap ? gap + 2 : "");
    return strncmp(line, beginning, strlen(beginning)) == 0 &&
           (length < tail || strcmp(line + length - tail, left) != 0);
}

static bool ended_well(const struct outcome *outcome)
{
    return outcome->wait_status == 0 && strncmp(outcome->last_line, "hvdrun: FAILED", 14) != 0;
}

/* While hosts are being reached, or ranks are being started, losing one is a failure of that. */
static bool failed_to_start(const struct plan *plan, const struct outcome *outcome)
{
    int status = oracle_status(outcome->wait_status);
    return plan->phase == PHASE_BEGIN && plan->fault->exit_status == 68 &&
           (status == 69 || status == 68) &&
           strncmp(outcome->last_line, "hvdrun: FAILED ", 15) == 0;
}

static bool ended_as_predicted(const struct plan *plan, const struct outcome *outcome)
{
    if (plan->phase == PHASE_END && ended_well(outcome))
        return true;
    if (oracle_status(outcome->wait_status) == plan->fault->exit_status)
        return WIFSIGNALED(outcome->wait_status) ||
               line_fits(outcome->last_line, plan->fault, outcome->host) ||
               failed_to_start(plan, outcome);
    return failed_to_start(plan, outcome);
}

bool oracle_judge(const struct plan *plan, const struct launcher *launcher,
                  const struct outcome *outcome, char why[ORACLE_TEXT])
{
    size_t used = 0;
    why[0] = '\0';
    if (!outcome->ended)
        used += (size_t)snprintf(why, ORACLE_TEXT, "never ends; ");
    if (outcome->wrong)
        used += (size_t)snprintf(why + used, ORACLE_TEXT - used,
                                 "a promise of elastic jobs is broken; ");
    if (outcome->left > 0)
        used += (size_t)snprintf(why + used, ORACLE_TEXT - used, "%d left; ", outcome->left);
    if (outcome->things > 0)
        used +=
            (size_t)snprintf(why + used, ORACLE_TEXT - used, "%d things left; ", outcome->things);
    if (launcher->ours && outcome->ended && !outcome->hit && !ended_well(outcome))
        used += (size_t)snprintf(why + used, ORACLE_TEXT - used, "failed without a fault; ");
    else if (launcher->ours && outcome->ended && outcome->hit && !ended_as_predicted(plan, outcome))
        used +=
            (size_t)snprintf(why + used, ORACLE_TEXT - used, "status or last line not %d '%s'; ",
                             plan->fault->exit_status, plan->fault->line ? plan->fault->line : "");
    return used == 0;
}
