/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of elastic jobs with real agents, which are the test program again, and workers that
 * are a shell. The test is the owner of the job: it adds workers, hears of their ends, and ends
 * the job. The output of the ranks goes into a file. Check's timeout ends a job that does not
 * end. */
#ifndef TESTS_SUPPORT_JOB_ELASTIC_FIXTURE_H
#define TESTS_SUPPORT_JOB_ELASTIC_FIXTURE_H

#include "launcher/agent/agent.h"
#include "launcher/job/job_impl.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORKERS = 2000 };

static uv_loop_t loop;
static struct job *job;
static struct job_options options;
static struct connect_settings settings;
static struct job_elastic elastic;
static char *command[4], *environment[3];
static char output[1 << 16]; /* what was printed, once the job is over */
static int printed = -1, exit_status;
static enum job_worker_end ends[WORKERS];
static bool has_ended[WORKERS], over;
static int nended;
static void (*react)(int worker); /* after each end */
static int drained = -1;          /* the worker whose host was drained last */
static struct {
    int nworlds, nranks, nhosts;
    char why[3][400], loss[400];
    bool removed;
} report;

/* ---- the owner ---- */

static inline void on_rank_started(void *context, int rank, int pid)
{
    (void)context, (void)rank, (void)pid;
}

static inline void on_rank_ended(void *context, int rank, const struct job_rank_end *end)
{
    (void)context, (void)end;
    ck_assert(!has_ended[rank]); /* the rendezvous hears of it first */
}

static inline void on_question(void *context)
{
    (void)context;
}

static inline void on_over(void *context, const struct job_report *told)
{
    (void)context, (void)told;
}

static inline int on_report(void *context, const struct job_report *told, struct err *err)
{
    (void)context, (void)err;
    report.nworlds = told->nworlds;
    report.nranks = told->nranks;
    report.nhosts = told->nhosts;
    for (int i = 0; i < told->nworlds && i < 3; i++)
        snprintf(report.why[i], sizeof report.why[i], "%s", told->worlds[i].why);
    if (told->nranks > 0 && told->ranks[0].loss)
        snprintf(report.loss, sizeof report.loss, "%s", told->ranks[0].loss);
    return HVD_OK;
}

static inline void on_finished(void *context, int status)
{
    (void)context;
    exit_status = status;
    over = true;
    job_destroy(job);
}

static inline void on_worker_ended(void *context, int worker, enum job_worker_end end)
{
    (void)context;
    ck_assert(!has_ended[worker]);
    has_ended[worker] = true;
    ends[worker] = end;
    nended++;
    if (react)
        react(worker);
}

static inline void on_drained(void *context, int worker)
{
    (void)context;
    drained = worker;
}

/* ---- the job ---- */

static inline void setup(void)
{
    static struct job_key key;
    static char id[17]; /* another than that of each other job here: processes are found by it */
    snprintf(id, sizeof id, "%016x", (unsigned)getpid());
    printed = memfd_create("printed", MFD_CLOEXEC);
    ck_assert_int_ge(printed, 0);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    signal(SIGPIPE, SIG_IGN);
    settings = (struct connect_settings){
        .agent = "/proc/self/exe",
        .job_id = id,
        .timeout_ms = 10000,
        .heartbeat_timeout_ms = 10000,
    };
    elastic = (struct job_elastic){ .size_max = 8, .first_size = 2, .one_machine = true };
    command[0] = strdup("/bin/sh");
    command[1] = strdup("-c");
    environment[0] = strdup("PATH=/usr/bin:/bin");
    options = (struct job_options){
        .elastic = &elastic,
        .connect = &settings,
        .cwd = "/",
        .command = command,
        .environment = environment,
        .id = settings.job_id,
        .key = &key,
        .grace_ms = 5000,
        .start_timeout_ms = 30000,
        .heartbeat_timeout_ms = 10000,
        .keep_lines = true,
        .stdin_closed = true,
    };
}

static inline void start(const char *script)
{
    static const struct job_rendezvous_interface rendezvous = { .on_rank_started = on_rank_started,
                                                                .on_rank_ended = on_rank_ended,
                                                                .on_question = on_question,
                                                                .on_over = on_over };
    static const struct job_callbacks callbacks = { .on_report = on_report,
                                                    .on_finished = on_finished,
                                                    .on_worker_ended = on_worker_ended,
                                                    .on_drained = on_drained };
    struct err err;
    free(command[2]);
    command[2] = strdup(script);
    fflush(stdout);
    ck_assert_int_ge(dup2(printed, STDOUT_FILENO), 0);
    ck_assert_int_ge(dup2(printed, STDERR_FILENO), 0);
    job = job_create(&loop, &options, &rendezvous, &callbacks, NULL, &err);
    ck_assert_ptr_nonnull(job);
}

static inline void add_to(const char *host, int worker, int count, int rank)
{
    struct rank_info places[8];
    for (int i = 0; i < count; i++)
        places[i] = (struct rank_info){ rank + i, 8, i, count, 0, 1 };
    char name[32], interfaces[32] = "";
    snprintf(name, sizeof name, "%s", host);
    struct job_batch batch = {
        .host = name, .interfaces = interfaces, .worker = worker, .count = count, .places = places
    };
    job_add_batch(job, &batch);
    strcpy(name, "not.copied"); /* as if they had been freed */
    strcpy(interfaces, "not.copied");
}

static inline void add(int worker, int count)
{
    add_to("localhost", worker, count, worker % 8);
}

/* Until the job is over. */
static inline void run(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(over);
    ssize_t length = pread(printed, output, sizeof output - 1, 0);
    ck_assert_int_ge(length, 0);
    output[length] = '\0';
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static inline void has(const char *text)
{
    ck_assert_msg(strstr(output, text), "'%s' is in: %s", text, output);
}

static inline void has_not(const char *text)
{
    ck_assert_msg(!strstr(output, text), "'%s' is not in: %s", text, output);
}

static inline pid_t pid_of(int worker)
{
    return job->report.ranks[worker].pid;
}

static inline struct job_host *host_of(int worker)
{
    return job->hosts[job->plan->ranks[worker].host];
}

/* Runs the loop until the condition holds. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    uv_run(&loop, UV_RUN_ONCE)

/* Looks whether a worker has printed it. */
static inline bool has_printed(const char *text)
{
    static char bytes[1 << 16];
    ssize_t length = pread(printed, bytes, sizeof bytes - 1, 0);
    bytes[length > 0 ? length : 0] = '\0';
    return strstr(bytes, text);
}

static inline void end_after_two(int worker)
{
    (void)worker;
    if (nended == 2)
        job_end(job);
}

/* ---- the program ---- */

/* As src/agent does: the link is stdin and stdout. */
static inline int be_agent(void)
{
    static const struct agent_settings agent_settings = { AGENT_RELAY_STALL_MS, NULL };
    uv_loop_t agent_loop;
    int link = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    if (link < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        uv_loop_init(&agent_loop) < 0)
        return 99;
    int status = agent_run(&agent_loop, link, link, &agent_settings);
    return uv_loop_close(&agent_loop) < 0 ? 98 : status;
}

static inline int agent_or_tests(int argc, char **argv, Suite *(*suite)(void))
{
    return argc > 0 && strcmp(argv[0], "hvdagent") == 0 ? be_agent() : unit_run(suite());
}

#endif
