/* SPDX-License-Identifier: Apache-2.0 */
/* Reaping children; see children.h. Never fails: a pid that is not watched is reaped without a
 * report. */
#include "launcher/process/children.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>

struct child {
    pid_t pid;
    child_fn *on_end;
    void *context;
};

struct children {
    uv_signal_t sigchld;
    struct child *watched;
    size_t count, room;
};

/* Removes a child from the list. False if nobody watches it. */
static bool children_take(struct children *children, pid_t pid, struct child *child)
{
    for (size_t i = 0; i < children->count; i++) {
        if (children->watched[i].pid != pid)
            continue;
        *child = children->watched[i];
        children->watched[i] = children->watched[--children->count];
        return true;
    }
    return false;
}

static void on_sigchld(uv_signal_t *handle, int signum)
{
    struct children *children = handle->data;
    struct child child;
    pid_t pid;
    (void)signum;
    for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (children_take(children, pid, &child))
            child.on_end(child.context, pid, status);
}

struct children *children_create(uv_loop_t *loop)
{
    struct children *children = xcalloc(1, sizeof *children);
    uv_must(uv_signal_init(loop, &children->sigchld), "signals");
    children->sigchld.data = children;
    uv_must(uv_signal_start(&children->sigchld, on_sigchld, SIGCHLD), "signals");
    return children;
}

void children_watch(struct children *children, pid_t pid, child_fn *on_end, void *context)
{
    if (children->count == children->room) {
        children->room = children->room ? 2 * children->room : 8;
        children->watched =
            xreallocarray(children->watched, children->room, sizeof *children->watched);
    }
    children->watched[children->count++] = (struct child){ pid, on_end, context };
}

void children_forget(struct children *children, pid_t pid)
{
    struct child ignored;
    children_take(children, pid, &ignored);
}

int children_append(const struct children *children, pid_t **pids, int count)
{
    *pids = xreallocarray(*pids, (size_t)count + children->count + 1, sizeof **pids);
    for (size_t i = 0; i < children->count; i++)
        (*pids)[count++] = children->watched[i].pid;
    return count;
}

static void on_children_closed(uv_handle_t *handle)
{
    struct children *children = handle->data;
    free(children->watched);
    free(children);
}

void children_destroy(struct children *children)
{
    if (children)
        uv_close((uv_handle_t *)&children->sigchld, on_children_closed);
}
