/* SPDX-License-Identifier: Apache-2.0 */
/* The table of cleanup.h, and one check by it. Never fails: a process that cannot be killed is
 * counted. */
#include "launcher/cleanup/cleanup.h"

#include "launcher/cleanup/orphans.h"
#include "launcher/process/process_tree.h"

#include <signal.h>

/* The most time that counts between two checks: for the rest, this process was frozen or
 * stopped. */
enum { STEP_MAX_MS = 100 };

static int signal_descendants(int signum, const struct cleanup_search *search)
{
    return process_tree_signal(signum, search->spared, search->nspared);
}

static int signal_by_environment(int signum, const struct cleanup_search *search)
{
    return orphans_signal(signum, search->variables);
}

static const struct cleanup_rule {
    int (*signal)(int signum, const struct cleanup_search *search);
    uint32_t ask_ms;  /* time between SIGTERM and SIGKILL; 0: SIGKILL at once */
    uint32_t kill_ms; /* time from the first SIGKILL until the cleanup gives up */
    int clean_checks; /* consecutive checks without a process that end the cleanup; 0: the caller
                       * knows by waitpid() */
} rules[CLEANUP_CASES] = {
    [CLEANUP_REMOTE_AGENT] = { signal_descendants, 0, 5000, 0 },
    [CLEANUP_LOCAL_AGENT] = { signal_descendants, 0, 2000, 1 },
    [CLEANUP_AGENT_AND_SUPERVISOR] = { signal_by_environment, 0, 2000, 4 },
    [CLEANUP_HVDRUN] = { signal_by_environment, 3000, 2000, 4 }, /* agents end by themselves */
};

void cleanup_start(struct cleanup *cleanup, enum cleanup_case which, uint64_t now_ms)
{
    *cleanup = (struct cleanup){ .which = which, .checked_ms = now_ms };
}

/* The signal of this check; 0 only counts. */
static int choose_cleanup_signal(struct cleanup *cleanup, const struct cleanup_rule *rule)
{
    if (cleanup->spent_ms >= rule->ask_ms)
        return SIGKILL;
    int signum = cleanup->asked ? 0 : SIGTERM;
    cleanup->asked = true;
    return signum;
}

bool cleanup_check(struct cleanup *cleanup, const struct cleanup_search *search, uint64_t now_ms)
{
    const struct cleanup_rule *rule = &rules[cleanup->which];
    uint64_t step_ms = now_ms - cleanup->checked_ms;
    cleanup->spent_ms += step_ms < STEP_MAX_MS ? step_ms : STEP_MAX_MS;
    cleanup->checked_ms = now_ms;
    cleanup->left = rule->signal(choose_cleanup_signal(cleanup, rule), search);
    cleanup->clean_checks = cleanup->left > 0 ? 0 : cleanup->clean_checks + 1;
    bool clean = rule->clean_checks > 0 && cleanup->clean_checks >= rule->clean_checks;
    return !clean && cleanup->spent_ms < rule->ask_ms + rule->kill_ms;
}
