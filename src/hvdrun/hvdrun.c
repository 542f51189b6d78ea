/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun: starts the ranks of a job on their hosts and stays with them until the last has ended.
 *
 *   options -> hosts -> plan -> rendezvous -> job -> loop -> exit status
 *
 * A mistake of the user ends hvdrun here with one line and status 2, before anything is started. */
#include "launcher/base/exit_status.h"
#include "launcher/base/private_memory.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/cleanup/command_guard.h"
#include "launcher/job/job.h"
#include "launcher/placement/rank_plan.h"
#include "lib/base/env_names.h"
#include "src/hvdrun/check_hosts.h"
#include "src/hvdrun/elastic_driver.h"
#include "src/hvdrun/hvdrun_options.h"
#include "src/hvdrun/install_path.h"
#include "src/hvdrun/job_rendezvous.h"
#include "src/hvdrun/job_setup.h"
#include "src/hvdrun/loop_leave.h"
#include "src/hvdrun/own_agent.h"
#include "src/hvdrun/rank_settings.h"
#include "src/hvdrun/report_file.h"
#include "src/hvdrun/report_json.h"
#include "src/hvdrun/self_stop.h"
#include "src/hvdrun/setup_signals.h"
#include "src/hvdrun/status_port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };

enum { WATCHED = sizeof watched / sizeof *watched };

/* The resources of one run of hvdrun; released in reverse. */
struct run {
    struct hvdrun_options options;
    struct job_setup setup;
    int argc;
    char **argv;
    bool closed[3]; /* stdin, stdout, stderr were closed when hvdrun was started */
    uv_loop_t loop;
    uv_signal_t signals[WATCHED];
    struct self_stop self_stop; /* SIGTSTP */
    bool finished;              /* the job is over */
    struct report_file report;
    struct running_agent own_agent;
    struct job_rendezvous *rendezvous;
    struct status_port status_port;
    struct job *job;
    struct elastic_driver *elastic; /* of an elastic job; NULL otherwise */
    struct command_guard guard;
    int exit_status;
};

/* Opens closed descriptors 0, 1 and 2, which would otherwise be given to the next file that is
 * opened. */
static void fill_stdio(struct run *run)
{
    for (int fd = 0; fd < 3; fd++) {
        run->closed[fd] = fcntl(fd, F_GETFD) < 0;
        if (run->closed[fd])
            open("/dev/null", (fd == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
    }
}

/* Prints a requested text. */
static int print(const struct run *run, const char *text)
{
    if (run->closed[1])
        errno = EBADF;
    if (run->closed[1] || fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "hvdrun: error: stdout: %s\n", strerror(errno));
        return STATUS_OUTPUT_LOST;
    }
    return EXIT_SUCCESS;
}

/* Prints the text, and frees it. */
static int print_made(const struct run *run, char *text)
{
    int status = print(run, text);
    free(text);
    return status;
}

/* These signals cancel a stop that has not happened yet. */
static bool ends_the_job(int signum)
{
    return signum == SIGINT || signum == SIGTERM || signum == SIGHUP;
}

static void ask_ranks(struct run *run)
{
    if (run->options.elastic)
        job_say_world(run->job);
    if (run->options.attributes.stack_traces)
        job_say_stacks(run->job);
    else
        job_rendezvous_ask(run->rendezvous);
}

static void on_hvdrun_signal(uv_signal_t *handle, int signum)
{
    struct run *run = handle->data;
    if (run->finished)
        return;
    if (ends_the_job(signum))
        self_stop_drop(&run->self_stop);
    if (signum == SIGUSR2)
        ask_ranks(run);
    else
        job_signal(run->job, signum);
    if (signum == SIGCONT)
        self_stop_listen(&run->self_stop);
}

static void on_stop_asked(void *context)
{
    struct run *run = context;
    job_signal(run->job, SIGTSTP);
}

static void on_suspended(void *context)
{
    struct run *run = context;
    self_stop_now(&run->self_stop);
}

/* SIGHUP stays ignored if it was, as nohup requires. */
static void hvdrun_watch_signals(struct run *run)
{
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < WATCHED; i++) {
        uv_must(uv_signal_init(&run->loop, &run->signals[i]), "signals");
        run->signals[i].data = run;
        if (watched[i] != SIGHUP || hup.sa_handler != SIG_IGN)
            uv_must(uv_signal_start(&run->signals[i], on_hvdrun_signal, watched[i]), "signals");
    }
    setup_signals_release();
    self_stop_open(&run->self_stop, &run->loop, on_stop_asked, run);
}

/* SIGUSR1 and SIGUSR2 ask a question. They may come too late, which must not change how hvdrun
 * ends. */
static bool is_question(int signum)
{
    return signum == SIGUSR1 || signum == SIGUSR2;
}

/* The job is over: the handlers of questions stay, but do nothing, as long as there are threads. */
static void stop_watching(struct run *run)
{
    run->finished = true;
    self_stop_close(&run->self_stop);
    for (int i = 0; i < WATCHED; i++) {
        if (is_question(watched[i]))
            uv_unref((uv_handle_t *)&run->signals[i]);
        else
            uv_close((uv_handle_t *)&run->signals[i], NULL);
    }
}

/* Closing a handler restores the default, which would kill hvdrun: the only thread that is left
 * blocks the signals until they are ignored. */
static void ignore_questions(struct run *run)
{
    sigset_t questions, before;
    sigemptyset(&questions);
    sigaddset(&questions, SIGUSR1);
    sigaddset(&questions, SIGUSR2);
    sigprocmask(SIG_BLOCK, &questions, &before);
    for (int i = 0; i < WATCHED; i++)
        if (is_question(watched[i]))
            uv_close((uv_handle_t *)&run->signals[i], NULL);
    uv_run(&run->loop, UV_RUN_NOWAIT);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* HVD_OK or a status and `err`, which names the option. */
static int write_report(struct run *run, const struct job_report *report, struct err *err)
{
    char *json = report_json(report);
    if (!json)
        return fail(err, HVD_ERR_NOMEM, "--report: out of memory");
    char *text = xasprintf("%s%s", report->amid_line ? "\n" : "", json);
    int rc = report_file_write(&run->report, text, strlen(text), err);
    free(text);
    free(json);
    return rc == HVD_OK ? rc : fail_context(err, "--report");
}

static int on_hvdrun_report(void *context, const struct job_report *report, struct err *err)
{
    struct run *run = context;
    return run->options.report ? write_report(run, report, err) : HVD_OK;
}

/* Writes the report of a job that failed before it was created. --check-hosts has no report. */
static void report_failure(struct run *run, int exit_status, const char *text)
{
    struct job_report report;
    struct err err = { 0 };
    if (run->report.fd < 0)
        return;
    job_report_init(&report, &run->setup.plan, run->setup.id, run->setup.epoch_ms, 1);
    report.exit_status = exit_status;
    report.cause = CAUSE_JOB;
    snprintf(report.text, sizeof report.text, "error: %s", text);
    if (write_report(run, &report, &err) < 0)
        fprintf(stderr, "hvdrun: warning: %s\n", err.text);
    job_report_fini(&report);
}

static void on_finished(void *context, int exit_status)
{
    struct run *run = context;
    run->exit_status = exit_status;
    stop_watching(run);
    elastic_driver_destroy(run->elastic);
    job_rendezvous_destroy(run->rendezvous);
    status_port_drain(&run->status_port);
    job_destroy(run->job);
    loop_leave(&run->loop);
}

/* Called before anything is started. */
static int open_status_port(struct run *run, struct err *err)
{
    const struct hvdrun_options *options = &run->options;
    if (!options->status_page && options->status_port == 0 && options->status_fd == 0)
        return HVD_OK;
    int rc = status_port_open(&run->status_port, &run->loop, options->status_port,
                              job_rendezvous_itself(run->rendezvous), err);
    if (rc < 0)
        return fail_context(err, options->status_port ? "--status-port" : "--status-page");
    if (options->status_fd != 0)
        rc = status_port_tell(&run->status_port, options->status_fd, err);
    return rc < 0 ? fail_context(err, "--status-fd") : HVD_OK;
}

static void say_status_port(const struct run *run)
{
    char line[80];
    if (!run->status_port.port || run->options.status_fd != 0)
        return;
    snprintf(line, sizeof line, "status page: http://127.0.0.1:%d/",
             tcp_port_number(run->status_port.port));
    job_say(run->job, line);
}

/* Destroys the rendezvous after everything that uses it. */
static int give_up_start(struct run *run, int exit_status)
{
    job_rendezvous_destroy(run->rendezvous);
    status_port_close(&run->status_port);
    return exit_status;
}

static void on_gloo_worker(void *context, int worker)
{
    struct run *run = context;
    elastic_driver_on_gloo(run->elastic, worker);
}

static void on_gloo_listens(void *context, int worker, const char *text, size_t length)
{
    struct run *run = context;
    worker_notifier_on_listens(elastic_driver_notifier(run->elastic), worker, text, length);
}

static void on_gloo_update(void *context, int worker)
{
    struct run *run = context;
    worker_notifier_on_update(elastic_driver_notifier(run->elastic), worker);
}

static void on_run_exchanged(void *context, uint32_t id, int error, const void *answer,
                             size_t length)
{
    struct run *run = context;
    if (run->elastic)
        worker_notifier_on_exchanged(elastic_driver_notifier(run->elastic), id, error, answer,
                                     length);
}

static void on_worker_waiting(void *context, int worker)
{
    struct run *run = context;
    elastic_driver_on_waiting(run->elastic, worker);
}

static void on_world_made(void *context, int epoch, const int *workers, int size)
{
    struct run *run = context;
    elastic_driver_on_world(run->elastic, epoch, workers, size);
}

static void on_worker_ended(void *context, int worker, enum job_worker_end end)
{
    struct run *run = context;
    elastic_driver_on_ended(run->elastic, worker, end);
}

static void on_workers_late(void *context, const int *workers, int count, const char *why)
{
    struct run *run = context;
    elastic_driver_on_late(run->elastic, workers, count, why);
}

static void on_host_drained(void *context, int worker)
{
    struct run *run = context;
    elastic_driver_on_drained(run->elastic, worker);
}

/* No worker says HELLO before the loop runs. */
static void start_elastic(struct run *run)
{
    static const struct job_rendezvous_events events = { .on_gloo = on_gloo_worker,
                                                         .on_listens = on_gloo_listens,
                                                         .on_update = on_gloo_update,
                                                         .on_waiting = on_worker_waiting,
                                                         .on_world = on_world_made,
                                                         .on_late = on_workers_late };
    if (!run->options.elastic)
        return;
    run->elastic = elastic_driver_create(&run->loop, &run->setup, run->job,
                                         job_rendezvous_itself(run->rendezvous));
    job_rendezvous_listen(run->rendezvous, &events, run);
}

/* Starts the rendezvous, then the job that uses it. 0 or an exit status, and `err`. */
static int start_job(struct run *run, struct err *err)
{
    const struct job_options *options = &run->setup.job;
    run->rendezvous = job_rendezvous_create(&run->loop, options, &run->setup.key, err);
    if (!run->rendezvous)
        return STATUS_RESOURCE;
    if (open_status_port(run, err) < 0)
        return give_up_start(run, STATUS_RESOURCE);
    struct job_rendezvous_interface rendezvous = job_rendezvous_interface(run->rendezvous);
    static const struct job_callbacks callbacks = { .on_report = on_hvdrun_report,
                                                    .on_finished = on_finished,
                                                    .on_suspended = on_suspended,
                                                    .on_worker_ended = on_worker_ended,
                                                    .on_drained = on_host_drained,
                                                    .on_exchanged = on_run_exchanged };
    run->job = job_create(&run->loop, options, &rendezvous, &callbacks, run, err);
    if (!run->job) {
        fail_context(err, "--output-filename: cannot create");
        return give_up_start(run, STATUS_CANNOT_CREATE);
    }
    job_rendezvous_attach(run->rendezvous, run->job);
    say_status_port(run);
    start_elastic(run);
    return 0;
}

/* Prints the failure in one line. */
static int hvdrun_refuse(int exit_status, const struct err *err)
{
    fprintf(stderr, "hvdrun: error: %s\n", err->text);
    return exit_status;
}

static int run_job(struct run *run)
{
    struct err err = { 0 };
    uv_must(uv_loop_init(&run->loop), "event loop");
    hvdrun_watch_signals(run);
    int failed = start_job(run, &err);
    if (failed) {
        report_failure(run, failed, err.text);
        run->exit_status = hvdrun_refuse(failed, &err);
        stop_watching(run);
        loop_leave(&run->loop);
    }
    uv_run(&run->loop, UV_RUN_DEFAULT);
    status_port_close(&run->status_port);
    ignore_questions(run);
    loop_close(&run->loop);
    return run->exit_status;
}

static int try_hosts(struct run *run)
{
    int exit_status;
    int printed = print_made(run, check_hosts(&run->setup.job, &exit_status));
    return exit_status ? exit_status : printed;
}

static void say_each_warning(const struct string_list *warnings)
{
    for (size_t i = 0; i < warnings->count; i++)
        fprintf(stderr, "hvdrun: warning: %s\n", warnings->items[i]);
}

/* --verbose, or --log-level info and below. */
static bool says_info(const struct hvdrun_options *options)
{
    static const char *const levels[] = { "info", "debug", "trace" };
    const char *level = rank_settings_variable(&options->set, ENV_LOG_LEVEL);
    bool info = options->verbose;
    for (size_t i = 0; level && i < sizeof levels / sizeof *levels; i++)
        info |= strcasecmp(level, levels[i]) == 0;
    return info;
}

static void say_warnings(const struct hvdrun_options *options, const struct job_setup *setup)
{
    say_each_warning(&options->warnings);
    say_each_warning(&setup->warnings);
    for (size_t i = 0; options->verbose && i < options->notes.count; i++)
        fprintf(stderr, "hvdrun: %s\n", options->notes.items[i]);
    if (says_info(options) && job_setup_has_other_hosts(setup))
        fprintf(stderr, "hvdrun: %s\n", setup->launcher.why);
}

/* Called before anything is started. */
static int open_report(struct run *run, struct err *err)
{
    if (!run->options.report || run->options.check_hosts)
        return HVD_OK;
    int rc = report_file_open(&run->report, run->options.report, run->closed, err);
    return rc == HVD_OK ? rc : fail_context(err, "--report: cannot create");
}

/* The hosts are not known: the user's mistake, or a signal while they were asked for. */
static int hvdrun_refuse_plan(const struct job_setup *setup, const struct err *err)
{
    if (setup->stopped_by == 0)
        return hvdrun_refuse(STATUS_USAGE, err);
    fprintf(stderr, "hvdrun: %s\n", err->text);
    return STATUS_SIGNAL + setup->stopped_by;
}

/* From checked options to an exit status. */
static int hvdrun_act(struct run *run)
{
    struct err err = { 0 };
    struct job_setup *setup = &run->setup;
    bool asks_for_hosts = run->options.discovery_script;
    setup_signals_start();
    if (job_setup_begin(setup, &run->options, &err) < 0)
        return hvdrun_refuse(STATUS_RESOURCE, &err);
    if (asks_for_hosts) {
        setup_signals_hold(); /* the guard is to ignore them, and has the handlers until then */
        command_guard_start(&run->guard, setup->id);
        setup_signals_release();
    }
    if (job_setup_plan(setup, &err) < 0)
        return hvdrun_refuse_plan(setup, &err);
    if (run->options.dry_run)
        return print_made(run, rank_plan_table(&setup->plan));
    setup_signals_hold();
    if (open_report(run, &err) < 0)
        return hvdrun_refuse(STATUS_CANNOT_CREATE, &err);
    say_warnings(&run->options, setup);
    own_agent_start(&run->own_agent, setup, run->argc, run->argv);
    int failed = job_setup_finish(setup, &run->own_agent, run->closed, &err);
    if (failed) {
        report_failure(run, failed, err.text);
        return hvdrun_refuse(failed, &err);
    }
    setup->job.report_fd = run->report.own > 0 ? run->report.own : 0;
    if (!asks_for_hosts && job_setup_needs_command(setup))
        command_guard_start(&run->guard, setup->id);
    return run->options.check_hosts ? try_hosts(run) : run_job(run);
}

/* Before hvdrun opens descriptors itself: one of them could get the number. */
static int check_status_fd(int fd, struct err *err)
{
    if (fd != 0 && fcntl(fd, F_GETFD) < 0)
        return fail(err, HVD_ERR_INVALID, "--status-fd: descriptor %d is not open", fd);
    return HVD_OK;
}

int main(int argc, char **argv)
{
    /* Static because of its loop: see loop_leave(). */
    static struct run run = { .exit_status = STATUS_INTERNAL, .report.fd = -1 }; /* not open yet */
    struct err err = { 0 };
    run.argc = argc;
    run.argv = argv;
    private_memory_start();
    uv_must_find_memory();
    uv_must_explain_aborts();
    signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, no child can be waited for */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its writer */
    fill_stdio(&run);
    if (hvdrun_options_parse(&run.options, argc, argv, &err) < 0 ||
        check_status_fd(run.options.status_fd, &err) < 0)
        return hvdrun_refuse(STATUS_USAGE, &err);
    char *answer = hvdrun_options_answer(&run.options);
    int status = answer ? print_made(&run, answer) : hvdrun_act(&run);
    command_guard_end(&run.guard);
    own_agent_end(&run.own_agent);
    report_file_close(&run.report);
    job_setup_fini(&run.setup);
    hvdrun_options_fini(&run.options);
    private_memory_end();
    return status;
}
