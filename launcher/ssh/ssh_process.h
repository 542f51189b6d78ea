/* SPDX-License-Identifier: Apache-2.0 */
/* One host's process of hvdssh, as hvdrun sees it: orders to it, reports from it, its end. A
 * process that crashes costs its host only.
 *
 * The other end of the stream is kept open here too, until the process is closed or its end has
 * been reported: so the reader of the stream meets the end when the cause is known. */
#ifndef LAUNCHER_SSH_SSH_PROCESS_H
#define LAUNCHER_SSH_SSH_PROCESS_H

#include "launcher/ssh/ssh_message.h"
#include "lib/base/status.h"

struct ssh_helper;
struct ssh_process;

struct ssh_process_events {
    /* The report is borrowed for the call. The process may be closed from here. */
    void (*on_report)(void *context, const struct ssh_report *report);

    /* The process has ended by itself ("hvdssh killed by signal 11 (SIGSEGV)"), or talks nonsense.
     * `no_resource`: it was never made, because this machine lacks a descriptor or a process.
     * Called once, as the last event. The process may be closed from here. */
    void (*on_dead)(void *context, bool no_resource, const char *text);
};

/* Takes `socket`, connected to the host. NULL and `err` (HVD_ERR_SYSTEM) if there is no process;
 * the socket is closed then. */
struct ssh_process *ssh_process_start(struct ssh_helper *helper, int socket,
                                      const struct ssh_process_events *events, void *context,
                                      struct err *err);

/* Who hears the events from now on. */
void ssh_process_listen(struct ssh_process *process, const struct ssh_process_events *events,
                        void *context);

/* What cannot be sent counts as the end of the process. */
void ssh_process_order(struct ssh_process *process, enum ssh_order_type type,
                       struct ssh_bytes first, struct ssh_bytes second);

/* Our end of the stream, non-blocking, which the caller owns from now on. Once. */
int ssh_process_take_stream(struct ssh_process *process);

/* Nothing more comes on the stream: its reader meets the end. */
void ssh_process_end_stream(struct ssh_process *process);

/* The socket to the host, for tcp_acknowledged(). */
int ssh_process_socket(const struct ssh_process *process);

/* Hangs up; no event follows. A process that does not end soon is killed, and the memory is freed.
 * NULL is fine. */
void ssh_process_close(struct ssh_process *process);

#endif
