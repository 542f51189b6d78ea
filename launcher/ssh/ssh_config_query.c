/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the ssh client for its configuration:
 *   find ssh in PATH, run `ssh -G [-p PORT] [-l USER] -- HOST`, wait for its end, read what it has
 *   printed. Without a client the answer is its defaults.
 * The client prints into files in memory that cannot grow beyond their size, so that nobody need
 * read meanwhile, and a process that the client leaves behind cannot keep us waiting. Fails when
 * the client cannot be run, ends with an error (explained on its stderr), is killed, has not ended
 * after 5 s, or prints more than 1 MiB or text that ssh -G does not print. */
#include "launcher/base/slice.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/children.h"
#include "launcher/process/program_find.h"
#include "launcher/process/spawn.h"
#include "launcher/ssh/ssh_config.h"
#include "launcher/ssh/ssh_config_expand.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 5000, OUTPUT_MAX = 1 << 20, ERRORS_MAX = 1 << 16, WORDS_MAX = 300 };

extern char **environ;

/* running -> answered;  either -> closed, by the timer's end */
struct ssh_config_query {
    uv_timer_t timer; /* the 5 s; or 0, when there is an answer already */
    struct children *children;
    pid_t pid;          /* 0 while it does not run */
    int output, errors; /* files in memory; -1 when there are none */
    char *host, *user;
    int port;
    bool without_client;
    struct err err; /* why it could not be run */
    ssh_config_fn *on_answer;
    void *context;
};

/* ---- running it ---- */

/* A file in memory with a fixed size; -1 on failure. */
static int make_file(const char *name, off_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
        return fd;
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static void ssh_config_query_add(struct string_list *argv, const char *text)
{
    string_list_add(argv, text, strlen(text));
}

static struct string_list make_argv(const struct ssh_config_query *query)
{
    struct string_list argv = { 0 };
    ssh_config_query_add(&argv, "ssh");
    ssh_config_query_add(&argv, "-G");
    if (query->port > 0) {
        ssh_config_query_add(&argv, "-p");
        string_list_take(&argv, xasprintf("%d", query->port));
    }
    if (query->user) {
        ssh_config_query_add(&argv, "-l");
        ssh_config_query_add(&argv, query->user);
    }
    ssh_config_query_add(&argv, "--");
    ssh_config_query_add(&argv, query->host);
    return argv;
}

static int ssh_config_query_run(struct ssh_config_query *query, const char *program, int null)
{
    struct spawned spawned;
    struct string_list argv = make_argv(query);
    struct spawn_request request = {
        .path = program,
        .argv = argv.items,
        .envp = environ,
        .stdio = { null, query->output, query->errors },
        .death_signal = SIGKILL,
    };
    int rc = spawn_start(&request, &spawned, &query->err);
    string_list_fini(&argv);
    if (rc < 0)
        return rc;
    int code = spawn_confirm(&spawned);
    if (code != 0) /* the child has ended, and is reaped unwatched */
        return fail_errno(&query->err, HVD_ERR_ENVIRONMENT, code, "%s", program);
    query->pid = spawned.pid;
    return HVD_OK;
}

static int ssh_config_query_start(struct ssh_config_query *query, const char *program)
{
    query->output = make_file("ssh -G", OUTPUT_MAX);
    query->errors = make_file("ssh -G errors", ERRORS_MAX);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int rc = HVD_OK;
    if (query->output < 0 || query->errors < 0 || null < 0)
        rc = fail_errno(&query->err, HVD_ERR_SYSTEM, errno, "run %s", program);
    else
        rc = ssh_config_query_run(query, program, null);
    if (null >= 0)
        close(null);
    return rc;
}

/* ---- the end of it ---- */

static void on_ssh_config_query_closed(uv_handle_t *handle)
{
    struct ssh_config_query *query = handle->data;
    free(query->host);
    free(query->user);
    free(query);
}

/* Also kills processes that ssh may have started: commands of "Match exec". */
static void kill_it(struct ssh_config_query *query)
{
    if (query->pid <= 0)
        return;
    children_forget(query->children, query->pid);
    kill(-query->pid, SIGKILL);
    kill(query->pid, SIGKILL);
    query->pid = 0;
}

static void close_query(struct ssh_config_query *query)
{
    kill_it(query);
    if (query->output >= 0)
        close(query->output);
    if (query->errors >= 0)
        close(query->errors);
    uv_close((uv_handle_t *)&query->timer, on_ssh_config_query_closed);
}

/* The contents of a file in memory, owned by the caller. The file position is shared with the
 * writer. */
static char *read_file(int fd, size_t *length)
{
    off_t end = lseek(fd, 0, SEEK_CUR);
    char *text = xmalloc(end > 0 ? (size_t)end : 1);
    ssize_t n = end > 0 ? pread(fd, text, (size_t)end, 0) : 0;
    *length = n > 0 ? (size_t)n : 0;
    return text;
}

/* The first line on stderr that is not empty: later lines only count the errors. NULL if there is
 * none; else owned by the caller. */
static char *first_words(const struct ssh_config_query *query)
{
    size_t length;
    char *text = read_file(query->errors, &length);
    struct slice rest = { text, length };
    while (rest.length > 0 && (*rest.at == '\n' || *rest.at == '\r' || is_blank(*rest.at)))
        rest = slice_between(rest.at + 1, slice_end(rest));
    size_t end = 0;
    while (end < rest.length && end < WORDS_MAX && rest.at[end] != '\n' && rest.at[end] != '\r')
        end++;
    char *words = end > 0 ? xstrndup(rest.at, end) : NULL;
    if (words)
        text_make_ascii(words);
    free(text);
    return words;
}

static int fail_with_its_words(const struct ssh_config_query *query, int wait_status,
                               struct err *err)
{
    char *words = first_words(query);
    if (words)
        fail(err, HVD_ERR_ENVIRONMENT, "ssh -G: %s", words);
    else if (WIFSIGNALED(wait_status))
        fail(err, HVD_ERR_ENVIRONMENT, "ssh -G was killed by signal %d", WTERMSIG(wait_status));
    else
        fail(err, HVD_ERR_ENVIRONMENT, "ssh -G has failed with status %d",
             WEXITSTATUS(wait_status));
    free(words);
    return err->code;
}

/* 0 if the file can be read or is not there; else an errno. */
static int try_to_read(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int code = fd < 0 && errno != ENOENT && errno != ENOTDIR ? errno : 0;
    if (fd < 0)
        return code;
    if (read(fd, &byte, 1) < 0 && errno != EAGAIN && errno != EINTR)
        code = errno;
    close(fd);
    return code;
}

/* ssh passes over a file of its configuration that cannot be read, and says nothing. */
static char *find_unread_file(void)
{
    char *home = ssh_config_home();
    char *files[] = { xasprintf("%s/.ssh/config", home), xstrdup("/etc/ssh/ssh_config") };
    char *unread = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int code = try_to_read(files[i]);
        if (code != 0 && !unread)
            unread = xasprintf("%s cannot be read: %s", files[i], strerror(code));
        free(files[i]);
    }
    free(home);
    return unread;
}

static int understand(const struct ssh_config_query *query, int wait_status,
                      struct ssh_config *config, struct err *err)
{
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return fail_with_its_words(query, wait_status, err);
    size_t length;
    char *text = read_file(query->output, &length);
    int rc = length < OUTPUT_MAX
                 ? ssh_config_parse(config, text, length, err)
                 : fail(err, HVD_ERR_PROTOCOL, "ssh -G has printed more than 1 MiB");
    if (rc == HVD_OK)
        config->unread = find_unread_file();
    free(text);
    return rc;
}

/* Closes the query before the receiver is called, so that the receiver may call anything. */
static void ssh_config_query_answer(struct ssh_config_query *query, struct ssh_config *config,
                                    const struct err *err)
{
    ssh_config_fn *on_answer = query->on_answer;
    void *context = query->context;
    close_query(query);
    on_answer(context, config, err);
}

static void on_end(void *context, pid_t pid, int wait_status)
{
    struct ssh_config_query *query = context;
    struct ssh_config config = { 0 };
    struct err err = { 0 };
    (void)pid;
    query->pid = 0;
    understand(query, wait_status, &config, &err);
    ssh_config_query_answer(query, &config, &err);
}

/* The time is up, or ssh could not be run. */
static void on_ssh_config_query_timer(uv_timer_t *timer)
{
    struct ssh_config_query *query = timer->data;
    struct ssh_config config = { 0 };
    struct err err = query->err;
    if (query->without_client) {
        ssh_config_default(&config, query->host, query->user);
        config.port = query->port > 0 ? query->port : config.port;
    } else if (query->pid > 0) {
        fail(&err, HVD_ERR_TIMEOUT, "ssh -G has not ended after %d s", LIMIT_MS / 1000);
    }
    ssh_config_query_answer(query, &config, &err);
}

struct ssh_config_query *ssh_config_ask(uv_loop_t *loop, struct children *children,
                                        const char *host, const char *user, int port,
                                        ssh_config_fn *on_answer, void *context)
{
    struct ssh_config_query *query = xmalloc(sizeof *query);
    *query = (struct ssh_config_query){
        .children = children,
        .output = -1,
        .errors = -1,
        .host = xstrdup(host),
        .user = xstrdup(user),
        .port = port,
        .on_answer = on_answer,
        .context = context,
    };
    char *program = NULL;
    query->without_client = program_find("ssh", getenv("PATH"), &program, NULL) != 0;
    bool runs = !query->without_client && ssh_config_query_start(query, program) == HVD_OK;
    free(program);
    if (runs)
        children_watch(children, query->pid, on_end, query);
    uv_must(uv_timer_init(loop, &query->timer), "timers");
    query->timer.data = query;
    uv_timer_start(&query->timer, on_ssh_config_query_timer, runs ? LIMIT_MS : 0, 0);
    return query;
}

void ssh_config_cancel(struct ssh_config_query *query)
{
    if (query)
        close_query(query);
}
