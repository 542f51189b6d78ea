/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that listens to the rendezvous: it sleeps until a rank is lost or leaves or the launcher
 * ends, records that as a failure of the world, and wakes whoever drives a collective. An idle
 * world wakes nobody. */
#ifndef LIB_JOIN_NEWS_H
#define LIB_JOIN_NEWS_H

#include "lib/base/status.h"
#include "lib/join/failure.h"
#include "lib/join/join_client.h"

#include <pthread.h>

struct news {
    struct join_connection *connection; /* borrowed; received from by this thread alone */
    struct failure *failure;            /* borrowed */
    int wake_fd;                        /* becomes readable when there is news; the driver drains */
    int stop_fd;
    pthread_t thread;
    bool running;
};

/* Nothing has to be undone when it fails. */
int news_start(struct news *news, struct join_connection *connection, struct failure *failure,
               struct err *err);

/* Ends the thread. Not started is fine, as long as the struct is zero. */
void news_stop(struct news *news);

/* Records everything that the rendezvous has said by now. 0, or -1 when it will say nothing more.
 */
int news_receive(struct join_connection *connection, struct failure *failure);

#endif
