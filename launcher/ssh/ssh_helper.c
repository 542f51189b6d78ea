/* SPDX-License-Identifier: Apache-2.0 */
/* Running hvdssh; see ssh_helper.h. It gets none of hvdrun's descriptors, and of the environment
 * only what its libraries read. It stays in hvdrun's session, by which hvdrun knows it from a
 * process that a rank has left behind (cleanup/adopted.h), but not in the group of processes that
 * the terminal sends signals to. */
#include "launcher/ssh/ssh_helper_impl.h"

#include "launcher/base/string_list.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/wait_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/children.h"
#include "launcher/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the loader, libcrypto and sanitizers read. */
static const char *const kept_variables[] = {
    "LD_LIBRARY_PATH", "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES", "OPENSSL_ENGINES",
    "ASAN_OPTIONS",    "LSAN_OPTIONS", "TSAN_OPTIONS",         "UBSAN_OPTIONS"
};

/* ---- the end ---- */

static void on_ssh_helper_closed(uv_handle_t *handle)
{
    struct ssh_helper *helper = handle->data;
    if (--helper->open_handles > 0)
        return;
    struct ssh_helper_user last = helper->last_user;
    free(helper);
    last.on_released(last.context);
}

/* Frees the helper when everything is over. */
static void ssh_helper_check(struct ssh_helper *helper)
{
    if (!helper->ending || helper->pid > 0 || helper->first ||
        uv_is_closing((uv_handle_t *)&helper->limit))
        return;
    if (helper->open_handles == 2)
        uv_close((uv_handle_t *)&helper->poll, on_ssh_helper_closed);
    uv_close((uv_handle_t *)&helper->limit, on_ssh_helper_closed);
    if (helper->fd >= 0)
        close(helper->fd);
    helper->fd = -1;
}

static void on_ssh_helper_limit(uv_timer_t *timer)
{
    const struct ssh_helper *helper = timer->data;
    kill(helper->pid, SIGKILL); /* on_helper_end() follows */
}

/* Its processes have ended: now hvdssh itself. */
static void end_helper(struct ssh_helper *helper)
{
    if (!helper->ending || helper->first)
        return;
    if (helper->pid > 0) {
        shutdown(helper->fd, SHUT_RDWR);
        uv_timer_start(&helper->limit, on_ssh_helper_limit, SSH_END_MS, 0);
    }
    ssh_helper_check(helper);
}

void ssh_helper_on_freed(struct ssh_helper *helper)
{
    end_helper(helper);
}

void ssh_helper_release(struct ssh_helper *helper, void (*on_released)(void *context),
                        void *context)
{
    if (--helper->nusers > 0) {
        on_released(context);
        return;
    }
    *helper->shared = NULL;
    helper->ending = true;
    helper->last_user = (struct ssh_helper_user){ on_released, context };
    end_helper(helper);
}

/* ---- while it runs ---- */

static struct ssh_process *find_process(const struct ssh_helper *helper, uint32_t number)
{
    struct ssh_process *process = helper->first;
    while (process && process->number != number)
        process = process->next;
    return process;
}

static void on_told(struct ssh_helper *helper, const struct ssh_helper_told *told)
{
    struct ssh_process *process = find_process(helper, told->number);
    char how[96], text[160];
    if (!process)
        return;
    bool no_resource = told->what == SSH_HELPER_NOT_STARTED;
    if (no_resource)
        snprintf(how, sizeof how, "cannot make a process: %s", strerror((int)told->value));
    else
        wait_status_text(how, sizeof how, (int)told->value);
    snprintf(text, sizeof text, "hvdssh %s", how);
    ssh_process_on_end(process, no_resource, text);
}

static void on_ssh_helper_poll(uv_poll_t *poll, int status, int events)
{
    struct ssh_helper *helper = poll->data;
    struct ssh_helper_told told;
    ssize_t n;
    (void)status, (void)events;
    while ((n = recv(helper->fd, &told, sizeof told, MSG_DONTWAIT)) == (ssize_t)sizeof told)
        on_told(helper, &told);
    if (n >= 0 || (errno != EAGAIN && errno != EINTR))
        uv_poll_stop(poll);
}

/* Its processes die with it. */
static void on_helper_end(void *context, pid_t pid, int wait_status)
{
    struct ssh_helper *helper = context;
    char how[96], text[160];
    (void)pid;
    wait_status_text(how, sizeof how, wait_status);
    snprintf(text, sizeof text, "hvdssh %s", how);
    helper->pid = 0;
    if (helper->err.code == HVD_OK)
        fail(&helper->err, HVD_ERR_SYSTEM, "%s", text);
    uv_timer_stop(&helper->limit);
    for (struct ssh_process *at = helper->first, *next; at; at = next) {
        next = at->next;
        ssh_process_on_end(at, false, text);
    }
    ssh_helper_check(helper);
}

int ssh_helper_start(struct ssh_helper *helper, uint32_t number,
                     const int sockets[SSH_HELPER_SOCKETS], struct err *err)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SSH_HELPER_SOCKETS * sizeof(int))];
    } control = { 0 };
    struct iovec data = { &number, sizeof number };
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    if (helper->err.code != HVD_OK)
        return fail(err, helper->err.code, "%s", helper->err.text);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(SSH_HELPER_SOCKETS * sizeof(int));
    memcpy(CMSG_DATA(&control.header), sockets, SSH_HELPER_SOCKETS * sizeof(int));
    if (sendmsg(helper->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return HVD_OK;
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "hvdssh takes no host");
}

void ssh_helper_kill(struct ssh_helper *helper, uint32_t number)
{
    if (helper->fd >= 0)
        send(helper->fd, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the start ---- */

static void keep_environment(struct string_list *list)
{
    for (size_t i = 0; i < sizeof kept_variables / sizeof *kept_variables; i++) {
        const char *value = getenv(kept_variables[i]);
        if (value)
            string_list_take(list, xasprintf("%s=%s", kept_variables[i], value));
    }
    string_list_take(list, xstrdup("LC_ALL=C"));
}

/* Executes hvdssh on the other end of our socket. */
static int spawn_helper(struct ssh_helper *helper, const char *path, int end, struct err *err)
{
    static char name[] = "hvdssh";
    struct string_list environment = { 0 };
    struct spawned spawned;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), code = 0;
    if (null < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "/dev/null");
    keep_environment(&environment);
    const struct spawn_request request = {
        .path = path,
        .argv = (char *[]){ name, NULL },
        .envp = environment.items,
        .stdio = { end, null, STDERR_FILENO },
        .death_signal = SIGKILL,
        .share_memory = true,
    };
    int rc = spawn_start(&request, &spawned, err);
    if (rc == HVD_OK) {
        helper->pid = spawned.pid;
        children_watch(helper->children, spawned.pid, on_helper_end, helper);
        if ((code = spawn_confirm(&spawned)) != 0)
            rc = fail_errno(err, HVD_ERR_SYSTEM, code, "%s", path);
    }
    close(null);
    string_list_fini(&environment);
    return rc;
}

static int run_helper(struct ssh_helper *helper, const char *path, struct err *err)
{
    int pair[2];
    if (!path)
        return fail(err, HVD_ERR_SYSTEM, "hvdssh is missing");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "socketpair");
    helper->fd = pair[0];
    int rc = spawn_helper(helper, path, pair[1], err);
    close(pair[1]);
    if (rc < 0)
        return rc;
    uv_must(uv_poll_init(helper->loop, &helper->poll, helper->fd), "socket");
    helper->poll.data = helper;
    helper->open_handles++;
    uv_must(uv_poll_start(&helper->poll, UV_READABLE, on_ssh_helper_poll), "socket");
    return HVD_OK;
}

struct ssh_helper *ssh_helper_use(void **shared, uv_loop_t *loop, struct children *children,
                                  const char *path)
{
    struct ssh_helper *helper = *shared;
    if (helper) {
        helper->nusers++;
        return helper;
    }
    helper = xcalloc(1, sizeof *helper);
    helper->loop = loop;
    helper->children = children;
    helper->shared = shared;
    helper->fd = -1;
    helper->nusers = 1;
    uv_must(uv_timer_init(loop, &helper->limit), "timers");
    helper->limit.data = helper;
    helper->open_handles = 1;
    run_helper(helper, path, &helper->err);
    *shared = helper;
    return helper;
}
