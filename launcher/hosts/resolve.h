/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a host's name into addresses within a time limit. A resolver that hangs keeps its
 * thread, but the caller goes on. */
#ifndef LAUNCHER_HOSTS_RESOLVE_H
#define LAUNCHER_HOSTS_RESOLVE_H

#include <netdb.h>
#include <uv.h>

struct resolve;

/* The addresses, at least one, which the receiver releases with uv_freeaddrinfo(); or NULL and the
 * cause. Called once, later. */
typedef void resolve_fn(void *context, struct addrinfo *addresses, const char *problem);

/* `family` as for getaddrinfo(). */
struct resolve *resolve_start(uv_loop_t *loop, const char *name, int port, int family,
                              unsigned timeout_ms, resolve_fn *on_end, void *context);

/* Cancels; allowed only before the callback. NULL is fine. */
void resolve_cancel(struct resolve *resolve);

#endif
