/* SPDX-License-Identifier: Apache-2.0 */
/* The transport by srun: inside an allocation of Slurm, one srun starts the agents of all hosts.
 *
 *   hosts of one iteration of the loop gather -> srun starts a shell on each, which runs hvdagent
 *       -> hvdagent reads an invitation from srun's stdin and connects to us (dial_listener.h)
 *       -> the connection is the host's stream
 *   a shell that finds no hvdagent says so on srun's stdout; such hosts gather for an srun of their
 *   own, whose stdin begins with a copy of ours
 *
 * The connections do not pass through srun, whose stdin is one for all tasks: one that does not
 * read would stop all others (doc/decisions/srun.md). What srun writes to stderr is the cause of
 * the end of a host, or of all of them (srun_line.h).
 *
 * Fails when srun is not found or cannot be executed, when there is no port, and for each host whose
 * agent has not connected when srun ends. A host that has connected does not need srun any more.
 * When the last host is closed srun should end by itself; it is told to after SRUN_END_MS, and
 * earlier if some agent has never come. */
#include "launcher/base/exit_status.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/agent_bootstrap.h"
#include "launcher/connect/connect_stderr.h"
#include "launcher/connect/dial_listener.h"
#include "launcher/connect/host_transport.h"
#include "launcher/connect/srun_line.h"
#include "launcher/process/children.h"
#include "launcher/process/program_find.h"
#include "launcher/process/program_image.h"
#include "launcher/process/spawn.h"
#include "launcher/process/worker_environment.h"
#include "launcher/protocol/tcp_acknowledged.h"
#include "lib/base/frame.h"
#include "lib/base/interfaces.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* How long srun may take to end once all agents have; and after SIGTERM, until SIGKILL. */
enum { SRUN_END_MS = 2000, SRUN_GRACE_MS = 1000 };

/* How long hosts gather that need a copy of hvdagent, which they say one after the other. */
enum { SRUN_COPIES_MS = 300 };

/* The most bytes of names on the command line of one srun, whose arguments have 128 KiB each. */
enum { SRUN_NAMES_MAX = 96 * 1024, SRUN_READS_IN_TURN = 16 };

/* opening -> connected -> closing;  opening -> failed -> closing;  opening -> closing */
enum srun_host_phase {
    SRUN_HOST_OPENING,
    SRUN_HOST_CONNECTED,
    SRUN_HOST_FAILED,
    SRUN_HOST_CLOSING
};

struct srun_host {
    const struct host_transport_job *job;
    struct srun *srun;
    struct srun_host *next;
    enum srun_host_phase phase;
    uv_timer_t later;              /* reports the end of the transport, outside close() */
    int stream;                    /* the connection; its owner closes it */
    int task;                      /* of srun; -1 before the agent has connected */
    bool ended;                    /* srun has said that the task has ended */
    enum srun_line_kind explained; /* by `why` */
    char why[400];
};

/* gathering -> running -> ended */
struct srun {
    struct srun_pool *pool;
    uv_loop_t *loop;
    const struct connect_settings *settings;
    struct children *children;
    struct srun_host *first, **end_of_hosts;
    int nhosts;      /* that are not closed */
    size_t nnames;   /* bytes of their names */
    bool has_copy;   /* stdin begins with a copy of hvdagent */
    bool incomplete; /* a host was closed before its agent came */
    char nonce[BOOTSTRAP_NONCE_SIZE];
    uv_timer_t timer; /* begins; later ends a process that does not */
    uv_pipe_t input;  /* stdin */
    uv_write_t write;
    struct wire_writer bytes; /* for stdin */
    uv_poll_t polls[2];       /* stdout and stderr */
    int fds[2];
    int open_handles;
    struct connect_stderr lines[2];
    struct spawned spawned; /* pid 0: the start has failed */
    struct dial_listener *listener;
    struct job_key key;
    bool ended, told;
    int wait_status;
    struct srun_host *last; /* waits to be closed until srun has ended */
    enum srun_line_kind explained;
    char why[400];
};

/* The sruns that gather hosts: without a copy of hvdagent, and with one. Shared by all hosts. */
struct srun_pool {
    struct srun *gathering[2];
};

/* ---- the hosts of an srun ---- */

static struct srun_host *find_node(const struct srun *srun, const char *node)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        if (strcasecmp(host->job->target->host, node) == 0)
            return host;
    return NULL;
}

static void on_gathered(uv_timer_t *timer);

static struct srun *srun_create(const struct host_transport_job *job, struct srun_pool *pool,
                                bool has_copy)
{
    struct srun *srun = xcalloc(1, sizeof *srun);
    *srun = (struct srun){ .pool = pool,
                           .loop = job->loop,
                           .settings = job->settings,
                           .children = job->children,
                           .has_copy = has_copy,
                           .fds = { -1, -1 } };
    srun->end_of_hosts = &srun->first;
    uv_must(uv_timer_init(srun->loop, &srun->timer), "timers");
    srun->timer.data = srun;
    srun->open_handles = 1;
    uv_timer_start(&srun->timer, on_gathered, has_copy ? SRUN_COPIES_MS : 0, 0);
    return srun;
}

/* Adds a host to the srun that is gathering. An elastic job may want a second agent for a host; each
 * srun has one task for each. */
static void gather(struct srun_pool *pool, struct srun_host *host, bool has_copy)
{
    const char *name = host->job->target->host;
    struct srun **gathering = &pool->gathering[has_copy];
    if (*gathering &&
        (find_node(*gathering, name) || (*gathering)->nnames + strlen(name) > SRUN_NAMES_MAX))
        *gathering = NULL; /* it is about to start */
    if (!*gathering)
        *gathering = srun_create(host->job, pool, has_copy);
    struct srun *srun = *gathering;
    host->srun = srun;
    host->next = NULL;
    *srun->end_of_hosts = host;
    srun->end_of_hosts = &host->next;
    srun->nhosts++;
    srun->nnames += strlen(name) + 1;
}

static void unlink_host(struct srun_host *host)
{
    struct srun *srun = host->srun;
    for (struct srun_host **at = &srun->first; *at; at = &(*at)->next) {
        if (*at != host)
            continue;
        *at = host->next;
        if (!*at)
            srun->end_of_hosts = at;
        break;
    }
    srun->nhosts--;
}

static void fail_host(struct srun_host *host, int exit_status, const char *text)
{
    if (host->phase != SRUN_HOST_OPENING)
        return;
    host->phase = SRUN_HOST_FAILED;
    host_transport_failed(host->job->connect, exit_status, text);
}

static void fail_all(struct srun *srun, int exit_status, const char *text)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        fail_host(host, exit_status, text);
}

static bool all_are_there(const struct srun *srun)
{
    for (const struct srun_host *host = srun->first; host; host = host->next)
        if (host->phase == SRUN_HOST_OPENING)
            return false;
    return true;
}

/* The port is open only as long as somebody is to come. */
static void close_port(struct srun *srun)
{
    if (!srun->listener || !all_are_there(srun))
        return;
    dial_listener_close(srun->listener);
    srun->listener = NULL;
    job_key_wipe(&srun->key);
}

/* ---- the end ---- */

static void on_srun_handle_closed(uv_handle_t *handle)
{
    struct srun *srun = handle->data;
    if (--srun->open_handles > 0)
        return;
    wire_writer_fini(&srun->bytes);
    free(srun);
}

static void close_output(struct srun *srun, int which)
{
    if (srun->fds[which] < 0)
        return;
    uv_close((uv_handle_t *)&srun->polls[which], on_srun_handle_closed);
    close(srun->fds[which]);
    srun->fds[which] = -1;
}

static void close_input(struct srun *srun)
{
    if (srun->input.data && !uv_is_closing((uv_handle_t *)&srun->input))
        uv_close((uv_handle_t *)&srun->input, on_srun_handle_closed);
}

/* No host is left, and the process has ended, or was never there. */
static void srun_release(struct srun *srun)
{
    for (int i = 0; i < 2; i++)
        if (srun->pool->gathering[i] == srun)
            srun->pool->gathering[i] = NULL;
    dial_listener_close(srun->listener);
    job_key_wipe(&srun->key);
    close_output(srun, 0);
    close_output(srun, 1);
    close_input(srun);
    uv_close((uv_handle_t *)&srun->timer, on_srun_handle_closed);
}

static void on_srun_host_closed(uv_handle_t *handle)
{
    struct srun_host *host = handle->data;
    struct host_connect *connect = host->job->connect;
    free(host);
    host_transport_closed(connect);
}

static void finish_host(struct srun_host *host)
{
    uv_close((uv_handle_t *)&host->later, on_srun_host_closed);
}

static bool srun_lives(const struct srun *srun)
{
    return srun->spawned.pid > 0 && !srun->ended;
}

static void on_srun_late(uv_timer_t *timer)
{
    struct srun *srun = timer->data;
    int signum = srun->told ? SIGKILL : SIGTERM;
    if (kill(-srun->spawned.pid, signum) < 0)
        kill(srun->spawned.pid, signum);
    srun->told = true;
    uv_timer_start(timer, on_srun_late, SRUN_GRACE_MS, 0);
}

static void close_srun_host(void *transport)
{
    struct srun_host *host = transport;
    struct srun *srun = host->srun;
    srun->incomplete |= host->phase != SRUN_HOST_CONNECTED;
    host->phase = SRUN_HOST_CLOSING;
    unlink_host(host);
    if (srun->nhosts > 0) {
        close_port(srun);
        finish_host(host);
    } else if (srun_lives(srun)) {
        srun->last = host;
        dial_listener_close(srun->listener);
        srun->listener = NULL;
        uv_timer_start(&srun->timer, on_srun_late, srun->incomplete ? 0 : SRUN_END_MS, 0);
    } else {
        finish_host(host);
        srun_release(srun);
    }
}

/* ---- what srun says ---- */

/* The cause of a host's end: the line that explains most, and of these the first. */
static void explain_host(struct srun_host *host, enum srun_line_kind kind, const char *text)
{
    if (kind <= host->explained && *host->why)
        return;
    host->explained = kind;
    snprintf(host->why, sizeof host->why, "Slurm: %s", text);
    if (host->phase == SRUN_HOST_CONNECTED)
        host_transport_explain(host->job->connect, host->why, host->explained >= SRUN_ABORTED);
}

static void explain_all(struct srun *srun, enum srun_line_kind kind, const char *text)
{
    if (kind == SRUN_SAYS) { /* the last such line, if srun fails */
        snprintf(srun->why, sizeof srun->why, "%s", text);
        return;
    }
    for (struct srun_host *host = srun->first; host; host = host->next)
        explain_host(host, kind, text);
}

static void end_task(struct srun_host *host)
{
    if (host->ended || host->phase != SRUN_HOST_CONNECTED)
        return;
    host->ended = true;
    host_transport_process_end(host->job->connect, 0);
}

/* A task that has ended before its agent has come. Slurm names its exit status; the cause is in the
 * last line that such a task has written, as when hvdagent cannot connect to us. */
static void fail_early(struct srun_host *host)
{
    char text[900];
    const char *said = host->srun->why;
    snprintf(text, sizeof text, "hvdagent was not started: %s%s%s", host->why, *said ? ": " : "",
             said);
    fail_host(host, STATUS_UNREACHABLE, text);
}

static void take_words_of_slurm(struct srun *srun, const struct srun_line *line)
{
    char text[400];
    snprintf(text, sizeof text, "%.*s", line->length, line->text);
    if (line->hosts.count == 0)
        explain_all(srun, line->kind, text);
    for (int i = 0; i < line->hosts.count; i++) {
        struct srun_host *host = find_node(srun, line->hosts.hosts[i].name);
        if (!host)
            continue;
        explain_host(host, line->kind, text);
        fail_early(host);
        end_task(host);
    }
    if (srun->first) /* once, for all hosts */
        host_transport_note(srun->first->job->connect, false, text);
}

static struct srun_host *find_task(const struct srun *srun, int task)
{
    for (struct srun_host *host = srun->first; host; host = host->next)
        if (host->task == task)
            return host;
    return NULL;
}

/* A line of hvdagent's stderr belongs to its host. Before the agent has connected nobody knows which
 * host that is. */
static void take_words_of_task(struct srun *srun, const struct srun_line *line)
{
    struct srun_host *host = find_task(srun, line->task);
    if (!host) {
        explain_all(srun, SRUN_SAYS, line->text);
        return;
    }
    host_transport_stderr(host->job->connect, line->text, (size_t)line->length);
    host_transport_stderr(host->job->connect, "\n", 1);
}

static void on_srun_error_line(void *context, const char *text)
{
    struct srun *srun = context;
    struct srun_line line;
    srun_line_read(&line, text);
    if (line.kind == SRUN_TASK_WROTE)
        take_words_of_task(srun, &line);
    else
        take_words_of_slurm(srun, &line);
    srun_line_fini(&line);
}

/* Takes the next word of `rest`. */
static char *next_word(char **rest)
{
    char *word = *rest, *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void send_copy(struct srun_host *host, const char *machine)
{
    struct utsname here;
    char own[2 * sizeof here.sysname] = "", text[300];
    if (uname(&here) == 0)
        snprintf(own, sizeof own, "%s %s", here.sysname, here.machine);
    if (strcmp(own, machine) == 0) {
        struct srun *srun = host->srun;
        unlink_host(host);
        gather(srun->pool, host, true);
        close_port(srun);
        if (srun->nhosts == 0) /* nobody waits for its end */
            uv_timer_start(&srun->timer, on_srun_late, SRUN_END_MS, 0);
        return;
    }
    snprintf(text, sizeof text,
             "hvdagent is not installed there, and a copy of ours, for %.80s, cannot run on %.80s",
             own, machine);
    fail_host(host, STATUS_UNREACHABLE, text);
}

/* A mark of the script (agent_bootstrap.h), behind "hvd-NONCE ". */
static void take_srun_mark(struct srun *srun, char *rest)
{
    char text[400];
    const char *word = next_word(&rest), *node = next_word(&rest);
    struct srun_host *host = find_node(srun, node);
    if (!host || host->phase != SRUN_HOST_OPENING)
        return;
    if (strcmp(word, "missing") == 0 && !srun->has_copy) {
        send_copy(host, rest);
    } else if (strcmp(word, "fail") == 0) {
        snprintf(text, sizeof text, "hvdagent is not installed there, and cannot be sent: %s",
                 rest);
        fail_host(host, STATUS_UNREACHABLE, text);
    }
}

static void on_srun_output_line(void *context, const char *text)
{
    struct srun *srun = context;
    struct srun_line line;
    char mark[500], prefix[32];
    srun_line_read(&line, text);
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "hvd-%s ", srun->nonce);
    if (strncmp(line.text, prefix, length) == 0) {
        snprintf(mark, sizeof mark, "%s", line.text + length);
        take_srun_mark(srun, mark);
    }
    srun_line_fini(&line);
}

static void read_output(struct srun *srun, int which)
{
    char data[4096];
    ssize_t n = 1;
    for (int i = 0; i < SRUN_READS_IN_TURN && n > 0 && srun->fds[which] >= 0; i++) {
        n = read(srun->fds[which], data, sizeof data);
        if (n > 0)
            connect_stderr_feed(&srun->lines[which], data, (size_t)n,
                                which == 0 ? on_srun_output_line : on_srun_error_line, srun);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&srun->polls[which]);
}

static void on_srun_readable(uv_poll_t *poll, int status, int events)
{
    struct srun *srun = poll->data;
    (void)status;
    (void)events;
    read_output(srun, poll == &srun->polls[1]);
}

/* ---- the process has ended ---- */

static void fail_absent(struct srun *srun)
{
    char how[96], text[600];
    wait_status_text(how, sizeof how, srun->wait_status);
    for (struct srun_host *host = srun->first; host; host = host->next) {
        const char *why = *host->why ? host->why : srun->why;
        snprintf(text, sizeof text, "hvdagent was not started: srun %s%s%s", how, *why ? ": " : "",
                 why);
        fail_host(host, STATUS_UNREACHABLE, text);
    }
}

static void on_srun_ended(void *context, pid_t pid, int wait_status)
{
    struct srun *srun = context;
    (void)pid;
    srun->ended = true;
    srun->wait_status = wait_status;
    if (srun->last || !srun->first) { /* all hosts were closed, or wait for another srun */
        if (srun->last)
            finish_host(srun->last);
        srun_release(srun);
        return;
    }
    read_output(srun, 0);
    read_output(srun, 1);
    fail_absent(srun);
    for (struct srun_host *host = srun->first; host; host = host->next)
        end_task(host);
    close_port(srun);
    if (!srun->first)
        srun_release(srun);
}

/* ---- an agent has come ---- */

static void on_srun_agent(void *context, const struct dial_hello *hello, int fd)
{
    struct srun *srun = context;
    struct srun_host *host = find_node(srun, hello->node);
    if (!host || host->phase != SRUN_HOST_OPENING) {
        close(fd);
        return;
    }
    struct host_stream stream = { .input = fd, .output = fd, .agent = true, .srun = true };
    host->phase = SRUN_HOST_CONNECTED;
    host->stream = fd;
    host->task = (int)hello->task;
    if (*host->why)
        host_transport_explain(host->job->connect, host->why, host->explained >= SRUN_ABORTED);
    host_transport_opened(host->job->connect, &stream);
    close_port(srun);
}

/* ---- the beginning ---- */

/* Variables of Slurm that srun would take for options of ours: the step has all processors of the
 * allocation, and one task for each host. */
static bool is_option_of_srun(const char *entry)
{
    static const char *const names[] = {
        "SLURM_CPUS_PER_TASK=",   "SLURM_DISTRIBUTION=",   "SLURM_EXACT=",
        "SLURM_EXCLUSIVE=",       "SLURM_GPUS_PER_TASK=",  "SLURM_HINT=",
        "SLURM_NTASKS_PER_CORE=", "SLURM_NTASKS_PER_GPU=", "SLURM_NTASKS_PER_SOCKET=",
        "SLURM_NTASKS_PER_TRES=", "SLURM_OVERLAP=",        "SLURM_TRES_PER_TASK=",
        "SRUN_CPUS_PER_TASK=",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Our environment, but for what selects accelerators of this machine. A variable instead of the
 * option --overlap, because Slurm before 20.11 does not know that. */
static void srun_environment(struct string_list *list)
{
    struct string_list devices = { 0 };
    worker_environment_devices(&devices, environ);
    for (char **entry = environ; *entry; entry++) {
        bool is_device = false;
        for (size_t i = 0; i < devices.count; i++)
            is_device |= strcmp(devices.items[i], *entry) == 0;
        if (!is_device && !is_option_of_srun(*entry))
            string_list_add(list, *entry, strlen(*entry));
    }
    string_list_take(list, xstrdup("SLURM_OVERLAP=1"));
    string_list_fini(&devices);
}

static void srun_words(struct string_list *words, const struct srun *srun, const char *script)
{
    static const char *const always[] = { "--ntasks-per-node=1",
                                          "--no-kill",
                                          "--kill-on-bad-exit=0",
                                          "--wait=0",
                                          "--cpu-bind=none",
                                          "--mpi=none",
                                          "--export=ALL",
                                          "--chdir=/",
                                          "--label",
                                          "/bin/sh",
                                          "-c" };
    struct text_buffer names = { 0 };
    for (const struct srun_host *host = srun->first; host; host = host->next)
        text_buffer_printf(&names, "%s%s", names.length > 0 ? "," : "", host->job->target->host);
    char *list = text_buffer_take(&names);
    string_list_take(words, xstrdup("srun"));
    string_list_take(words, xasprintf("--nodes=%d", srun->nhosts));
    string_list_take(words, xasprintf("--ntasks=%d", srun->nhosts));
    string_list_take(words, xasprintf("--nodelist=%s", list));
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        string_list_take(words, xstrdup(always[i]));
    string_list_take(words, xstrdup(script));
    free(list);
}

/* Reads the copy into what stdin will have. 0, or an errno. */
static int put_copy(struct srun *srun, size_t *size)
{
    int fd = open(srun->settings->agent, O_RDONLY | O_CLOEXEC);
    int errnum = fd < 0 ? errno : program_image_size(fd, size);
    if (errnum == 0 && !wire_reserve(&srun->bytes, *size))
        errnum = ENOMEM;
    while (errnum == 0 && srun->bytes.length < *size) {
        ssize_t n = read(fd, srun->bytes.data + srun->bytes.length, *size - srun->bytes.length);
        if (n <= 0)
            errnum = n == 0 ? ESTALE : errno;
        else
            srun->bytes.length += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return errnum;
}

static void put_invitation(struct srun *srun)
{
    struct dial_invitation invitation = { .version = DIAL_VERSION,
                                          .port = dial_listener_port(srun->listener),
                                          .key = srun->key };
    struct interfaces here = { 0 };
    interfaces_read(&here, NULL);
    for (int i = 0; i < here.count && invitation.naddresses < DIAL_ADDRESSES_MAX; i++)
        if (here.at[i].kind != INTERFACE_LOOPBACK)
            interface_address(&here.at[i], invitation.addresses[invitation.naddresses++],
                              DIAL_ADDRESS_SIZE);
    srun->bytes.secret = true;
    size_t begin = frame_begin(&srun->bytes, DIAL_INVITATION);
    dial_invitation_encode(&srun->bytes, &invitation);
    frame_end(&srun->bytes, begin);
    job_key_wipe(&invitation.key);
}

static void make_nonce(char nonce[BOOTSTRAP_NONCE_SIZE])
{
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
        bits = uv_hrtime();
    snprintf(nonce, BOOTSTRAP_NONCE_SIZE, "%016llx", (unsigned long long)bits);
}

/* A task has read all that is for it, or never will: the end of stdin tells the shells. */
static void on_input_written(uv_write_t *write, int status)
{
    struct srun *srun = write->data;
    (void)status;
    wire_writer_fini(&srun->bytes);
    close_input(srun);
}

/* Takes our ends of the process's streams. */
static void watch_streams(struct srun *srun, int input)
{
    uv_buf_t bytes = uv_buf_init((char *)srun->bytes.data, (unsigned)srun->bytes.length);
    uv_must(uv_pipe_init(srun->loop, &srun->input, 0), "streams");
    srun->input.data = srun->write.data = srun;
    srun->open_handles++;
    uv_must(uv_pipe_open(&srun->input, input), "streams");
    if (uv_write(&srun->write, (uv_stream_t *)&srun->input, &bytes, 1, on_input_written) < 0)
        close_input(srun);
    for (int i = 0; i < 2; i++) {
        uv_must(uv_poll_init(srun->loop, &srun->polls[i], srun->fds[i]), "streams");
        srun->polls[i].data = srun;
        srun->open_handles++;
        uv_must(uv_poll_start(&srun->polls[i], UV_READABLE, on_srun_readable), "streams");
    }
}

static int spawn_srun(struct srun *srun, const char *path, char **words, const int ends[3],
                      struct err *err)
{
    struct string_list environment = { 0 };
    srun_environment(&environment);
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
        children_watch(srun->children, srun->spawned.pid, on_srun_ended, srun);
    string_list_fini(&environment);
    return errnum == 0 ? rc : fail_errno(err, HVD_ERR_SYSTEM, errnum, "srun");
}

static void close_pairs(int pairs[3][2], int side)
{
    for (int i = 0; i < 3; i++)
        if (pairs[i][side] >= 0)
            close(pairs[i][side]);
}

/* Starts the process with a pipe for each of its streams. */
static int spawn_with_pipes(struct srun *srun, const char *path, char **words, struct err *err)
{
    int pairs[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* read, write */
    for (int i = 0; i < 3; i++)
        if (pipe2(pairs[i], O_CLOEXEC) < 0) {
            fail_errno(err, HVD_ERR_SYSTEM, errno, "pipe");
            close_pairs(pairs, 0);
            close_pairs(pairs, 1);
            return HVD_ERR_SYSTEM;
        }
    int theirs[3] = { pairs[0][0], pairs[1][1], pairs[2][1] };
    int rc = spawn_srun(srun, path, words, theirs, err);
    for (int i = 0; i < 3; i++)
        close(theirs[i]);
    srun->fds[0] = pairs[1][0];
    srun->fds[1] = pairs[2][0];
    for (int i = 0; i < 2; i++)
        fcntl(srun->fds[i], F_SETFL, O_RDONLY | O_NONBLOCK);
    watch_streams(srun, pairs[0][1]);
    return rc;
}

/* Everything up to the running process. 0, or an exit status and `err`. */
static int srun_prepare(struct srun *srun, struct err *err)
{
    const struct srun_settings *settings = srun->settings->srun;
    struct string_list words = { 0 };
    char *path = NULL;
    size_t copy_size = 0;
    int errnum = srun->has_copy ? put_copy(srun, &copy_size) : 0;
    if (errnum != 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errnum, "%s", srun->settings->agent);
        return STATUS_RESOURCE;
    }
    if (program_find("srun", getenv("PATH"), &path, err) != 0)
        return STATUS_UNREACHABLE;
    job_key_generate(&srun->key);
    srun->listener = dial_listener_open(srun->loop, &srun->key, settings->port_low,
                                        settings->port_high, on_srun_agent, srun, err);
    int rc = HVD_ERR_SYSTEM;
    if (srun->listener) {
        make_nonce(srun->nonce);
        put_invitation(srun);
        char *script = agent_bootstrap_task_script(srun->nonce, srun->settings->agent, copy_size);
        srun_words(&words, srun, script);
        rc = spawn_with_pipes(srun, path, words.items, err);
        free(script);
    }
    string_list_fini(&words);
    free(path);
    return rc == HVD_OK ? 0 : STATUS_RESOURCE;
}

static void on_gathered(uv_timer_t *timer)
{
    struct srun *srun = timer->data;
    struct err err = { 0 };
    if (srun->pool->gathering[srun->has_copy] == srun)
        srun->pool->gathering[srun->has_copy] = NULL;
    for (struct srun_host *host = srun->first; host; host = host->next)
        host_transport_step(host->job->connect, STEP_CONNECT);
    int failed = srun->first ? srun_prepare(srun, &err) : 0;
    if (failed)
        fail_all(srun, failed, err.text);
}

static void *open_srun_host(const struct host_transport_job *job)
{
    void **shared = host_transport_shared(job->connect);
    if (!*shared)
        *shared = xcalloc(1, sizeof(struct srun_pool));
    struct srun_host *host = xcalloc(1, sizeof *host);
    host->job = job;
    host->stream = host->task = -1;
    uv_must(uv_timer_init(job->loop, &host->later), "timers");
    host->later.data = host;
    gather(*shared, host, false);
    return host;
}

/* Asked only while the owner of the stream has it open. */
static uint64_t srun_acknowledged(const void *transport)
{
    const struct srun_host *host = transport;
    return host->stream >= 0 ? tcp_acknowledged(host->stream) : 0;
}

const struct host_transport transport_srun = { "srun", open_srun_host, close_srun_host,
                                               srun_acknowledged };
