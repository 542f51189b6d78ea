/* SPDX-License-Identifier: Apache-2.0 */
/* What people read when a job whose workers were pending breaks: one line each, of at most
 * TEXT_LINE_MAX bytes, whatever the job, the hosts and the ranks are. */
#ifndef RENDEZVOUS_WORLD_PENDING_WORKERS_TEXT_H
#define RENDEZVOUS_WORLD_PENDING_WORKERS_TEXT_H

#include "lib/base/join_protocol.h"
#include "rendezvous/base/text_line.h"
#include "rendezvous/world/pending_workers.h"

#include <stdbool.h>

/* "worker on node1 (pid 4242) disconnected before all had come" */
void pending_workers_text_left(char text[JOIN_TEXT_MAX], const struct pending_workers *pending,
                               int worker, bool said_goodbye);

/* WHY, as one line */
void pending_workers_text_ended(char text[JOIN_TEXT_MAX], const char *why);

/* "ranks 2, 3 of 4 have not come within 30 s" if all have asked for a rank, else
 * "3 of 4 workers have come within 30 s: 2 from node1, 1 from node2" */
void pending_workers_text_timeout(char text[JOIN_TEXT_MAX], const struct pending_workers *pending);

/* "2 of 4 workers", which have still to come */
void pending_workers_text_awaited(char text[JOIN_TEXT_MAX], const struct pending_workers *pending);

#endif
