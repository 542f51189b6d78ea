/* SPDX-License-Identifier: Apache-2.0 */
/* An elastic job as a loop of events and actions; see elastic_driver.h:
 *   event -> elastic_plan -> actions -> job, rendezvous -> events
 * The plan's clock is job_ran_ms(), so that no limit passes while hvdrun is stopped by Ctrl-Z.
 * An action may cause an event before it returns, whose own actions are then done after it. Fails
 * the job as the policy says, and when the rendezvous is out of memory. */
#include "src/hvdrun/elastic_driver.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "src/hvdrun/worker_notifier.h"
#include "src/options/interface_option.h"

#include <stdlib.h>
#include <string.h>

struct elastic_driver {
    uv_loop_t *loop;
    const struct job_setup *setup;
    struct job *job;
    struct rendezvous *rendezvous;
    struct elastic_plan *plan;
    struct discovery *discovery;
    struct worker_notifier *notifier;
    uv_timer_t timer;    /* of elastic_plan_next_ms() */
    bool acting;         /* actions are being done */
    bool said_it_waits;  /* for slots */
    bool said_they_stay; /* and that ranks go on meanwhile */
};

/* ---- actions ---- */

typedef void driver_act_fn(struct elastic_driver *driver, const struct elastic_action *action);

static void driver_start(struct elastic_driver *driver, const struct elastic_action *action)
{
    const struct string_list *interfaces = &driver->setup->options->interfaces;
    char *choice = interface_option_for(interfaces, action->host->name);
    struct job_batch batch = {
        .host = action->host->name,
        .user = action->host->user,
        .interfaces = choice ? choice : "",
        .worker = action->worker,
        .count = action->count,
        .places = action->places,
    };
    for (int i = 0; i < action->count; i++)
        rendezvous_place(driver->rendezvous, action->worker + i, &action->places[i]);
    job_add_batch(driver->job, &batch);
    free(choice);
}

static void driver_intend(struct elastic_driver *driver, const struct elastic_action *action)
{
    struct rendezvous_member *members = xcalloc((size_t)action->count, sizeof *members);
    struct err err = { 0 };
    for (int i = 0; i < action->count; i++)
        members[i] =
            (struct rendezvous_member){ action->members[i].worker, action->members[i].host };
    job_note(driver->job, "the next world has %d rank%s", action->count,
             action->count == 1 ? "" : "s");
    if (rendezvous_intend(driver->rendezvous, members, action->count, &err) < 0)
        job_fail(driver->job, STATUS_RESOURCE, err.text);
    free(members);
}

static void driver_remove(struct elastic_driver *driver, const struct elastic_action *action)
{
    job_note(driver->job, "worker %d on %s is removed", action->worker,
             job_worker_host(driver->job, action->worker));
    job_worker_removed(driver->job, action->worker);
    rendezvous_remove(driver->rendezvous, action->worker);
}

static void driver_stop(struct elastic_driver *driver, const struct elastic_action *action)
{
    job_stop_worker(driver->job, action->worker);
}

static void driver_warn(struct elastic_driver *driver, const struct elastic_action *action)
{
    job_say(driver->job, action->text);
}

static void driver_give_up(struct elastic_driver *driver, const struct elastic_action *action)
{
    job_give_up_worker(driver->job, action->worker, action->text);
}

static void driver_finish(struct elastic_driver *driver, const struct elastic_action *action)
{
    (void)action;
    job_end(driver->job);
}

/* A wait that was too long is hvdrun's own failure; else the last worker that failed is to
 * blame. */
static void driver_fail(struct elastic_driver *driver, const struct elastic_action *action)
{
    bool timed_out =
        action->failure == ELASTIC_TOO_FEW_SLOTS || action->failure == ELASTIC_NO_WORLD;
    if (timed_out || action->worker < 0)
        job_fail(driver->job, STATUS_TIMEOUT, action->text);
    else
        job_fail_worker(driver->job, action->worker, action->text);
}

static driver_act_fn *const driver_acts[] = {
    [ELASTIC_START] = driver_start,   [ELASTIC_INTEND] = driver_intend,
    [ELASTIC_REMOVE] = driver_remove, [ELASTIC_STOP] = driver_stop,
    [ELASTIC_WARN] = driver_warn,     [ELASTIC_GIVE_UP] = driver_give_up,
    [ELASTIC_FINISH] = driver_finish, [ELASTIC_FAIL] = driver_fail,
};

static void driver_say_what_it_waits_for(struct elastic_driver *driver)
{
    const char *text = elastic_plan_waits_for(driver->plan);
    bool stay = elastic_plan_ranks_stay(driver->plan);
    if (text && (!driver->said_it_waits || (driver->said_they_stay && !stay)))
        job_say(driver->job, text);
    driver->said_it_waits = text;
    driver->said_they_stay = text && stay;
}

static void on_driver_time(uv_timer_t *timer);

static void driver_set_timer(struct elastic_driver *driver)
{
    uint64_t next_ms = elastic_plan_next_ms(driver->plan), now_ms = job_ran_ms(driver->job);
    if (next_ms == ELASTIC_NEVER)
        uv_timer_stop(&driver->timer);
    else
        uv_timer_start(&driver->timer, on_driver_time, next_ms > now_ms ? next_ms - now_ms : 0, 0);
}

/* Does all that the policy asks for, until the job is being stopped. An event in between only adds
 * to it. */
static void driver_act(struct elastic_driver *driver)
{
    struct elastic_action action;
    if (driver->acting)
        return;
    driver->acting = true;
    while (!job_is_stopping(driver->job) && elastic_plan_next(driver->plan, &action))
        driver_acts[action.kind](driver, &action);
    driver->acting = false;
    if (job_is_stopping(driver->job)) {
        uv_timer_stop(&driver->timer);
        return;
    }
    driver_say_what_it_waits_for(driver);
    driver_set_timer(driver);
}

/* ---- events ---- */

static void on_driver_time(uv_timer_t *timer)
{
    struct elastic_driver *driver = timer->data;
    elastic_plan_on_time(driver->plan, job_ran_ms(driver->job));
    driver_act(driver);
}

static void on_driver_hosts(void *context, const struct host_list *hosts)
{
    struct elastic_driver *driver = context;
    elastic_plan_on_hosts(driver->plan, hosts, job_ran_ms(driver->job));
    driver_act(driver);
}

static void on_driver_warning(void *context, const char *line)
{
    struct elastic_driver *driver = context;
    job_say(driver->job, line);
}

void elastic_driver_on_gloo(struct elastic_driver *driver, int worker)
{
    elastic_plan_on_fixed_place(driver->plan, worker);
}

struct worker_notifier *elastic_driver_notifier(struct elastic_driver *driver)
{
    return driver->notifier;
}

void elastic_driver_on_waiting(struct elastic_driver *driver, int worker)
{
    elastic_plan_on_waiting(driver->plan, worker, job_ran_ms(driver->job));
    driver_act(driver);
}

void elastic_driver_on_world(struct elastic_driver *driver, int epoch, const int *workers, int size)
{
    worker_notifier_on_world(driver->notifier);
    elastic_plan_on_world(driver->plan, epoch, workers, size, job_ran_ms(driver->job));
    driver_act(driver);
}

void elastic_driver_on_ended(struct elastic_driver *driver, int worker, enum job_worker_end end)
{
    elastic_plan_on_ended(driver->plan, worker, end == JOB_WORKER_FINISHED,
                          job_ran_ms(driver->job));
    driver_act(driver);
}

void elastic_driver_on_late(struct elastic_driver *driver, const int *workers, int count,
                            const char *why)
{
    elastic_plan_on_late(driver->plan, workers, count, why, job_ran_ms(driver->job));
    driver_act(driver);
}

void elastic_driver_on_drained(struct elastic_driver *driver, int worker)
{
    elastic_plan_on_drained(driver->plan, worker, job_ran_ms(driver->job));
    driver_act(driver);
}

/* ---- start and end ---- */

static struct discovery *driver_discover(struct elastic_driver *driver)
{
    static const struct discovery_events events = { on_driver_hosts, on_driver_warning };
    const struct hvdrun_options *options = driver->setup->options;
    if (options->discovery_script)
        return discovery_script_create(driver->loop, job_children(driver->job),
                                       &driver->setup->discovery, 0, &events, driver);
    if (options->hostfile)
        return discovery_hostfile_create(driver->loop, options->hostfile, 0, &events, driver);
    return discovery_fixed_create();
}

struct elastic_driver *elastic_driver_create(uv_loop_t *loop, const struct job_setup *setup,
                                             struct job *job, struct rendezvous *rendezvous)
{
    struct elastic_driver *driver = xcalloc(1, sizeof *driver);
    uv_update_time(loop);
    driver->loop = loop;
    driver->setup = setup;
    driver->job = job;
    driver->rendezvous = rendezvous;
    driver->plan = elastic_plan_create(&setup->elastic, job_ran_ms(job));
    uv_must(uv_timer_init(loop, &driver->timer), "timers");
    driver->timer.data = driver;
    driver->discovery = driver_discover(driver);
    driver->notifier = worker_notifier_create(job);
    on_driver_hosts(driver, &setup->hosts);
    return driver;
}

static void on_driver_closed(uv_handle_t *handle)
{
    struct elastic_driver *driver = handle->data;
    elastic_plan_destroy(driver->plan);
    free(driver);
}

void elastic_driver_destroy(struct elastic_driver *driver)
{
    if (!driver)
        return;
    discovery_destroy(driver->discovery);
    worker_notifier_destroy(driver->notifier);
    uv_close((uv_handle_t *)&driver->timer, on_driver_closed);
}
