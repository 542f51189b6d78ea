/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank has written to stderr about its failure: a Python traceback, or the words of C++ for
 * an exception that nobody has caught. A rank of libhvd tells hvdrun why it fails in a record
 * (rank_end.h). A rank of Horovod or torch.distributed has stderr only: when one rank raises, its
 * peers lose it and raise too, often die first, and only their words tell them from the culprit.
 *
 * Here, and nowhere else in the product, prose of foreign programs is read to decide something. The
 * tables at the top of stderr_failure.c have all of it: how a report of a failure begins, which
 * reports are no failure of their own, and which messages say that another rank has failed.
 *
 * A carriage return begins the line anew, as a terminal shows it: a progress bar is redrawn so, and
 * a traceback may follow it on its line.
 *
 * Bounded: a line is read up to STDERR_LINE_MAX bytes, any bytes are fine, and the result does not
 * depend on how they are cut. A report in another form is not seen, and the rank is judged by the
 * time and kind of its end. Pure. */
#ifndef LAUNCHER_VERDICT_STDERR_FAILURE_H
#define LAUNCHER_VERDICT_STDERR_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stderr_failure_kind {
    STDERR_NO_FAILURE,
    STDERR_FAILURE_BEGUN, /* the message has not come yet */
    STDERR_OWN_FAILURE,   /* the message is none of those that say that another rank has failed */
    STDERR_CONSEQUENCE,   /* the message says that another rank has failed */
    STDERR_FAILURE_KINDS
};

/* The last report of a failure. A chain of exceptions is one report, of the kind of the first
 * exception. */
struct stderr_failure {
    enum stderr_failure_kind kind;
    uint64_t began_us; /* when its first byte came */
};

/* A program may report a failure and go on. A failure that the rank survives for so long explains
 * nothing that comes later. */
#define STDERR_FAILURE_LASTS_US ((uint64_t)60 * 1000 * 1000)

enum { STDERR_LINE_MAX = 512 };

/* All zero at the beginning. */
struct stderr_reader {
    struct stderr_failure failure;
    enum {
        STDERR_OUTSIDE,
        STDERR_IN_TRACEBACK,   /* until the line of the message */
        STDERR_IN_TERMINATE,   /* until the line behind it */
        STDERR_BEFORE_RELATED, /* the next traceback belongs to the last report, or to none */
        STDERR_IN_RELATED
    } phase;
    char line[STDERR_LINE_MAX];
    size_t length;             /* of `line` */
    uint64_t line_us, last_us; /* when its first and its last byte came */
    bool returned;             /* the last byte was a carriage return */
    bool redrawn;              /* the line began after a carriage return */
};

/* Bytes that came at `now_us`. It may go back a little: the clock of another host is an
 * estimate. */
void stderr_reader_feed(struct stderr_reader *reader, const char *data, size_t length,
                        uint64_t now_us);

/* The stream has ended: reads a last line without a newline. */
void stderr_reader_end(struct stderr_reader *reader);

#endif
