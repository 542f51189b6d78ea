/* SPDX-License-Identifier: Apache-2.0 */
/* The hub from inside: what hub.c (who is connected, who is told what) and hub_receive.c (what comes
 * in) share. */
#ifndef RENDEZVOUS_HUB_IMPL_H
#define RENDEZVOUS_HUB_IMPL_H

#include "rendezvous/hub.h"

/* Around everything that a carrier calls. The outermost call reports on ranks and frees what has
 * been closed meanwhile. */
void hub_enter(struct hub *hub);
void hub_leave(struct hub *hub);

/* Does what the last event has made necessary; the launcher's callbacks may cause further events
 * meanwhile, and hub_close(). */
void hub_carry_out(struct hub *hub, uint64_t now_ms);

/* Sends and frees what was written; false if it could not be written for want of memory. */
bool hub_flush(struct rendezvous_connection *connection, struct wire_writer *out);

/* Ends a connection after what was sent; the second also says that its rank, if it has one, broke
 * off. Its memory stays until hub_leave(). */
void hub_end(struct rendezvous_connection *connection);
void hub_send_away(struct rendezvous_connection *connection, uint64_t now_ms);

/* It is going to be a rank's, or over. */
void hub_remove_stranger(struct rendezvous_connection *connection);

#endif
