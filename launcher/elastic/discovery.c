/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of hosts; see discovery.h. A run of a script that fails, and a hostfile that cannot
 * be read or is malformed, change nothing but that it is said. At most one run goes on at a time.
 * The state of a hostfile is asked for in a thread of libuv, since a network file system may
 * hang. */
#include "launcher/elastic/discovery.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Who hears of hosts, and which failures have been said since the last success. */
struct discovery_listener {
    const struct discovery_events *events;
    void *context;
    bool said_no_hosts; /* HVD_ERR_INVALID */
    bool said_failed;   /* HVD_ERR_SYSTEM */
};

static void discovery_listener_forget(struct discovery_listener *listener)
{
    listener->said_no_hosts = listener->said_failed = false;
}

static void discovery_tell(struct discovery_listener *listener, int rc,
                           const struct host_list *hosts, const struct err *err)
{
    if (rc == HVD_OK) {
        discovery_listener_forget(listener);
        listener->events->hosts(listener->context, hosts);
        return;
    }
    bool *said = rc == HVD_ERR_INVALID ? &listener->said_no_hosts : &listener->said_failed;
    if (*said)
        return;
    *said = true;
    char *line = xasprintf("%s; the hosts stay as they were", err->text);
    listener->events->warning(listener->context, line);
    free(line);
}

/* ---- a script ---- */

struct discovery_script {
    struct discovery discovery;
    struct discovery_listener listener;
    uv_timer_t timer; /* between two runs */
    unsigned interval_ms;
    struct children *children;
    const struct discovery_settings *settings;
    struct discovery_run *run; /* NULL: none goes on */
};

static void discovery_script_run(uv_timer_t *timer);

static void on_discovery_script_end(void *context, int rc, struct host_list *hosts, struct err *err)
{
    struct discovery_script *script = context;
    script->run = NULL;
    uv_timer_start(&script->timer, discovery_script_run, script->interval_ms, 0);
    discovery_tell(&script->listener, rc, hosts, err); /* may destroy it */
    host_list_fini(hosts);
}

/* A second script would most likely hang as well, so none runs until this one has ended. */
static void on_discovery_script_stuck(void *context, struct err *err)
{
    struct discovery_script *script = context;
    discovery_tell(&script->listener, err->code, NULL, err);
}

static void discovery_script_run(uv_timer_t *timer)
{
    struct discovery_script *script = timer->data;
    script->run = discovery_run_start(timer->loop, script->children, script->settings,
                                      on_discovery_script_end, on_discovery_script_stuck, script);
}

static void on_discovery_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void discovery_script_destroy(struct discovery *discovery)
{
    struct discovery_script *script = (struct discovery_script *)discovery;
    discovery_run_cancel(script->run);
    uv_close((uv_handle_t *)&script->timer, on_discovery_closed);
}

struct discovery *discovery_script_create(uv_loop_t *loop, struct children *children,
                                          const struct discovery_settings *settings,
                                          unsigned interval_ms,
                                          const struct discovery_events *events, void *context)
{
    struct discovery_script *script = xcalloc(1, sizeof *script);
    script->discovery.destroy = discovery_script_destroy;
    script->listener = (struct discovery_listener){ .events = events, .context = context };
    script->interval_ms = interval_ms ? interval_ms : DISCOVERY_INTERVAL_MS;
    script->children = children;
    script->settings = settings;
    uv_must(uv_timer_init(loop, &script->timer), "timers");
    script->timer.data = script;
    uv_timer_start(&script->timer, discovery_script_run, script->interval_ms, 0);
    return &script->discovery;
}

/* ---- a hostfile ---- */

/* What tells whether a file has changed. */
struct file_mark {
    uint64_t device, inode, size;
    uv_timespec_t modified, changed;
};

struct discovery_hostfile {
    struct discovery discovery;
    struct discovery_listener listener;
    uv_timer_t timer; /* between two looks */
    unsigned interval_ms;
    uv_fs_t look;
    bool looking, closing, closed;
    bool known; /* `mark` is that of the hosts that were told last */
    struct file_mark mark;
    char *path;
};

static struct file_mark file_mark_of(const uv_stat_t *stat)
{
    return (struct file_mark){ stat->st_dev, stat->st_ino, stat->st_size, stat->st_mtim,
                               stat->st_ctim };
}

static bool file_mark_is(const struct file_mark *a, const struct file_mark *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* A FIFO has given its hosts already. */
static void discovery_hostfile_read(struct discovery_hostfile *file, const uv_stat_t *stat)
{
    struct host_list hosts = { 0 };
    struct err err = { 0 };
    struct file_mark mark = file_mark_of(stat);
    if (S_ISFIFO(stat->st_mode) || (file->known && file_mark_is(&mark, &file->mark)))
        return;
    file->known = true;
    file->mark = mark;
    int rc = host_list_read_hostfile(&hosts, file->path, &err);
    discovery_listener_forget(&file->listener); /* another version of the file */
    discovery_tell(&file->listener, rc, &hosts, &err);
    host_list_fini(&hosts);
}

static void discovery_hostfile_free(struct discovery_hostfile *file)
{
    if (!file->closed || file->looking)
        return;
    free(file->path);
    free(file);
}

static void discovery_hostfile_look(uv_timer_t *timer);

static void on_discovery_hostfile_look(uv_fs_t *look)
{
    struct discovery_hostfile *file = look->data;
    ssize_t result = look->result;
    uv_stat_t stat = look->statbuf;
    uv_fs_req_cleanup(look);
    file->looking = false;
    if (file->closing) {
        discovery_hostfile_free(file);
        return;
    }
    uv_timer_start(&file->timer, discovery_hostfile_look, file->interval_ms, 0);
    if (result < 0) {
        struct err err = { 0 };
        int rc =
            fail(&err, HVD_ERR_SYSTEM, "%s: cannot stat: %s", file->path, uv_strerror((int)result));
        file->known = false;
        discovery_tell(&file->listener, rc, NULL, &err);
    } else {
        discovery_hostfile_read(file, &stat);
    }
}

static void discovery_hostfile_look(uv_timer_t *timer)
{
    struct discovery_hostfile *file = timer->data;
    file->look.data = file;
    file->looking = true;
    uv_must(uv_fs_stat(timer->loop, &file->look, file->path, on_discovery_hostfile_look), "files");
}

static void on_discovery_hostfile_closed(uv_handle_t *handle)
{
    struct discovery_hostfile *file = handle->data;
    file->closed = true;
    discovery_hostfile_free(file);
}

static void discovery_hostfile_destroy(struct discovery *discovery)
{
    struct discovery_hostfile *file = (struct discovery_hostfile *)discovery;
    file->closing = true;
    if (file->looking)
        uv_cancel((uv_req_t *)&file->look);
    uv_close((uv_handle_t *)&file->timer, on_discovery_hostfile_closed);
}

struct discovery *discovery_hostfile_create(uv_loop_t *loop, const char *path, unsigned interval_ms,
                                            const struct discovery_events *events, void *context)
{
    struct discovery_hostfile *file = xcalloc(1, sizeof *file);
    file->discovery.destroy = discovery_hostfile_destroy;
    file->listener = (struct discovery_listener){ .events = events, .context = context };
    file->interval_ms = interval_ms ? interval_ms : DISCOVERY_INTERVAL_MS;
    file->path = xstrdup(path);
    uv_must(uv_timer_init(loop, &file->timer), "timers");
    file->timer.data = file;
    uv_timer_start(&file->timer, discovery_hostfile_look, file->interval_ms, 0);
    return &file->discovery;
}

/* ---- fixed hosts ---- */

static void discovery_fixed_destroy(struct discovery *discovery)
{
    free(discovery);
}

struct discovery *discovery_fixed_create(void)
{
    struct discovery *discovery = xcalloc(1, sizeof *discovery);
    discovery->destroy = discovery_fixed_destroy;
    return discovery;
}
