/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun: starts the ranks of a job on their hosts and stays with them until the last has ended.
 *
 *   options -> hosts -> plan -> rendezvous -> job -> loop -> exit status
 *
 * Whatever is wrong with what the user said ends here with one line and status 2, before anything
 * is started. */
#include <config.h>

#include "launcher/bad_input.h"
#include "launcher/descriptors.h"
#include "launcher/exit_status.h"
#include "launcher/host_list.h"
#include "launcher/job.h"
#include "launcher/local_host.h"
#include "launcher/rank_plan.h"
#include "launcher/uv_must.h"
#include "launcher/worker_environment.h"
#include "launcher/xalloc.h"
#include "src/agent_path.h"
#include "src/hvdrun_options.h"
#include "src/job_rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const int watched[] = {
    SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH
};

enum { WATCHED = sizeof watched / sizeof *watched };

/* What one run of hvdrun holds; released in reverse. */
struct run {
    struct hvdrun_options options;
    struct host_list hosts;
    struct rank_plan plan;
    struct string_list environment;
    struct job_key key;
    char key_text[JOB_KEY_HEX_SIZE];
    char *agent;
    char cwd[PATH_MAX];
    bool closed[3];       /* stdin, stdout, stderr were so when we were started */
    struct rlimit nofile; /* as we were started */
    uv_loop_t loop;
    uv_signal_t signals[WATCHED];
    bool finished; /* the job is over */
    struct job_options job_options;
    struct job_rendezvous *rendezvous;
    struct job *job;
    int exit_status;
};

/* A descriptor 0, 1 or 2 that is closed would be given to the next file that is opened. */
static void fill_stdio(struct run *run)
{
    for (int fd = 0; fd < 3; fd++) {
        run->closed[fd] = fcntl(fd, F_GETFD) < 0;
        if (run->closed[fd])
            open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
    }
}

static int usage_error(const struct err *err)
{
    fprintf(stderr, "hvdrun: error: %s\n", err->text);
    return STATUS_USAGE;
}

/* Prints something that was asked for. */
static int print(const struct run *run, const char *text)
{
    if (run->closed[1])
        errno = EBADF;
    if (run->closed[1] || fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "hvdrun: stdout: %s\n", strerror(errno));
        return STATUS_OUTPUT_LOST;
    }
    return EXIT_SUCCESS;
}

static int print_help(const struct run *run)
{
    char *text = hvdrun_options_help();
    int status = print(run, text);
    free(text);
    return status;
}

static int print_plan(const struct run *run)
{
    char *table = rank_plan_table(&run->plan);
    int status = print(run, table);
    free(table);
    return status;
}

static int read_hosts(struct run *run, struct err *err)
{
    const struct hvdrun_options *options = &run->options;
    if (options->hostfile)
        return host_list_read_hostfile(&run->hosts, options->hostfile, err);
    if (options->hosts)
        return host_list_parse(&run->hosts, options->hosts, strlen(options->hosts),
                               options->hosts_source, err);
    host_list_make_local(&run->hosts, options->np);
    return HVD_OK;
}

/* Where the user wrote a host, for messages. */
static void host_source(const struct run *run, const struct host_slots *host, char *text,
                        size_t size)
{
    const struct hvdrun_options *options = &run->options;
    if (options->hostfile)
        snprintf(text, size, "%s:%d:%d", options->hostfile, host->line, host->column);
    else
        snprintf(text, size, "%s", options->hosts_source);
}

/* Every host of the plan must be one that this version can reach: as the same user, here. */
static int check_reach(const struct run *run, struct err *err)
{
    struct local_host self;
    int rc = HVD_OK;
    local_host_init(&self);
    for (int i = 0; i < run->plan.host_count && rc == HVD_OK; i++) {
        const struct host_slots *host = run->plan.hosts[i].host;
        char source[256];
        if (!host->user && local_host_is(&self, host->name))
            continue;
        host_source(run, host, source, sizeof source);
        struct shown shown;
        const char *token = host->user ? host->user : host->name;
        rc = bad_input(err, source, "%s, which this version cannot do yet: '%s'",
                       host->user ? "another user is reached through ssh"
                                  : "another machine is reached through ssh",
                       show_token(&shown, token, strlen(token)));
    }
    local_host_fini(&self);
    return rc;
}

/* Everything that can be known before something is started. */
static int prepare(struct run *run, struct err *err)
{
    int rc;
    if ((rc = read_hosts(run, err)) < 0 ||
        (rc = rank_plan_make(&run->plan, &run->hosts, run->options.np, err)) < 0)
        return rc;
    return run->options.dry_run ? HVD_OK : check_reach(run, err);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct run *run = handle->data;
    if (run->finished)
        return;
    if (signum == SIGUSR2)
        job_rendezvous_ask(run->rendezvous);
    else
        job_signal(run->job, signum);
}

/* Not by SIGTSTP: where no shell waits for us, its default is to do nothing. */
static void on_suspended(void *context)
{
    (void)context;
    raise(SIGSTOP);
}

/* SIGHUP stays ignored if it was: that is what nohup asks for. */
static void watch_signals(struct run *run)
{
    struct sigaction hup;
    sigset_t none;
    sigemptyset(&none); /* whoever started us may have blocked what we need */
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGHUP, NULL, &hup);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < WATCHED; i++) {
        uv_must(uv_signal_init(&run->loop, &run->signals[i]), "signals");
        run->signals[i].data = run;
        if (watched[i] != SIGHUP || hup.sa_handler != SIG_IGN)
            uv_must(uv_signal_start(&run->signals[i], on_signal, watched[i]), "signals");
    }
}

/* SIGUSR1 and SIGUSR2 ask for something; they may come too late, which must not change how hvdrun
 * ends. */
static bool is_question(int signum)
{
    return signum == SIGUSR1 || signum == SIGUSR2;
}

/* The job is over: the questions are heard on, and not answered, as long as there are threads. */
static void stop_watching(struct run *run)
{
    run->finished = true;
    for (int i = 0; i < WATCHED; i++) {
        if (is_question(watched[i]))
            uv_unref((uv_handle_t *)&run->signals[i]);
        else
            uv_close((uv_handle_t *)&run->signals[i], NULL);
    }
}

/* Closing restores the default, which would kill us: blocked until they are ignored, by the one
 * thread that is left. */
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
    uv_run(&run->loop, UV_RUN_DEFAULT);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void on_finished(void *context, int exit_status)
{
    struct run *run = context;
    run->exit_status = exit_status;
    stop_watching(run);
    job_rendezvous_destroy(run->rendezvous);
    job_destroy(run->job);
}

static void describe_job(struct run *run)
{
    const struct hvdrun_options *options = &run->options;
    worker_environment_common(&run->environment, environ);
    run->job_options = (struct job_options){
        .plan = &run->plan,
        .agent = run->agent,
        .nofile = &run->nofile,
        .cwd = run->cwd,
        .command = options->command,
        .environment = run->environment.items,
        .job_key = run->key_text,
        .output_directory = options->output_filename,
        .timestamps = options->prefix_timestamp,
        .verbose = options->verbose,
        .stdin_closed = run->closed[0],
        .stdout_closed = run->closed[1],
        .stderr_closed = run->closed[2],
        .grace_ms = (uint32_t)options->grace_s * 1000,
        .start_timeout_ms = (uint32_t)options->start_timeout_s * 1000,
    };
}

/* The rendezvous, then the job that leads to it. 0 or an exit status, and `err`. */
static int start_job(struct run *run, struct err *err)
{
    if (!getcwd(run->cwd, sizeof run->cwd)) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "working directory");
        return STATUS_NOT_FOUND;
    }
    if (!(run->agent = agent_path_find())) {
        fail(err, HVD_ERR_SYSTEM, "hvdagent is neither beside hvdrun nor in " AGENT_DIRECTORY);
        return STATUS_INTERNAL;
    }
    describe_job(run);
    run->rendezvous = job_rendezvous_create(&run->loop, &run->plan, &run->key,
                                            run->job_options.start_timeout_ms, err);
    if (!run->rendezvous)
        return STATUS_RESOURCE;
    struct job_meeting meeting = job_rendezvous_meeting(run->rendezvous);
    static const struct job_callbacks callbacks = { on_finished, on_suspended };
    run->job = job_create(&run->loop, &run->job_options, &meeting, &callbacks, run, err);
    if (!run->job) {
        fail_context(err, "--output-filename: cannot create");
        job_rendezvous_destroy(run->rendezvous);
        return STATUS_CANNOT_CREATE;
    }
    job_rendezvous_attach(run->rendezvous, run->job);
    return 0;
}

/* Our own, a link to each host, and the files of --output-filename. */
static unsigned long descriptors_needed(const struct run *run)
{
    enum { OWN = 48, PER_HOST = 4 };
    unsigned long files = run->options.output_filename ? 2 * (unsigned long)run->plan.size : 0;
    return OWN + PER_HOST * (unsigned long)run->plan.host_count + files;
}

static int run_job(struct run *run)
{
    struct err err = { 0 };
    if (descriptors_allow(descriptors_needed(run), &run->nofile, &err) < 0 || auth_init(&err) < 0) {
        fprintf(stderr, "hvdrun: error: %s\n", err.text);
        return STATUS_RESOURCE;
    }
    job_key_generate(&run->key);
    job_key_format(&run->key, run->key_text);
    uv_must(uv_loop_init(&run->loop), "event loop");
    watch_signals(run);
    int failed = start_job(run, &err);
    if (failed) {
        fprintf(stderr, "hvdrun: error: %s\n", err.text);
        run->exit_status = failed;
        stop_watching(run);
    }
    uv_run(&run->loop, UV_RUN_DEFAULT);
    ignore_questions(run);
    uv_loop_close(&run->loop);
    return run->exit_status;
}

static void release(struct run *run)
{
    job_key_wipe(&run->key);
    explicit_bzero(run->key_text, sizeof run->key_text);
    string_list_fini(&run->environment);
    free(run->agent);
    rank_plan_fini(&run->plan);
    host_list_fini(&run->hosts);
}

int main(int argc, char **argv)
{
    struct run run = { .exit_status = STATUS_INTERNAL }; /* until somebody decides */
    struct err err = { 0 };
    int status;
    fill_stdio(&run);
    if (hvdrun_options_parse(&run.options, argc, argv, &err) < 0)
        return usage_error(&err);
    if (run.options.help)
        return print_help(&run);
    if (run.options.version)
        return print(&run, "hvdrun " PACKAGE_VERSION "\n");
    if (prepare(&run, &err) < 0)
        status = usage_error(&err);
    else
        status = run.options.dry_run ? print_plan(&run) : run_job(&run);
    release(&run);
    return status;
}
