/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrendezvousd: the rendezvous alone, for workers that something else starts.
 *
 *   options -> key -> rendezvous -> ports -> port file -> fewer rights -> ready -> loop -> stop in
 *   reverse
 *
 * A mistake of the user ends hvdrendezvousd here with one line and status 2, before anything
 * listens. */
#include "launcher/base/exit_status.h"
#include "launcher/base/private_memory.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "rendezvous/server/rendezvous.h"
#include "rendezvous/tcp/tcp_port.h"
#include "src/service/daemon_log.h"
#include "src/service/hvdrendezvousd_options.h"
#include "src/service/key_file.h"
#include "src/service/port_file.h"
#include "src/service/privileges.h"
#include "src/service/readiness.h"
#include "src/service/service_syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* 10 000 connections, and some files. */
enum { DESCRIPTORS_WANTED = 10000 + 64 };

/* For files, and connections that have ended but are not closed by their clients yet. */
enum { DESCRIPTORS_RESERVED = 64 + 256 };

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };

enum { WATCHED = sizeof watched / sizeof *watched };

struct service {
    struct hvdrendezvousd_options options;
    struct readiness readiness;
    struct port_file port_file;
    struct job_key key; /* until the rendezvous has taken it */
    uv_loop_t loop;
    uv_signal_t signals[WATCHED];
    uv_timer_t watchdog;
    struct rendezvous *rendezvous;
    struct tcp_port **ports; /* the open ports of options.listen */
    size_t nports;
};

/* Prints the failure in one line. */
static int hvdrendezvousd_refuse(int exit_status, const struct err *err)
{
    daemon_log("error: %s", err->text);
    return exit_status;
}

/* Opens closed descriptors 0, 1 and 2, which would otherwise be given to the next file that is
 * opened. Writing to them must fail. */
static void fill_stdio(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == 1 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

/* Prints a requested text. */
static int print(const char *text)
{
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        daemon_log("error: stdout: %s", strerror(errno));
        return STATUS_OUTPUT_LOST;
    }
    return EXIT_SUCCESS;
}

/* Prints the text, wipes it and frees it. */
static int print_made(char *text)
{
    int status = print(text);
    explicit_bzero(text, strlen(text));
    free(text);
    return status;
}

static int print_job_key(const struct service *service)
{
    struct job_key key;
    char hex[JOB_KEY_HEX_SIZE];
    static char buffer[BUFSIZ]; /* of stdout, so that it can be wiped too */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    job_key_derive(&key, &service->key, service->options.job_key);
    job_key_format(&key, hex);
    job_key_wipe(&key);
    int status = print_made(xasprintf("%s\n", hex));
    explicit_bzero(hex, sizeof hex);
    explicit_bzero(buffer, sizeof buffer);
    return status;
}

static int make_key(const char *path)
{
    struct err err = { 0 };
    if (key_file_create(path, &err) < 0) {
        fail_context(&err, "--new-key");
        return hvdrendezvousd_refuse(STATUS_CANNOT_CREATE, &err);
    }
    return EXIT_SUCCESS;
}

/* Logs an event of a job. */
static void on_said(void *context, const char *job, const char *text)
{
    (void)context;
    if (job)
        daemon_log("job %s: %s", job, text);
    else
        daemon_log("%s", text);
}

static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Called at the start, because a refused client only gets an error. */
static void warn_of_few_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < DESCRIPTORS_WANTED)
        daemon_log("warning: at most %llu descriptors (ulimit -Hn); 10000 connections need %d",
                   (unsigned long long)limit.rlim_max, DESCRIPTORS_WANTED);
}

/* 0: no limit. */
static int connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX)
        return 0;
    return limit.rlim_cur > DESCRIPTORS_RESERVED ? (int)limit.rlim_cur - DESCRIPTORS_RESERVED : 1;
}

/* Ends everything that keeps the loop running, last things first. The rendezvous goes before its
 * ports: otherwise it would report their hang-up to other workers as that of the workers. */
static void hvdrendezvousd_stop(struct service *service)
{
    readiness_stopping(&service->readiness);
    for (int i = 0; i < WATCHED; i++)
        uv_close((uv_handle_t *)&service->signals[i], NULL);
    uv_close((uv_handle_t *)&service->watchdog, NULL);
    for (size_t i = 0; i < service->nports; i++)
        tcp_port_stop(service->ports[i]);
    port_file_remove(&service->port_file);
    rendezvous_destroy(service->rendezvous);
    for (size_t i = 0; i < service->nports; i++)
        tcp_port_close(service->ports[i]);
}

/* SIGUSR1: the key of the service is another. On a failure the one before stays. */
static void change_key(struct service *service)
{
    const struct hvdrendezvousd_options *options = &service->options;
    struct job_key key;
    struct err err = { 0 };
    if (key_file_read(&key, options->key_file, options->key_file_source, &err) < 0) {
        daemon_log("warning: the key is not changed: %s", err.text);
        return;
    }
    rendezvous_change_key(service->rendezvous, &key);
    job_key_wipe(&key);
    daemon_log("the key was read again; jobs that are there keep theirs");
}

static void on_hvdrendezvousd_signal(uv_signal_t *handle, int signum)
{
    if (signum == SIGUSR1) {
        change_key(handle->data);
        return;
    }
    daemon_log("stopping: %s", strsignal(signum));
    hvdrendezvousd_stop(handle->data);
}

/* SIGHUP stays ignored if it was, as nohup requires. */
static void hvdrendezvousd_watch_signals(struct service *service)
{
    struct sigaction hup;
    sigset_t none;
    sigemptyset(&none); /* the parent may have blocked signals that we need */
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGHUP, NULL, &hup);
    for (int i = 0; i < WATCHED; i++) {
        uv_must(uv_signal_init(&service->loop, &service->signals[i]), "signals");
        service->signals[i].data = service;
        if (watched[i] != SIGHUP || hup.sa_handler != SIG_IGN)
            uv_must(uv_signal_start(&service->signals[i], on_hvdrendezvousd_signal, watched[i]),
                    "signals");
    }
}

static void on_watchdog(uv_timer_t *timer)
{
    struct service *service = timer->data;
    readiness_alive(&service->readiness);
}

static void start_watchdog(struct service *service)
{
    uint64_t every_ms = service->readiness.watchdog_ms;
    uv_must(uv_timer_init(&service->loop, &service->watchdog), "timers");
    service->watchdog.data = service;
    if (every_ms > 0)
        uv_must(uv_timer_start(&service->watchdog, on_watchdog, every_ms, every_ms), "timers");
}

static int create_rendezvous(struct service *service, struct err *err)
{
    const struct rendezvous_service_options options = {
        .key = &service->key,
        .max_jobs = service->options.max_jobs,
        .connections_max = connections_max(),
        .memory_max = (size_t)service->options.max_memory_mib << 20,
        .start_timeout_ms = (uint64_t)service->options.start_timeout_s * 1000,
        .say = on_said,
        .context = service,
    };
    service->rendezvous = rendezvous_create_service(&service->loop, &options, err);
    job_key_wipe(&service->key);
    return service->rendezvous ? 0 : STATUS_RESOURCE;
}

static int open_ports(struct service *service, struct err *err)
{
    const struct string_list *listen = &service->options.listen;
    service->ports = xcalloc(listen->count, sizeof *service->ports);
    for (; service->nports < listen->count; service->nports++) {
        struct tcp_port *port =
            tcp_port_open(&service->loop, listen->items[service->nports], service->rendezvous, err);
        if (!port)
            return STATUS_RESOURCE;
        service->ports[service->nports] = port;
    }
    return 0;
}

static void say_ports(const struct service *service)
{
    for (size_t i = 0; i < service->nports; i++) {
        const struct tcp_port *port = service->ports[i];
        daemon_log("listening on %s%s", tcp_port_address(port),
                   tcp_port_is_loopback(port)
                       ? ""
                       : ", where whoever reaches this machine can try; only keys keep them out");
    }
}

static bool filters_system_calls(const struct hvdrendezvousd_options *options)
{
    return options->seccomp == SECCOMP_ON ||
           (options->seccomp == SECCOMP_AUTO && syscall_filter_exists());
}

/* Keeps no more rights than serving needs: 0, or an exit status and `err`. */
static int restrict_process(const struct hvdrendezvousd_options *options, struct err *err)
{
    int rc = options->user ? privileges_drop(options->user, err) : HVD_OK;
    if (rc < 0)
        return rc == HVD_ERR_INVALID ? STATUS_USAGE : STATUS_RESOURCE;
    return filters_system_calls(options) && syscall_filter_apply(&service_syscalls, err) < 0
               ? STATUS_RESOURCE
               : 0;
}

static int refuse_port_file(struct err *err)
{
    fail_context(err, "--port-file");
    return STATUS_CANNOT_CREATE;
}

/* 0, or an exit status and `err`. */
static int hvdrendezvousd_start(struct service *service, struct err *err)
{
    const struct hvdrendezvousd_options *options = &service->options;
    char status[128];
    int failed;
    if (options->port_file && port_file_check(options->port_file, err) < 0)
        return refuse_port_file(err);
    if ((failed = create_rendezvous(service, err)) || (failed = open_ports(service, err)))
        return failed;
    int port = tcp_port_number(service->ports[0]);
    if (options->port_file &&
        port_file_write(&service->port_file, options->port_file, port, err) < 0)
        return refuse_port_file(err);
    if ((failed = restrict_process(options, err)))
        return failed;
    say_ports(service);
    warn_of_few_descriptors();
    snprintf(status, sizeof status, "listening on %s", tcp_port_address(service->ports[0]));
    if (readiness_ready(&service->readiness, status, err) < 0)
        daemon_log("warning: %s", err->text);
    return 0;
}

static int serve(struct service *service)
{
    struct err err = { 0 };
    raise_descriptors();
    if (filters_system_calls(&service->options) && syscall_filter_prepare(&err) < 0)
        return hvdrendezvousd_refuse(STATUS_RESOURCE, &err);
    uv_must(uv_loop_init(&service->loop), "event loop");
    hvdrendezvousd_watch_signals(service);
    start_watchdog(service);
    int exit_status = hvdrendezvousd_start(service, &err);
    if (exit_status) {
        hvdrendezvousd_refuse(exit_status, &err);
        hvdrendezvousd_stop(service);
    }
    uv_run(&service->loop, UV_RUN_DEFAULT);
    uv_loop_close(&service->loop);
    free(service->ports);
    return exit_status;
}

/* From checked options to an exit status. */
static int hvdrendezvousd_act(struct service *service)
{
    const struct hvdrendezvousd_options *options = &service->options;
    struct err err = { 0 };
    if (auth_init(&err) < 0)
        return hvdrendezvousd_refuse(STATUS_RESOURCE, &err);
    if (options->new_key)
        return make_key(options->new_key);
    if (key_file_read(&service->key, options->key_file, options->key_file_source, &err) < 0 ||
        readiness_init(&service->readiness, options->ready_fd, &err) < 0)
        return hvdrendezvousd_refuse(STATUS_USAGE, &err);
    int exit_status = options->job_key ? print_job_key(service) : serve(service);
    readiness_fini(&service->readiness);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct service service = { 0 };
    struct err err = { 0 };
    (void)argc;
    fill_stdio();
    signal(SIGPIPE, SIG_IGN);
    uv_must_explain_aborts();
    private_memory_start();
    if (hvdrendezvousd_options_parse(&service.options, argv, &err) < 0)
        return hvdrendezvousd_refuse(STATUS_USAGE, &err);
    char *answer = hvdrendezvousd_options_answer(&service.options);
    int status = answer ? print_made(answer) : hvdrendezvousd_act(&service);
    hvdrendezvousd_options_fini(&service.options);
    job_key_wipe(&service.key);
    private_memory_end();
    return status;
}
