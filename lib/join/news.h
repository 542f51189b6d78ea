/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that listens to the rendezvous. It sleeps until a rank is lost or leaves or the launcher
 * ends, records the end (failure.h), and wakes the driver of the progress engine. When the
 * rendezvous asks for the status of this rank, the thread answers, also when the program has hung.
 * The thread does not wake up while nothing happens. */
#ifndef LIB_JOIN_NEWS_H
#define LIB_JOIN_NEWS_H

#include "lib/base/status.h"
#include "lib/join/failure.h"
#include "lib/join/join_client.h"

#include <pthread.h>
#include <stddef.h>

/* Fills in what this rank is doing, lines each ended by a newline, at most `size` bytes and a
 * terminating NUL among them, and what it has counted; called by the news thread. */
typedef void report_fn(void *arg, struct join_report *report, size_t size);

struct news {
    struct join_connection *connection; /* borrowed; received from by this thread alone */
    struct failure *failure;            /* borrowed */
    report_fn *report;
    void *report_arg;
    int wake_fd; /* borrowed eventfd; written to when there is news, or -1 */
    int stop_fd;
    pthread_t thread;
    bool running;
};

/* Nothing has to be undone when it fails. */
int news_start(struct news *news, struct join_connection *connection, struct failure *failure,
               report_fn *report, void *report_arg, int wake_fd, struct err *err);

/* Ends the thread. Not started is fine, as long as the struct is zero. */
void news_stop(struct news *news);

/* Leaves the thread to itself, which may use the struct, and what it borrows, until the process
 * ends. */
void news_abandon(struct news *news);

#endif
