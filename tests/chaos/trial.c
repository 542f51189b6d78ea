/* SPDX-License-Identifier: Apache-2.0 */
/* Running a trial; see trial.h. How it is started and cleared away is in trial_job.c. */
#include "tests/chaos/trial.h"

#include "tests/chaos/trial_job.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the moment of a fault is put off because there is no victim; how many looks must find
 * nobody, since whoever forks and ends at once may be missed by one. */
enum { VICTIM_PATIENCE_US = 15000000, CLEAN_LOOKS = 4 };

uint64_t trial_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static struct members members_of(const struct trial *trial, const struct census *census)
{
    const struct trial_setting *setting = trial->setting;
    return (struct members){ census, &setting->testbed, setting->launcher, trial->token,
                             trial->launcher };
}

/* ---- the victims ---- */

/* Those of the same host whom the fault takes along; false if they are not there yet. */
static bool take_along(struct trial *trial, const struct members *members, int host)
{
    if (trial->plan.fault->also == MEMBER_OTHER)
        return true;
    int count = members_list(members, trial->plan.fault->also, host,
                             trial->victims + trial->nvictims, TRIAL_VICTIMS_MAX - trial->nvictims);
    trial->nvictims += count;
    return count > 0;
}

static bool choose_victims(struct trial *trial, const struct members *members)
{
    const struct fault *fault = trial->plan.fault;
    pid_t found[TRIAL_VICTIMS_MAX];
    int count = 0, from = fault->remote_only ? 1 : 0;
    for (int host = from; host == from || host < members->testbed->nhosts; host++)
        count +=
            members_list(members, fault->victim, host, found + count, TRIAL_VICTIMS_MAX - count);
    if (count == 0)
        return false;
    pid_t victim = found[trial->plan.pick % (unsigned)count];
    const struct process *process = census_find(members->census, victim);
    int host = process ? members_host(members, process) : 0;
    trial->host = host;
    trial->outcome.host =
        members->testbed->nhosts ? members->testbed->hosts[host].name : "localhost";
    trial->victims[0] = victim;
    trial->nvictims = 1;
    return take_along(trial, members, host);
}

static void signal_victims(const struct trial *trial, int signum)
{
    for (int i = 0; i < trial->nvictims; i++)
        kill(trial->victims[i], signum);
}

/* While a host is being reached, hvdrun may do again what the fault has ended: a session that ends
 * before the login is like one that MaxStartups has refused, and an installed hvdagent that does
 * not say its version is replaced by a copy. All ranks have come up then, and stay. */
static bool is_replaced(const struct trial *trial, const struct members *members)
{
    const struct plan *plan = &trial->plan;
    pid_t ignored;
    uint64_t bound_us = (uint64_t)oracle_bound_ms(plan, members->testbed->nhosts > 0) * 1000;
    return plan->phase == PHASE_BEGIN && plan->fault->exit_status == 68 && !trial->outcome.ended &&
           trial_now_us() - trial->hit_us > bound_us && trial_job_is_up(trial) &&
           members_list(members, plan->fault->victim, trial->host, &ignored, 1) > 0;
}

static void hit(struct trial *trial)
{
    signal_victims(trial, trial->plan.fault->signum);
    trial->outcome.hit = true;
    trial->state = TRIAL_HIT;
    trial->hit_us = trial_now_us();
    trial->next_us = trial->hit_us + (uint64_t)trial->plan.fault->next[0].after_ms * 1000;
}

/* Whoever was to be the victim never came, or there is another now: the job is stopped in the
 * ordinary way. */
static void miss(struct trial *trial)
{
    trial->missed = true;
    trial->state = TRIAL_HIT;
    trial->hit_us = trial_now_us();
    kill(trial->launcher, SIGTERM);
}

/* ---- the moment ---- */

static bool phase_has_begun(const struct trial *trial, const struct members *members)
{
    pid_t ignored;
    if (trial->plan.phase != PHASE_BEGIN)
        return trial_job_is_up(trial);
    return members_list(members, trial->plan.fault->victim, -1, &ignored, 1) > 0;
}

static void wait_for_moment(struct trial *trial, const struct members *members)
{
    uint64_t now_us = trial_now_us();
    if (trial->plan.fault->victim == MEMBER_OTHER)
        return; /* it ends by itself */
    if (trial->phase_us == 0 && phase_has_begun(trial, members))
        trial->phase_us = now_us;
    if (trial->phase_us == 0 || now_us < trial->phase_us + (uint64_t)trial->plan.delay_us) {
        if (now_us - trial->started_us > VICTIM_PATIENCE_US)
            miss(trial);
        return;
    }
    if (choose_victims(trial, members))
        hit(trial);
    else if (now_us - trial->started_us > VICTIM_PATIENCE_US)
        miss(trial);
}

/* Hits a second victim, which the plan picks among the processes that are left. */
static void hit_again(struct trial *trial, const struct members *members)
{
    if (!trial->plan.fault->again || trial->again || trial->missed || trial->outcome.ended ||
        trial_now_us() < trial->hit_us + (uint64_t)trial->plan.again_us)
        return;
    trial->again = true;
    if (choose_victims(trial, members))
        signal_victims(trial, trial->plan.fault->signum);
}

static void do_next(struct trial *trial)
{
    const struct fault_next *next = &trial->plan.fault->next[trial->next];
    if (trial->missed || next->signum == 0 || trial_now_us() < trial->next_us ||
        trial->outcome.ended)
        return;
    if (next->to == MEMBER_LAUNCHER)
        kill(trial->launcher, next->signum);
    else
        signal_victims(trial, next->signum);
    trial->next++;
    trial->next_us = trial_now_us() + (uint64_t)next[1].after_ms * 1000;
}

/* ---- the end ---- */

static void judge(struct trial *trial, bool alone)
{
    struct outcome *outcome = &trial->outcome;
    uint64_t since_us = trial->hit_us ? trial->hit_us : trial->started_us;
    trial->state = TRIAL_OVER;
    trial->clean_ms =
        (double)((trial->clean_us ? trial->clean_us : trial_now_us()) - since_us) / 1000;
    trial_job_last_line(trial, outcome->last_line, sizeof outcome->last_line);
    outcome->wrong = trial_job_is_wrong(trial);
    outcome->things = trial_job_things(trial);
    if (alone)
        outcome->things += leftovers_look(&trial->setting->leftovers, stdout);
    trial->good = oracle_judge(&trial->plan, trial->setting->launcher, outcome, trial->why);
    if (trial->missed && outcome->ended && outcome->left == 0 && outcome->things == 0)
        trial->good = true;
}

static bool patience_is_over(const struct trial *trial)
{
    uint64_t since_us = trial->hit_us ? trial->hit_us : trial->started_us;
    int limit_ms = oracle_patience_ms(&trial->plan, trial->setting->testbed.nhosts > 0);
    return trial_now_us() - since_us > (uint64_t)limit_ms * 1000;
}

/* After another look. */
static bool is_clean(struct trial *trial)
{
    if (trial->outcome.left > 0) {
        trial->clean_us = 0;
        trial->clean_looks = 0;
        return false;
    }
    if (trial->clean_us == 0)
        trial->clean_us = trial_now_us();
    return ++trial->clean_looks >= (trial->plan.kind->descends ? CLEAN_LOOKS : 1);
}

void trial_step(struct trial *trial, const struct census *census, bool alone)
{
    struct members members = members_of(trial, census);
    if (trial->state == TRIAL_WAITING)
        wait_for_moment(trial, &members);
    if (trial->state == TRIAL_HIT) {
        do_next(trial);
        hit_again(trial, &members);
        if (!trial->missed && is_replaced(trial, &members))
            miss(trial);
    }
    if (!trial->outcome.ended) { /* after the census: whoever has gone may be in it */
        trial->outcome.ended =
            waitpid(trial->launcher, &trial->outcome.wait_status, WNOHANG) == trial->launcher;
        if (!patience_is_over(trial))
            return;
    }
    trial->outcome.left = members_left(&members);
    if (is_clean(trial) || patience_is_over(trial))
        judge(trial, alone);
}

/* ---- before and after ---- */

/* What happens so early that a look at all processes would come too late. */
static void hit_early(struct trial *trial)
{
    const struct fault *fault = trial->plan.fault;
    bool agent = fault->victim == MEMBER_AGENT || fault->also == MEMBER_AGENT;
    pid_t child = agent ? trial_job_first_child(trial) : 0;
    if (agent && child == 0)
        return;
    usleep((useconds_t)trial->plan.delay_us / (agent ? 4 : 1));
    if (fault->victim == MEMBER_LAUNCHER)
        trial->victims[trial->nvictims++] = trial->launcher;
    if (agent)
        trial->victims[trial->nvictims++] = child;
    trial->outcome.host = "localhost";
    hit(trial);
}

bool trial_start(struct trial *trial, struct trial_setting *setting, const struct plan *plan,
                 unsigned long token)
{
    *trial = (struct trial){ .setting = setting, .plan = *plan, .token = token };
    trial->started_us = trial_now_us();
    if (!trial_job_start(trial))
        return false;
    bool early = plan->phase == PHASE_BEGIN &&
                 (plan->fault->victim == MEMBER_LAUNCHER || plan->fault->victim == MEMBER_AGENT);
    bool agent = plan->fault->victim == MEMBER_AGENT || plan->fault->also == MEMBER_AGENT;
    if (early && (!agent || (setting->testbed.nhosts == 0 && setting->launcher->ours)))
        hit_early(trial);
    return true;
}

void trial_finish(struct trial *trial, struct census *census, FILE *log)
{
    if (!trial->good)
        trial_job_show(trial, log);
    struct members members = members_of(trial, census);
    for (int i = 0, clean = trial->good ? CLEAN_LOOKS : 0; i < 200 && clean < CLEAN_LOOKS; i++) {
        if (i == 0)
            members_show(&members, log);
        members_kill(&members);
        usleep(10000);
        trial->outcome.ended |= waitpid(trial->launcher, NULL, WNOHANG) == trial->launcher;
        census_take(census);
        bool gone = members_left(&members) == 0 && trial->outcome.ended;
        clean = gone ? clean + 1 : 0;
    }
    trial_job_remove(trial);
}
