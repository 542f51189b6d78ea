/* SPDX-License-Identifier: Apache-2.0 */
/* libuv's functions, as far as the launcher's and the agent's files call them; see uv.h. Each does
 * what libuv 1.44 does, as its documentation says it: callbacks never come from inside a call, but
 * those that libuv calls so; close callbacks come in a later turn; the loop of a process has come
 * to its end when its last handle is closed. Here: handles, the clock, timers, idle handles and
 * signals. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/uv_impl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct sim_handle *sim_handle_of(const void *uv)
{
    return ((const uv_handle_t *)uv)->u.reserved[0];
}

struct sim_handle *sim_handle_init(uv_loop_t *loop, void *memory, uv_handle_type type,
                                   enum handle_kind kind)
{
    uv_handle_t *uv = memory;
    struct sim_handle *handle = sim_new(sizeof *handle);
    struct sim_process *process = loop->data;
    handle->kind = kind;
    handle->uv = uv;
    handle->process = process;
    handle->fd = -1;
    handle->next = process->handles;
    process->handles = handle;
    uv->loop = loop;
    uv->type = type;
    uv->u.reserved[0] = handle;
    return handle;
}

int sim_uv_open_handles(const struct sim_process *process)
{
    int count = 0;
    for (const struct sim_handle *at = process->handles; at; at = at->next)
        count += !at->closed;
    return count;
}

/* ---- time ---- */

uint64_t uv_hrtime(void)
{
    return (sim_now_us() + sim_clock_ahead_us(sim_current())) * 1000;
}

uint64_t uv_now(const uv_loop_t *loop)
{
    return (sim_now_us() + sim_clock_ahead_us(loop->data)) / 1000;
}

void uv_update_time(uv_loop_t *loop)
{
    (void)loop;
}

int uv_gettimeofday(uv_timeval64_t *now)
{
    *now = (uv_timeval64_t){ .tv_sec = 1700000000 };
    return 0;
}

const char *uv_strerror(int err)
{
    return strerror(-err);
}

uv_buf_t uv_buf_init(char *base, unsigned length)
{
    return (uv_buf_t){ base, length };
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    sim_handle_init(loop, timer, UV_TIMER, HANDLE_TIMER);
    return 0;
}

static void on_timer(void *context)
{
    struct sim_handle *handle = context;
    handle->event = NULL;
    handle->active = handle->repeat_ms > 0;
    if (handle->active)
        handle->event = sim_timer(handle->process, SIM_MS(handle->repeat_ms), on_timer, handle);
    handle->timer_fn((uv_timer_t *)handle->uv);
}

static void stop(struct sim_handle *handle)
{
    sim_cancel(handle->event);
    handle->event = NULL;
    handle->active = false;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t timeout, uint64_t repeat)
{
    struct sim_handle *handle = sim_handle_of(timer);
    if (handle->closing)
        return UV_EINVAL;
    stop(handle);
    handle->active = true;
    handle->timer_fn = fn;
    handle->repeat_ms = repeat;
    handle->event = sim_timer(handle->process, SIM_MS(timeout) + sim_dice(1000), on_timer, handle);
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    stop(sim_handle_of(timer));
    return 0;
}

/* ---- idle ---- */

int uv_idle_init(uv_loop_t *loop, uv_idle_t *idle)
{
    sim_handle_init(loop, idle, UV_IDLE, HANDLE_IDLE);
    return 0;
}

static void on_idle(void *context);

/* In each turn, between two of which the loop reads all signals that had come. */
static void idle_again(struct sim_handle *handle)
{
    uint64_t due_us = handle->process->signals_due_us, now_us = sim_now_us();
    uint64_t delay_us = due_us > now_us ? due_us - now_us : 0;
    handle->event = sim_after(handle->process, delay_us + 1, on_idle, handle);
}

static void on_idle(void *context)
{
    struct sim_handle *handle = context;
    idle_again(handle);
    handle->idle_fn((uv_idle_t *)handle->uv);
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb fn)
{
    struct sim_handle *handle = sim_handle_of(idle);
    if (handle->active)
        return 0;
    handle->active = true;
    handle->idle_fn = fn;
    idle_again(handle);
    return 0;
}

int uv_idle_stop(uv_idle_t *idle)
{
    stop(sim_handle_of(idle));
    return 0;
}

/* ---- descriptors: nothing ever comes (__wrap_read()) ---- */

int uv_poll_init(uv_loop_t *loop, uv_poll_t *poll, int fd)
{
    (void)fd;
    sim_handle_init(loop, poll, UV_POLL, HANDLE_POLL);
    return 0;
}

int uv_poll_start(uv_poll_t *poll, int events, uv_poll_cb fn)
{
    (void)poll, (void)events, (void)fn;
    return 0;
}

int uv_poll_stop(uv_poll_t *poll)
{
    (void)poll;
    return 0;
}

/* ---- signals ---- */

int uv_signal_init(uv_loop_t *loop, uv_signal_t *signal)
{
    sim_handle_init(loop, signal, UV_SIGNAL, HANDLE_SIGNAL);
    return 0;
}

int uv_signal_start(uv_signal_t *signal, uv_signal_cb fn, int signum)
{
    struct sim_handle *handle = sim_handle_of(signal);
    handle->active = true;
    handle->signal_fn = fn;
    handle->signum = signum;
    return 0;
}

bool sim_uv_on_signal(struct sim_process *process, int signum)
{
    bool known = false;
    for (struct sim_handle *at = process->handles, *next; at; at = next) {
        next = at->next;
        if (at->kind != HANDLE_SIGNAL || !at->active || at->signum != signum || at->closing)
            continue;
        known = true;
        at->signal_fn((uv_signal_t *)at->uv, signum);
    }
    return known || signum == SIGCHLD || signum == SIGCONT || signum == SIGPIPE;
}

void sim_uv_on_child_end(struct sim_process *process, struct sim_process *child)
{
    (void)child;
    sim_uv_on_signal(process, SIGCHLD);
}

/* ---- any handle ---- */

int uv_is_active(const uv_handle_t *handle)
{
    return sim_handle_of(handle)->active;
}

int uv_is_closing(const uv_handle_t *handle)
{
    return sim_handle_of(handle)->closing;
}

static void on_closed(void *context)
{
    struct sim_handle *handle = context;
    sim_stream_cancel(handle);
    handle->closed = true;
    struct sim_process *process = handle->process;
    if (handle->on_close)
        handle->on_close(handle->uv);
    if (process->alive && process->on_loop_empty && sim_uv_open_handles(process) == 0)
        process->on_loop_empty(process);
}

void uv_close(uv_handle_t *uv, uv_close_cb fn)
{
    struct sim_handle *handle = sim_handle_of(uv);
    if (handle->closing)
        abort(); /* as libuv asserts */
    stop(handle);
    handle->closing = true;
    handle->on_close = fn;
    sim_listener_let_go(handle);
    sim_stream_let_go(handle);
    sim_after(handle->process, 1, on_closed, handle);
}
