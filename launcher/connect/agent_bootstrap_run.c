/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap of hvdagent on a stream; see agent_bootstrap_run.h. Two halves: one reads the
 * stream and feeds agent_bootstrap.c; the other writes the script, and then hvdagent if requested,
 * as fast as the stream accepts bytes. Fails when there are no descriptors, when hvdagent cannot be
 * read here, or changes while it is sent. A stream that accepts nothing more has ended; the reading
 * half detects the end. */
#include "launcher/connect/agent_bootstrap_run.h"

#include "launcher/base/xalloc.h"
#include "launcher/connect/agent_bootstrap.h"
#include "launcher/process/program_image.h"
#include "launcher/tree/tunnels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/utsname.h>
#include <unistd.h>

struct agent_bootstrap_run {
    struct agent_bootstrap bootstrap;
    const char *agent;
    struct tunnel *tunnel; /* whose other end writes the script; or NULL */
    struct agent_bootstrap_run_events events;
    void *context;
    uv_poll_t reading, writing;
    int input, output; /* `output` is our own duplicate: the descriptor may be the same socket as
                        * `input` */
    bool measured;     /* `size` is known, and there is a script */
    char *script;
    size_t script_length, written;
    int agent_fd; /* -1 while it is not being sent */
    size_t size, left;
    int open_handles;
    bool stopped;
};

static void agent_bootstrap_run_release(struct agent_bootstrap_run *run)
{
    agent_bootstrap_fini(&run->bootstrap);
    free(run->script);
    free(run);
}

static void on_agent_bootstrap_run_handle_closed(uv_handle_t *handle)
{
    struct agent_bootstrap_run *run = handle->data;
    if (--run->open_handles == 0)
        agent_bootstrap_run_release(run);
}

void agent_bootstrap_run_stop(struct agent_bootstrap_run *run)
{
    if (!run || run->stopped)
        return;
    run->stopped = true;
    if (run->reading.data)
        uv_close((uv_handle_t *)&run->reading, on_agent_bootstrap_run_handle_closed);
    if (run->writing.data)
        uv_close((uv_handle_t *)&run->writing, on_agent_bootstrap_run_handle_closed);
    if (run->output >= 0)
        close(run->output);
    if (run->agent_fd >= 0)
        close(run->agent_fd);
    if (run->open_handles == 0)
        agent_bootstrap_run_release(run);
}

static void fail_here(struct agent_bootstrap_run *run, int errnum)
{
    struct err err = { 0 };
    fail_errno(&err, HVD_ERR_SYSTEM, errnum, "%s", run->agent);
    run->events.on_failed(run->context, err.text);
}

/* ---- writing ---- */

/* Measures hvdagent, and makes the script. 0, or an errno. */
static int make_script(struct agent_bootstrap_run *run)
{
    run->measured = true;
    int fd = open(run->agent, O_RDONLY | O_CLOEXEC);
    int errnum = fd < 0 ? errno : program_image_size(fd, &run->size);
    if (fd >= 0)
        close(fd);
    if (errnum != 0)
        return errnum;
    if (run->tunnel) {
        tunnel_script(run->tunnel, run->bootstrap.nonce, run->agent, run->size);
        return 0;
    }
    run->script = agent_bootstrap_script(run->bootstrap.nonce, run->agent, run->size);
    run->script_length = strlen(run->script);
    return 0;
}

/* A tunnel has no script here. */
static void write_script(struct agent_bootstrap_run *run)
{
    size_t left = run->script_length - run->written;
    ssize_t n = left > 0 ? write(run->output, run->script + run->written, left) : 0;
    if (n > 0)
        run->written += (size_t)n;
    if (run->written == run->script_length || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&run->writing);
}

static void write_agent(struct agent_bootstrap_run *run)
{
    ssize_t n = sendfile(run->output, run->agent_fd, NULL, run->left);
    if (n > 0)
        run->left -= (size_t)n;
    if (run->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&run->writing);
    if (run->left > 0 && n == 0)
        fail_here(run, ESTALE);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct agent_bootstrap_run *run = poll->data;
    (void)events;
    int errnum = run->measured ? 0 : make_script(run);
    if (errnum != 0)
        fail_here(run, errnum);
    else if (status < 0)
        uv_poll_stop(poll);
    else if (run->agent_fd >= 0)
        write_agent(run);
    else
        write_script(run);
}

static void send_agent(struct agent_bootstrap_run *run)
{
    run->agent_fd = open(run->agent, O_RDONLY | O_CLOEXEC);
    if (run->agent_fd < 0) {
        fail_here(run, errno);
        return;
    }
    run->left = run->size;
    uv_poll_start(&run->writing, UV_WRITABLE, on_writable);
    run->events.on_send(run->context);
}

/* ---- reading ---- */

static void agent_bootstrap_run_take(struct agent_bootstrap_run *run, const char *data,
                                     size_t length)
{
    bool answered = run->bootstrap.answered;
    enum agent_bootstrap_action action = agent_bootstrap_take(&run->bootstrap, data, length);
    if (run->bootstrap.answered && !answered)
        run->events.on_answer(run->context);
    if (run->stopped)
        return;
    switch (action) {
    case BOOTSTRAP_WAIT:
        break;
    case BOOTSTRAP_SEND:
        send_agent(run);
        break;
    case BOOTSTRAP_DONE:
        run->events.on_done(run->context);
        break;
    case BOOTSTRAP_FAILED:
        run->events.on_failed(run->context, run->bootstrap.error);
        break;
    }
}

/* An error of the stream, `status`, may come before the last bytes are read. */
static void on_agent_bootstrap_run_readable(uv_poll_t *poll, int status, int events)
{
    struct agent_bootstrap_run *run = poll->data;
    char data[16 * 1024];
    ssize_t n = 1;
    (void)events;
    while (n > 0 && !run->stopped) {
        n = read(run->input, data, sizeof data);
        if (n > 0)
            agent_bootstrap_run_take(run, data, (size_t)n);
    }
    if (run->stopped || (n < 0 && status == 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    uv_poll_stop(poll);
    run->events.on_end(run->context, agent_bootstrap_end(&run->bootstrap));
}

/* ---- start and stop ---- */

/* 0, or an errno of libuv. */
static int agent_bootstrap_run_watch(struct agent_bootstrap_run *run, uv_loop_t *loop,
                                     uv_poll_t *poll, int fd, int events, uv_poll_cb on_event)
{
    int rc = uv_poll_init(loop, poll, fd);
    if (rc < 0)
        return rc;
    poll->data = run;
    run->open_handles++;
    return uv_poll_start(poll, events, on_event);
}

static int open_streams(struct agent_bootstrap_run *run, uv_loop_t *loop, int output)
{
    run->output = fcntl(output, F_DUPFD_CLOEXEC, 3);
    if (run->output < 0)
        return -errno;
    int rc = agent_bootstrap_run_watch(run, loop, &run->reading, run->input, UV_READABLE,
                                       on_agent_bootstrap_run_readable);
    return rc < 0 ? rc
                  : agent_bootstrap_run_watch(run, loop, &run->writing, run->output, UV_WRITABLE,
                                              on_writable);
}

struct agent_bootstrap_run *
agent_bootstrap_run_start(uv_loop_t *loop, int input, int output, struct tunnel *tunnel,
                          const char *agent, const struct agent_bootstrap_run_events *events,
                          void *context, struct err *err)
{
    struct agent_bootstrap_run *run = xcalloc(1, sizeof *run);
    char nonce[BOOTSTRAP_NONCE_SIZE], machine[sizeof run->bootstrap.machine];
    struct utsname ours;
    uname(&ours);
    snprintf(machine, sizeof machine, "%.30s %.30s", ours.sysname, ours.machine);
    agent_bootstrap_nonce(nonce);
    agent_bootstrap_init(&run->bootstrap, nonce, machine);
    run->tunnel = tunnel;
    run->agent = agent;
    run->events = *events;
    run->context = context;
    run->agent_fd = -1;
    run->input = input;
    int rc = open_streams(run, loop, output);
    if (rc == 0)
        return run;
    fail_errno(err, HVD_ERR_SYSTEM, -rc, "streams");
    agent_bootstrap_run_stop(run);
    return NULL;
}
