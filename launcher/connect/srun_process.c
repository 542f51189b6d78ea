/* SPDX-License-Identifier: Apache-2.0 */
/* The process of an srun: its start with a pipe for each stream, what it reads and writes, and its
 * end.
 *
 *   start -> runs -> ended; what it has written is read, and hosts whose agents have not come fail
 *
 * Fails when it cannot be executed. */
#include "launcher/connect/srun_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes are read so often before others have their turn. */
enum { SRUN_READS_IN_TURN = 16 };

/* ---- the end ---- */

static void on_srun_process_handle_closed(uv_handle_t *handle)
{
    struct srun *srun = handle->data;
    if (--srun->open_handles > 0)
        return;
    wire_writer_fini(&srun->bytes);
    free(srun);
}

static void srun_process_close_output(struct srun *srun, int which)
{
    if (srun->fds[which] < 0)
        return;
    uv_close((uv_handle_t *)&srun->polls[which], on_srun_process_handle_closed);
    close(srun->fds[which]);
    srun->fds[which] = -1;
}

static void srun_process_close_input(struct srun *srun)
{
    if (srun->input.data && !uv_is_closing((uv_handle_t *)&srun->input))
        uv_close((uv_handle_t *)&srun->input, on_srun_process_handle_closed);
}

/* No host is left, and the process has ended, or was never there. */
void srun_process_release(struct srun *srun)
{
    for (int i = 0; i < 2; i++)
        if (srun->pool->gathering[i] == srun)
            srun->pool->gathering[i] = NULL;
    dial_listener_close(srun->listener);
    job_key_wipe(&srun->key);
    srun_process_close_output(srun, 0);
    srun_process_close_output(srun, 1);
    srun_process_close_input(srun);
    uv_close((uv_handle_t *)&srun->timer, on_srun_process_handle_closed);
}

bool srun_process_lives(const struct srun *srun)
{
    return srun->spawned.pid > 0 && !srun->ended;
}

void srun_process_late(uv_timer_t *timer)
{
    struct srun *srun = timer->data;
    int signum = srun->told ? SIGKILL : SIGTERM;
    if (kill(-srun->spawned.pid, signum) < 0)
        kill(srun->spawned.pid, signum);
    srun->told = true;
    uv_timer_start(timer, srun_process_late, SRUN_GRACE_MS, 0);
}

/* ---- what it writes ---- */

static void srun_process_read(struct srun *srun, int which)
{
    char data[4096];
    ssize_t n = 1;
    for (int i = 0; i < SRUN_READS_IN_TURN && n > 0 && srun->fds[which] >= 0; i++) {
        n = read(srun->fds[which], data, sizeof data);
        if (n > 0)
            connect_stderr_feed(&srun->lines[which], data, (size_t)n,
                                which == 0 ? srun_says_output_line : srun_says_error_line, srun);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&srun->polls[which]);
}

static void on_srun_process_readable(uv_poll_t *poll, int status, int events)
{
    struct srun *srun = poll->data;
    (void)status;
    (void)events;
    srun_process_read(srun, poll == &srun->polls[1]);
}

/* ---- it has ended ---- */

static void srun_process_fail_absent(struct srun *srun)
{
    char how[96], text[600];
    wait_status_text(how, sizeof how, srun->wait_status);
    for (struct srun_host *host = srun->first; host; host = host->next) {
        const char *why = *host->why ? host->why : srun->why;
        snprintf(text, sizeof text, "hvdagent was not started: srun %s%s%s", how, *why ? ": " : "",
                 why);
        srun_fail_host(host, STATUS_UNREACHABLE, text);
    }
}

static void on_srun_process_ended(void *context, pid_t pid, int wait_status)
{
    struct srun *srun = context;
    (void)pid;
    srun->ended = true;
    srun->wait_status = wait_status;
    uv_timer_stop(&srun->timer);
    struct srun_host *last = srun->last;
    if (last) { /* all hosts were closed */
        srun_process_release(srun);
        srun_leave(last);
        return;
    }
    srun_process_read(srun, 0);
    srun_process_read(srun, 1);
    srun_process_fail_absent(srun);
    for (struct srun_host *host = srun->first; host; host = host->next)
        srun_says_task_ended(host);
    srun_close_port(srun);
}

/* ---- the beginning ---- */

/* A task has read all that is for it, or never will: the end of stdin tells the shells. */
static void on_srun_process_written(uv_write_t *write, int status)
{
    struct srun *srun = write->data;
    (void)status;
    wire_writer_fini(&srun->bytes);
    srun_process_close_input(srun);
}

/* Takes our ends of the process's streams. */
static void srun_process_watch(struct srun *srun, int input)
{
    uv_buf_t bytes = uv_buf_init((char *)srun->bytes.data, (unsigned)srun->bytes.length);
    uv_must(uv_pipe_init(srun->loop, &srun->input, 0), "streams");
    srun->input.data = srun->write.data = srun;
    srun->open_handles++;
    uv_must(uv_pipe_open(&srun->input, input), "streams");
    if (uv_write(&srun->write, (uv_stream_t *)&srun->input, &bytes, 1, on_srun_process_written) < 0)
        srun_process_close_input(srun);
    for (int i = 0; i < 2; i++) {
        uv_must(uv_poll_init(srun->loop, &srun->polls[i], srun->fds[i]), "streams");
        srun->polls[i].data = srun;
        srun->open_handles++;
        uv_must(uv_poll_start(&srun->polls[i], UV_READABLE, on_srun_process_readable), "streams");
    }
}

static int srun_process_spawn(struct srun *srun, const char *path, char **words, const int ends[3],
                              struct err *err)
{
    struct string_list environment = { 0 };
    srun_command_environment(&environment);
    struct spawn_request request = {
        .path = path,
        .argv = words,
        .envp = environment.items,
        .stdio = { ends[0], ends[1], ends[2] },
        .new_session = true,
        .death_signal = SIGTERM, /* srun ends its tasks */
        .nofile = srun->settings->nofile,
    };
    int rc = spawn_start(&request, &srun->spawned, err);
    int errnum = rc == HVD_OK ? spawn_confirm(&srun->spawned) : 0;
    if (rc == HVD_OK)
        children_watch(srun->children, srun->spawned.pid, on_srun_process_ended, srun);
    string_list_fini(&environment);
    return errnum == 0 ? rc : fail_errno(err, HVD_ERR_SYSTEM, errnum, "srun");
}

static void srun_process_close_pairs(int pairs[3][2], int side)
{
    for (int i = 0; i < 3; i++)
        if (pairs[i][side] >= 0)
            close(pairs[i][side]);
}

/* Starts the process with a pipe for each of its streams. */
int srun_process_start(struct srun *srun, const char *path, char **words, struct err *err)
{
    int pairs[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* read, write */
    for (int i = 0; i < 3; i++)
        if (pipe2(pairs[i], O_CLOEXEC) < 0) {
            fail_errno(err, HVD_ERR_SYSTEM, errno, "pipe");
            srun_process_close_pairs(pairs, 0);
            srun_process_close_pairs(pairs, 1);
            return HVD_ERR_SYSTEM;
        }
    int theirs[3] = { pairs[0][0], pairs[1][1], pairs[2][1] };
    int rc = srun_process_spawn(srun, path, words, theirs, err);
    for (int i = 0; i < 3; i++)
        close(theirs[i]);
    srun->fds[0] = pairs[1][0];
    srun->fds[1] = pairs[2][0];
    for (int i = 0; i < 2; i++)
        fcntl(srun->fds[i], F_SETFL, O_RDONLY | O_NONBLOCK);
    srun_process_watch(srun, pairs[0][1]);
    return rc;
}
