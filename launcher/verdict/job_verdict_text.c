/* SPDX-License-Identifier: Apache-2.0 */
/* Wording a job's end; see job_verdict_text.h. */
#include "launcher/verdict/job_verdict_text.h"

#include "lib/base/rank_end_text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char *rank_host(const struct rank_plan *plan, int rank)
{
    return plan->hosts[plan->ranks[rank].host].host->name;
}

static int rank_words(char *text, size_t size, const struct job_verdict *verdict,
                      const struct rank_plan *plan, pid_t pid)
{
    char how[160];
    rank_end_how_text(how, sizeof how, &verdict->how, RANK_END_SHORT);
    return snprintf(text, size, "FAILED rank %d on %s (pid %d): %s after %.1f s%s%s", verdict->rank,
                    rank_host(plan, verdict->rank), (int)pid, how, (double)verdict->after_ms / 1000,
                    *verdict->text ? ": " : "", verdict->text);
}

static int left_words(char *text, size_t size, const struct job_verdict *verdict,
                      const struct rank_plan *plan, pid_t pid)
{
    return snprintf(text, size, "FAILED rank %d on %s (pid %d): %s", verdict->rank,
                    rank_host(plan, verdict->rank), (int)pid, verdict->text);
}

/* "; 3 other ranks terminated, 0 left" or "; 1 process could not be killed"; "" if there was
 * nothing to terminate. */
static void add_count(char *text, size_t size, const struct job_state *state)
{
    bool others = state->verdict.cause == CAUSE_RANK || state->verdict.cause == CAUSE_LEFT;
    char left[64] = "0 left";
    if (state->terminated == 0 && state->left == 0)
        return;
    if (state->left > 0)
        snprintf(left, sizeof left, "%d process%s could not be killed", state->left,
                 state->left == 1 ? "" : "es");
    if (state->terminated == 0)
        snprintf(text, size, "; %s", left);
    else
        snprintf(text, size, "; %d %srank%s terminated, %s", state->terminated,
                 others ? "other " : "", state->terminated == 1 ? "" : "s", left);
}

static int host_words(char *text, size_t size, const struct job_verdict *verdict,
                      const struct rank_plan *plan)
{
    const char *host = plan->hosts[verdict->host].host->name;
    if (verdict->rank >= 0)
        return snprintf(text, size, "FAILED rank %d on %s: %s", verdict->rank, host, verdict->text);
    return snprintf(text, size, "FAILED on %s: %s", host, verdict->text);
}

static int signal_words(char *text, size_t size, const struct job_verdict *verdict,
                        uint64_t elapsed_ms)
{
    int signum = verdict->exit_status - 128;
    const char *name = sigabbrev_np(signum);
    return snprintf(text, size, "stopped by signal %d (SIG%s) after %.1f s%s%s", signum,
                    name ? name : "?", (double)elapsed_ms / 1000, *verdict->text ? ", " : "",
                    verdict->text);
}

void job_verdict_text(char *text, size_t size, const struct job_state *state,
                      const struct rank_plan *plan, pid_t pid, uint64_t elapsed_ms)
{
    const struct job_verdict *verdict = &state->verdict;
    int used = 0;
    switch (verdict->cause) {
    case CAUSE_RANK:
        used = rank_words(text, size, verdict, plan, pid);
        break;
    case CAUSE_LEFT:
        used = left_words(text, size, verdict, plan, pid);
        break;
    case CAUSE_HOST:
        used = host_words(text, size, verdict, plan);
        break;
    case CAUSE_SIGNAL:
        used = signal_words(text, size, verdict, elapsed_ms);
        break;
    case CAUSE_JOB:
    case CAUSE_OUTPUT:
    case CAUSE_TIMEOUT:
    case CAUSE_NONE:
        used = snprintf(text, size, "FAILED: %s", verdict->text);
        break;
    }
    if (used < 0 || (size_t)used >= size)
        return;
    add_count(text + used, size - (size_t)used, state);
}
