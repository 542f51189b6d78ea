/* SPDX-License-Identifier: Apache-2.0 */
/* Handles from inside: what the files of the simulator's libuv share. uv.c has the loop, its clock,
 * timers and signals, and how any handle is closed; uv_stream.c what is read and written;
 * uv_listen.c connections that come. */
#ifndef TESTS_SIMULATOR_UV_IMPL_H
#define TESTS_SIMULATOR_UV_IMPL_H

#include "tests/simulator/uv.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum handle_kind { HANDLE_TIMER, HANDLE_SIGNAL, HANDLE_IDLE, HANDLE_POLL, HANDLE_STREAM };

struct pending_write {
    uv_write_t *request;
    uv_write_cb fn;
    uint64_t until; /* done when the end has moved so many bytes */
    int status;     /* of one that could not be made */
    struct pending_write *next;
};

struct waiting_client {
    struct sim_end *end;
    struct waiting_client *next;
};

/* What lies behind a uv_handle_t of any type. */
struct sim_handle {
    enum handle_kind kind;
    uv_handle_t *uv;
    struct sim_process *process;
    bool active, closing, closed;
    struct sim_event *event;
    uv_close_cb on_close;

    uv_timer_cb timer_fn;
    uint64_t repeat_ms;
    uv_signal_cb signal_fn;
    int signum;
    uv_idle_cb idle_fn;

    int fd; /* -1: none */
    struct sim_end *end;
    uv_alloc_cb alloc_fn;
    uv_read_cb read_fn;
    struct pending_write *writes;
    uv_shutdown_t *shutdown;
    uv_shutdown_cb shutdown_fn;

    int port; /* of a listener */
    uv_connection_cb connection_fn;
    struct waiting_client *clients;
    bool holds_back;

    struct sim_handle *next;
};

struct sim_handle *sim_handle_of(const void *uv);
struct sim_handle *sim_handle_init(uv_loop_t *loop, void *memory, uv_handle_type type,
                                   enum handle_kind kind);

/* uv_stream.c, uv_listen.c: the handle is being closed; it is closed. */
void sim_stream_let_go(struct sim_handle *handle);
void sim_stream_cancel(struct sim_handle *handle);
void sim_listener_let_go(struct sim_handle *handle);

#endif
