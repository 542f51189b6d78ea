/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that listens to the rendezvous. It sleeps until a rank is lost or leaves or the launcher
 * ends, records the end (failure.h), and wakes the driver of the progress engine. It notes that an
 * elastic job is to go on with other members. When the
 * rendezvous asks for the status of this rank, the thread answers, also when the program has hung.
 * The thread does not wake up while nothing happens. */
#ifndef LIB_JOIN_NEWS_H
#define LIB_JOIN_NEWS_H

#include "lib/base/status.h"
#include "lib/join/failure.h"
#include "lib/join/join_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Fills in the status text of this rank, lines that each end with a newline, at most `size` bytes
 * including the terminating NUL, and its counts. The news thread calls it. */
typedef void report_fn(void *arg, struct join_report *report, size_t size);

struct news {
    struct join_connection *connection; /* borrowed; received from by this thread alone */
    struct failure *failure;            /* borrowed */
    report_fn *report;
    void *report_arg;
    int wake_fd; /* borrowed eventfd; written to when there is news, or -1 */
    int stop_fd;
    bool server_left; /* the rank that serves the rendezvous has left, so its connection may end */
    pthread_t thread;
    bool running;
    atomic_int hosts_updated; /* JOIN_HOSTS_*, of all UPDATEs that have come */
};

/* After a failure nothing has to be undone. */
int news_start(struct news *news, struct join_connection *connection, struct failure *failure,
               report_fn *report, void *report_arg, int wake_fd, struct err *err);

/* Ends the thread. A zeroed struct that was not started is fine. */
void news_stop(struct news *news);

/* Lets the thread run on: it may use the struct, and what it borrows, until the process ends. */
void news_abandon(struct news *news);

#endif
