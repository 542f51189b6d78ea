/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of the launcher of a planned job, for status and JSON: the command, the end of
 * each rank's process, and the verdict. The last lines of the ranks stay with the launcher,
 * which is asked for them. Without I/O. A job without a launcher has none of this. */
#ifndef RENDEZVOUS_WORLD_LAUNCHER_VIEW_H
#define RENDEZVOUS_WORLD_LAUNCHER_VIEW_H

#include "rendezvous/base/rendezvous_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rank's share of what is told of all, in bytes of each stream: as much as all may have, but no
 * less and no more than this. */
enum {
    LAUNCHER_VIEW_OUTPUT_ALL = 512 * 1024,
    LAUNCHER_VIEW_OUTPUT_MIN = 256,
    LAUNCHER_VIEW_OUTPUT_MAX = 4096
};

struct launcher_view_rank {
    struct rank_end_how how; /* NONE: not ended yet */
    bool terminated;
};

struct launcher_view {
    char *command, *user;             /* owned; NULL: not known */
    uint64_t started_ms;              /* since 1970 */
    struct launcher_view_rank *ranks; /* by worker */
    int size;                         /* elements; of an elastic job those that have ended */
    bool elastic;
    int ended; /* ranks */
    struct rendezvous_verdict verdict;
    char *verdict_text; /* owned; NULL: not told yet */
    char *(*output)(void *context, int rank, bool of_stderr, size_t nbytes);
    void *context;
};

/* NULL when out of memory. */
struct launcher_view *launcher_view_create(const struct rendezvous_options *options);
void launcher_view_destroy(struct launcher_view *launch);

/* What is known of the end of a worker; NULL: nothing. */
const struct launcher_view_rank *launcher_view_rank_of(const struct launcher_view *launch,
                                                       int worker);

/* A rank has ended, or how is known better now. True for the end of the last one, unless the job is
 * elastic. Without memory it is not kept. */
bool launcher_view_end(struct launcher_view *launch, int rank, const struct rendezvous_end *end);

/* The verdict. Without memory it is not kept. */
void launcher_view_verdict(struct launcher_view *launch, const struct rendezvous_verdict *verdict);

/* The last lines of a rank, freed by the caller; NULL: none. */
char *launcher_view_output(const struct launcher_view *launch, int rank, bool of_stderr);

#endif
