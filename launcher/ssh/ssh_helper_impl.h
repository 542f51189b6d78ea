/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by ssh_helper.c (hvdssh) and ssh_process.c (its processes). */
#ifndef LAUNCHER_SSH_SSH_HELPER_IMPL_H
#define LAUNCHER_SSH_SSH_HELPER_IMPL_H

#include "launcher/ssh/ssh_helper.h"
#include "launcher/ssh/ssh_process.h"

#include <sys/types.h>

/* How long the end of a process may take after hvdrun has hung up; and how long hvdssh, which
 * lives, may take to tell how a process has ended. */
enum { SSH_END_MS = 1000, SSH_NEWS_MS = 10000 };

struct ssh_helper_user {
    void (*on_released)(void *context);
    void *context;
};

/* running -> ending (the last user has released it) -> ended;  running -> ended, by itself */
struct ssh_helper {
    uv_loop_t *loop;
    struct children *children;
    void **shared;
    struct err err; /* it could not be started, or has ended */
    int fd;         /* -1 when it was not started */
    pid_t pid;      /* 0 when it has ended */
    uv_poll_t poll;
    uv_timer_t limit;
    struct ssh_process *first; /* processes that are not freed */
    uint32_t last_number;
    int nusers, open_handles;
    bool ending;
    struct ssh_helper_user last_user;
};

struct ssh_process {
    struct ssh_helper *helper;
    struct ssh_process *next;
    uint32_t number;
    int socket, control, stream; /* ours; -1 when closed */
    int stream_end;              /* the process's end of the stream, see ssh_process.h */
    uv_poll_t poll;              /* of `control` */
    uv_timer_t timer;
    int open_handles;
    bool control_ended, dead_told, closing, no_resource;
    char end_text[160]; /* "" while not known */
    struct ssh_process_events events;
    void *context;
};

/* ---- ssh_helper.c ---- */

/* Asks for a process with these descriptors. */
int ssh_helper_start(struct ssh_helper *helper, uint32_t number,
                     const int sockets[SSH_HELPER_SOCKETS], struct err *err);

/* Ends a process whatever it does; nothing happens if it has ended. */
void ssh_helper_kill(struct ssh_helper *helper, uint32_t number);

/* A process was freed. */
void ssh_helper_on_freed(struct ssh_helper *helper);

/* ---- ssh_process.c ---- */

/* The end of the process is known now. A later call does nothing. `no_resource`: see on_dead(). */
void ssh_process_on_end(struct ssh_process *process, bool no_resource, const char *text);

#endif
