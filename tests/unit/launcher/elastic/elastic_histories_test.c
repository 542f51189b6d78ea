/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs in random histories: hosts come, go and are drained, workers arrive
 * late, hang, fail and finish in any order, and the time passes in leaps. The model of a rendezvous
 * and of processes below does what the policy asks for, and checks with each action that
 *   no dead or removed worker is intended, and none twice;
 *   a world has at most `max` ranks, and with those that have finished at least `min`;
 *   ranks of a host stand together, hosts and workers in order of their first world and age;
 *   a host never has more processes than slots when workers are started, one less as long as a
 *   failure there is not cool, and none as long as it is drained;
 *   a worker is given up only if it has had the time to come, and counts for its host then;
 *   members of a whole world that hang are given up together, and the other members stay;
 *   a member that does not come to the next world is given up only if another has waited for it for
 *   the shutdown time;
 *   there are not more worlds than the limit of resets allows;
 *   the job ends once nothing happens any more, without a worker that waits for ever.
 * ELASTIC_SEEDS and ELASTIC_FIRST choose other histories. */
#include "launcher/elastic/elastic_plan.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS = 5, WORKERS = 4096, STEPS = 300, CALM_STEPS = 20000 };

struct process {
    int host;
    bool alive, pending, in_world, removed, told; /* told: the process may end because of it */
    bool hangs;
    int since; /* its first world; INT_MAX: none yet */
    uint64_t started_ms, pending_ms;
};

struct model {
    uint64_t random;
    unsigned seed;
    struct elastic_options options;
    struct elastic_plan *plan;
    uint64_t now_ms;
    int slots[HOSTS];
    uint64_t failed_ms[HOSTS];  /* the last failure; 0: none */
    uint64_t drained_ms[HOSTS]; /* when it was drained; 0: it was not */
    struct process processes[WORKERS];
    int process_count;
    int intended[WORKERS], intended_count;
    int world[WORKERS], world_size;
    bool broken, intention_open;
    bool naming; /* the policy hears which members hang */
    int epoch, finished;
    bool over, done;
    unsigned given_up, hung, absent;
};

static struct model m;

static unsigned draw(unsigned below)
{
    m.random = m.random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(m.random >> 33) % below;
}

#define PROMISE(condition, ...)                                                                    \
    do {                                                                                           \
        char text_[160];                                                                           \
        snprintf(text_, sizeof text_, __VA_ARGS__);                                                \
        ck_assert_msg(condition, "seed %u, at %llu ms: %s", m.seed, (unsigned long long)m.now_ms,  \
                      text_);                                                                      \
    } while (0)

static int host_index(const char *name)
{
    return name[0] - 'a';
}

/* ---- what the policy asks for ---- */

/* Not cool since then. */
static bool model_is_hot(uint64_t since_ms)
{
    return since_ms > 0 &&
           (m.options.cooldown_low_ms == 0 || m.now_ms < since_ms + m.options.cooldown_low_ms);
}

static void model_start(const struct elastic_action *action)
{
    int host = host_index(action->host->name), busy = 0, alive = 0;
    PROMISE(action->worker == m.process_count, "numbers ascend");
    PROMISE(m.finished == 0, "nothing is started once a worker has finished");
    for (int i = 0; i < m.process_count; i++) {
        busy += m.processes[i].alive && m.processes[i].host == host;
        alive += m.processes[i].alive && !m.processes[i].removed;
    }
    bool hot = model_is_hot(m.failed_ms[host]);
    PROMISE(!model_is_hot(m.drained_ms[host]), "%c is drained", 'a' + host);
    PROMISE(busy + action->count <= m.slots[host] - hot, "%d on %c with %d slots, %s",
            busy + action->count, 'a' + host, m.slots[host], hot ? "hot" : "cool");
    PROMISE(alive + action->count <= m.options.max, "at most %d live", m.options.max);
    PROMISE(m.process_count + action->count <= WORKERS, "enough numbers");
    for (int i = 0; i < action->count; i++) {
        PROMISE(action->places[i].rank < action->places[i].size, "a place in a world");
        m.processes[m.process_count++] = (struct process){
            .host = host, .alive = true, .since = INT_MAX, .started_ms = m.now_ms
        };
    }
}

/* Has `worker` been in worlds for longer than `other`, or is it older? */
static bool is_before(int worker, int other)
{
    int since = m.processes[worker].since, other_since = m.processes[other].since;
    return since != other_since ? since < other_since : worker < other;
}

static int first_of_host(const struct elastic_action *action, int host)
{
    int first = -1;
    for (int i = 0; i < action->count; i++) {
        int worker = action->members[i].worker;
        if (m.processes[worker].host == host && (first < 0 || is_before(worker, first)))
            first = worker;
    }
    return first;
}

static void check_order(const struct elastic_action *action)
{
    for (int i = 1; i < action->count; i++) {
        int before = action->members[i - 1].worker, after = action->members[i].worker;
        int host_before = m.processes[before].host, host_after = m.processes[after].host;
        if (host_before == host_after)
            PROMISE(is_before(before, after), "%d before %d", after, before);
        else
            PROMISE(
                is_before(first_of_host(action, host_before), first_of_host(action, host_after)),
                "the host of %d is before that of %d", after, before);
    }
}

static void model_intend(const struct elastic_action *action)
{
    PROMISE(action->count <= m.options.max, "%d ranks", action->count);
    PROMISE(action->count + m.finished >= m.options.min, "only %d ranks", action->count);
    PROMISE(m.options.reset_limit == 0 || m.epoch <= m.options.reset_limit, "%d resets", m.epoch);
    bool survivor = m.epoch == 0;
    for (int i = 0; i < action->count; i++) {
        int worker = action->members[i].worker;
        PROMISE(m.processes[worker].alive && !m.processes[worker].removed, "%d is dead", worker);
        PROMISE(host_index(action->members[i].host) == m.processes[worker].host, "its host");
        m.intended[i] = worker;
        for (int j = 0; j < m.world_size; j++)
            survivor = survivor || m.world[j] == worker;
    }
    PROMISE(survivor, "nobody of the last world is intended");
    check_order(action);
    m.intended_count = action->count;
    m.intention_open = true;
}

static bool model_is_member(int worker)
{
    for (int i = 0; i < m.world_size; i++)
        if (m.world[i] == worker)
            return true;
    return false;
}

/* How long the first of the members that wait for the next world has waited. */
static uint64_t model_waited_ms(void)
{
    uint64_t waited_ms = 0;
    for (int i = 0; i < m.world_size; i++) {
        const struct process *at = &m.processes[m.world[i]];
        if (at->pending && !at->removed && m.now_ms - at->pending_ms > waited_ms)
            waited_ms = m.now_ms - at->pending_ms;
    }
    return waited_ms;
}

/* Its process still runs. */
static void model_give_up(const struct elastic_action *action)
{
    const struct process *at = &m.processes[action->worker];
    PROMISE(at->alive && !at->removed, "%d is dead", action->worker);
    PROMISE(action->text[0], "a loss has a text");
    m.failed_ms[at->host] = m.now_ms;
    if (at->hangs) {
        m.hung++;
        m.absent += !m.naming;
        return;
    }
    if (model_is_member(action->worker)) {
        PROMISE(!at->pending && m.options.shutdown_ms > 0, "%d waits", action->worker);
        PROMISE(model_waited_ms() >= m.options.shutdown_ms, "%d has time", action->worker);
        m.absent++;
        return;
    }
    PROMISE(m.epoch > 0 && at->since == INT_MAX && !at->pending, "%d has come", action->worker);
    PROMISE(m.now_ms >= at->started_ms + m.options.timeout_ms, "%d has time", action->worker);
    m.given_up++;
}

static void model_end(const struct elastic_action *action)
{
    m.over = true;
    m.done = action->kind == ELASTIC_FINISH;
    if (m.done)
        PROMISE(m.finished >= m.options.min, "done with %d", m.finished);
    else
        PROMISE(action->text[0], "a failure has a text");
}

static void model_act(void)
{
    struct elastic_action action;
    while (elastic_plan_next(m.plan, &action)) {
        PROMISE(!m.over, "nothing follows the end");
        switch (action.kind) {
        case ELASTIC_START:
            model_start(&action);
            break;
        case ELASTIC_INTEND:
            model_intend(&action);
            break;
        case ELASTIC_REMOVE:
            PROMISE(m.processes[action.worker].alive, "%d is dead", action.worker);
            PROMISE(!m.naming || m.processes[action.worker].hangs ||
                        !model_is_member(action.worker),
                    "%d goes because others hang", action.worker);
            m.processes[action.worker].removed = true;
            break;
        case ELASTIC_STOP:
            PROMISE(m.processes[action.worker].removed, "%d was not removed", action.worker);
            m.processes[action.worker].told = true;
            break;
        case ELASTIC_WARN:
            break;
        case ELASTIC_GIVE_UP:
            model_give_up(&action);
            break;
        case ELASTIC_FINISH:
        case ELASTIC_FAIL:
            model_end(&action);
        }
    }
}

/* ---- what happens ---- */

/* All intended workers wait and have left their world: they are the next one. */
static void model_form(void)
{
    if (!m.intention_open)
        return;
    for (int i = 0; i < m.intended_count; i++) {
        const struct process *at = &m.processes[m.intended[i]];
        if (!at->alive || !at->pending || at->in_world)
            return;
    }
    memcpy(m.world, m.intended, sizeof m.world);
    m.world_size = m.intended_count;
    for (int i = 0; i < m.process_count; i++)
        m.processes[i].in_world = false;
    for (int i = 0; i < m.world_size; i++) {
        m.processes[m.world[i]].in_world = true;
        m.processes[m.world[i]].pending = false;
        if (m.processes[m.world[i]].since == INT_MAX)
            m.processes[m.world[i]].since = m.epoch;
    }
    m.broken = m.intention_open = false;
    elastic_plan_on_world(m.plan, m.epoch++, m.world, m.world_size, m.now_ms);
    model_act();
}

static void model_hosts(void)
{
    struct host_slots found[HOSTS];
    struct host_list list = { .hosts = found };
    static char *const names[HOSTS] = { "a", "b", "c", "d", "e" };
    for (int host = 0; host < HOSTS; host++)
        if (m.slots[host] > 0)
            found[list.count++] =
                (struct host_slots){ .name = names[host], .slots = m.slots[host] };
    elastic_plan_on_hosts(m.plan, &list, m.now_ms);
    model_act();
}

static void model_change_hosts(void)
{
    for (int i = 0; i < 1 + (int)draw(2); i++)
        m.slots[draw(HOSTS)] = (int)draw(5);
    model_hosts();
}

static void model_end_process(int worker, bool finished)
{
    struct process *at = &m.processes[worker];
    bool counts = model_is_member(worker) || m.epoch == 0;
    at->alive = at->pending = false;
    if (at->in_world && !finished)
        m.broken = true;
    if (!at->removed && finished && counts)
        m.finished++;
    if (!at->removed && !(finished && counts))
        m.failed_ms[at->host] = m.now_ms;
    elastic_plan_on_ended(m.plan, worker, finished, m.now_ms);
    model_act();
}

/* Some members of a whole world hang, for so long that another one names them, or the first. */
static void model_hang(void)
{
    int named[WORKERS], count = 0;
    for (int i = 0; i < m.world_size; i++)
        if (!m.processes[m.world[i]].in_world || m.processes[m.world[i]].removed)
            return;
    for (int i = 0; i < m.world_size - 1; i++)
        if (m.processes[m.world[i]].alive && draw(3) == 0)
            named[count++] = m.world[i];
    for (int i = 0; i < count; i++)
        m.processes[named[i]].hangs = true;
    m.broken = m.naming = count > 0;
    if (m.options.shutdown_ms > 0 && count > 1 && draw(2))
        count = 1;
    elastic_plan_on_late(m.plan, named, count, "hangs", m.now_ms);
    model_act();
    m.naming = false;
    for (int i = 0; i < count && !m.over; i++)
        PROMISE(m.processes[named[i]].removed && m.processes[named[i]].told, "%d stays", named[i]);
}

static void model_drain(int host, int worker)
{
    m.drained_ms[host] = m.now_ms;
    elastic_plan_on_drained(m.plan, worker, m.now_ms);
    model_act();
}

/* A process says HELLO: a new one at any time, a member after its world is over or outdated. */
static void model_come(int worker)
{
    struct process *at = &m.processes[worker];
    if (!at->alive || at->pending || at->hangs)
        return;
    if (at->in_world && !m.broken && !m.intention_open && draw(50) > 0)
        return;
    if (at->in_world)
        m.broken = true; /* the others cannot go on without it */
    at->in_world = false;
    if (at->removed) {
        model_end_process(worker, draw(2));
        return;
    }
    at->pending = true;
    at->pending_ms = m.now_ms;
    elastic_plan_on_waiting(m.plan, worker, m.now_ms);
    model_act();
    model_form();
}

static void model_pass(void)
{
    uint64_t next_ms = elastic_plan_next_ms(m.plan);
    if (next_ms != ELASTIC_NEVER && draw(2)) {
        PROMISE(next_ms >= m.now_ms, "a deadline is not in the past");
        m.now_ms = next_ms;
    } else {
        m.now_ms += 1 + draw(500);
    }
    elastic_plan_on_time(m.plan, m.now_ms);
    model_act();
}

static int model_some_worker(void)
{
    return m.process_count > 0 ? (int)draw((unsigned)m.process_count) : -1;
}

static void model_step(void)
{
    int worker = model_some_worker();
    unsigned what = draw(100);
    if (what < 6) {
        model_change_hosts();
    } else if (what < 16) {
        model_pass();
    } else if (worker < 0 || !m.processes[worker].alive) {
        return;
    } else if (what < 20) {
        model_end_process(worker, false);
    } else if (what < 21 && draw(4) == 0) {
        model_end_process(worker, true);
    } else if (what < 22 && draw(3) == 0) {
        model_drain(m.processes[worker].host, worker);
    } else if (what < 24 && !m.broken && m.epoch > 0) {
        model_hang();
    } else {
        model_come(worker);
    }
    if (!m.over)
        model_form();
}

/* Everybody does what is asked for, and then finishes. */
static void model_calm_down(void)
{
    for (int step = 0; step < CALM_STEPS && !m.over; step++) {
        bool moved = false;
        for (int i = 0; i < m.process_count && !m.over; i++) {
            struct process *at = &m.processes[i];
            if (!at->alive || at->pending || (at->hangs && !at->told))
                continue;
            if (at->told || (at->removed && !at->in_world)) {
                model_end_process(i, true);
            } else if (!at->in_world || m.broken || m.intention_open) {
                model_come(i);
            } else {
                model_end_process(i, true);
            }
            moved = true;
        }
        if (!m.over && !moved) {
            uint64_t next_ms = elastic_plan_next_ms(m.plan);
            PROMISE(next_ms != ELASTIC_NEVER, "the job waits for ever");
            m.now_ms = next_ms > m.now_ms ? next_ms : m.now_ms;
            elastic_plan_on_time(m.plan, m.now_ms);
            model_act();
        }
    }
    PROMISE(m.over, "the job does not end");
}

static void one_history(unsigned seed)
{
    memset(&m, 0, sizeof m);
    m.seed = seed;
    m.random = seed * 0x9e3779b97f4a7c15ULL;
    draw(1);
    m.now_ms = 1 + draw(1000);
    m.options.min = 1 + (int)draw(3);
    m.options.np = m.options.min + (int)draw(3);
    m.options.max = m.options.np + (int)draw(4);
    m.options.timeout_ms = 5000 + draw(60000);
    m.options.warning_ms = draw(2) ? 0 : 1 + draw(5000);
    m.options.shutdown_ms = draw(2) ? 0 : m.options.warning_ms + 1 + draw(5000);
    m.options.reset_limit = draw(3) ? 0 : 1 + (int)draw(3);
    if (draw(2)) {
        m.options.cooldown_low_ms = 100 + draw(1000);
        m.options.cooldown_high_ms = m.options.cooldown_low_ms * (1 + draw(5));
    }
    m.plan = elastic_plan_create(&m.options, m.now_ms);
    for (int host = 0; host < HOSTS; host++)
        m.slots[host] = (int)draw(4);
    model_hosts();
    for (int step = 0; step < STEPS && !m.over; step++)
        model_step();
    model_calm_down();
    elastic_plan_destroy(m.plan);
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

START_TEST(in_any_history_the_promises_hold)
{
    unsigned first = from_environment("ELASTIC_FIRST", 1);
    unsigned seeds = from_environment("ELASTIC_SEEDS", 3000), done = 0, worlds = 0;
    unsigned given_up = 0, hung = 0, absent = 0;
    for (unsigned seed = first; seed < first + seeds; seed++) {
        one_history(seed);
        done += m.done;
        worlds += (unsigned)m.epoch;
        given_up += m.given_up;
        hung += m.hung;
        absent += m.absent;
    }
    if (seeds >= 1000) {
        ck_assert_uint_gt(done, seeds / 50); /* the histories are not all failures */
        ck_assert_uint_gt(worlds, seeds);
        ck_assert_uint_gt(given_up, 0);
        ck_assert_uint_gt(hung, seeds / 10);
        ck_assert_uint_gt(absent, seeds / 20);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_histories");
    TCase *tcase = tcase_create("histories");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, in_any_history_the_promises_hold);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
