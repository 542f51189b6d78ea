/* SPDX-License-Identifier: Apache-2.0 */
/* A port at which agents connect that something else has started (launcher/protocol/agent_dial.h).
 * The owner closes it once all of them are there. Whoever has proved nothing can hold one of
 * DIAL_CLIENTS_MAX connections for DIAL_ANSWER_MS, and send DIAL_BODY_MAX bytes. While others wait
 * it has DIAL_TURN_MS before HELLO and as long after CHALLENGE, counted in ticks of half a
 * second. */
#ifndef LAUNCHER_CONNECT_DIAL_LISTENER_H
#define LAUNCHER_CONNECT_DIAL_LISTENER_H

#include "launcher/protocol/agent_dial.h"

#include <uv.h>

/* The most connections that have proved nothing yet; more wait in the kernel. */
enum { DIAL_CLIENTS_MAX = 256 };

/* How long a connection has for each of its two messages before it gives its place to one that
 * waits: many times what a message takes, and a fraction of DIAL_ANSWER_MS, for which an agent
 * waits. */
enum { DIAL_TURN_MS = 1000 };

struct dial_listener;

/* An agent has proved that it knows the key. The caller owns `fd`, which does not block. */
typedef void dial_agent_fn(void *context, const struct dial_hello *hello, int fd);

/* Listens on every address of this machine; on a port of [low, high], or on any if both are 0.
 * NULL, and HVD_ERR_SYSTEM. `key` is copied. */
struct dial_listener *dial_listener_open(uv_loop_t *loop, const struct job_key *key, int low,
                                         int high, dial_agent_fn *on_agent, void *context,
                                         struct err *err);

uint16_t dial_listener_port(const struct dial_listener *listener);

/* Hangs up on all who are not agents yet. The memory is freed later; `on_agent` is not called any
 * more. NULL is fine. */
void dial_listener_close(struct dial_listener *listener);

#endif
