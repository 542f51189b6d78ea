/* SPDX-License-Identifier: Apache-2.0 */
/* The record of how a rank's part in a job has ended. The agent makes one when the process exits,
 * the rendezvous when the connection ends, other ranks when they miss the rank, and hvdrun when it
 * names the cause. They exchange these records and decide by them. No program reads the text that
 * people see: rank_end_text.h makes the text where a person reads it.
 *
 * A new kind of end needs a row in the enum, a row in the table of rank_end_text.c, and the code
 * that observes this end.
 *
 * On the wire (wire.h):
 *
 *    0 u8 kind   1 u8 flags: 1 core dumped, 2 oom, 4 before init   2 u8 collective, 0: none
 *    3 i32 code   7 i32 status   11 i32 rank   15 i32 because of   19 u64 microseconds
 *   27 string host   string tensor   string words   of TIMEOUT: late ranks (late_ranks.h) */
#ifndef LIB_BASE_RANK_END_H
#define LIB_BASE_RANK_END_H

#include "lib/base/collective_kind.h"
#include "lib/base/late_ranks.h"
#include "lib/base/wire.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Part of the wire format. */
enum rank_end_kind {
    RANK_END_NONE,         /* not ended, or not known */
    RANK_END_EXITED,       /* the process has exited: code is the exit status */
    RANK_END_KILLED,       /* a signal has ended the process: code is the signal */
    RANK_END_STOPPED,      /* a signal has stopped the process: code is the signal */
    RANK_END_HOST_LOST,    /* the host or its agent was lost, and the process with it */
    RANK_END_NOT_STARTED,  /* the process never ran */
    RANK_END_NOT_KILLED,   /* the process could not be killed */
    RANK_END_LEFT,         /* the rank has called hvd_shutdown(), or exited */
    RANK_END_DISCONNECTED, /* the connection to the rendezvous has ended without a GOODBYE */
    RANK_END_UNREACHABLE,  /* another rank's link to this rank has ended, or got no answer */
    RANK_END_FAILED,       /* something failed in this rank: words say what */

    /* An end of all ranks: `rank` is RANK_NONE, and words say more. */
    RANK_END_TIMEOUT,         /* some rank has not come, or not submitted, in time. `late`: in an
                               * elastic job the ranks that have not submitted and wait for none
                               * themselves. hvdrun gives them up, hvdrendezvousd does not */
    RANK_END_RENDEZVOUS_LOST, /* the connection to the rendezvous has ended, or is not understood */
    RANK_END_BY_REQUEST,      /* a user or a batch system has ended the job */
    RANK_END_KINDS
};

/* No rank, or an unknown rank. */
enum { RANK_NONE = -1 };

enum { RANK_END_HOST_SIZE = 256, RANK_END_TENSOR_SIZE = 256, RANK_END_WORDS_SIZE = 500 };

/* The longest record on the wire. */
enum {
    RANK_END_ENCODED_MAX = 27 + 3 * 4 + RANK_END_HOST_SIZE + RANK_END_TENSOR_SIZE +
                           RANK_END_WORDS_SIZE + LATE_RANKS_ENCODED_MAX
};

/* The part of the record that fits into a table of ranks. */
struct rank_end_how {
    enum rank_end_kind kind;
    int code;         /* of EXITED, KILLED and STOPPED; else 0 */
    bool core_dumped; /* of KILLED */
    bool oom;         /* of KILLED: the kernel has killed for want of memory meanwhile */
};

struct rank_end {
    struct rank_end_how how;
    int status;                        /* enum hvd_status, which the calls of other ranks return
                                        because of it; HVD_OK: none */
    int rank;                          /* the rank that has ended, or RANK_NONE */
    char host[RANK_END_HOST_SIZE];     /* of that rank; "": not known */
    int because_of;                    /* the rank whose failure was the first, maybe `rank` itself;
                                        RANK_NONE: not known */
    bool before_init;                  /* the rank had not called hvd_init() */
    enum collective_kind collective;   /* the first that failed because of it; 0: none */
    char tensor[RANK_END_TENSOR_SIZE]; /* of the collective; "": none */
    uint64_t at_us;                    /* when, by the observer's clock; 0: not known */
    char words[RANK_END_WORDS_SIZE]; /* what failed, in the words of the system or the library, one
                                          line: for people, never to be read by a program */
    struct late_ranks late;          /* of TIMEOUT; else empty */
};

static inline struct rank_end rank_end_none(void)
{
    return (struct rank_end){ .rank = RANK_NONE, .because_of = RANK_NONE };
}

/* Fills in late ranks, at least one, of a TIMEOUT: the first of them is `because_of`. The
 * rendezvous, when it passes the record on, puts another rank there if that one's failure was known
 * before, and numbers of workers in place of both, so that a record that is read need not agree. */
void rank_end_set_late(struct rank_end *end, const struct late_ranks *late);

/* Converts a status of waitpid(): EXITED, KILLED or STOPPED. */
struct rank_end_how rank_end_how_of(int wait_status);

/* The status as in a shell: the exit status, or 128 + the signal; -1 if there is neither. */
int rank_end_exit_status(const struct rank_end_how *how);

/* The rank chose to end, as a rank does that has lost another: it exited, or called abort(). */
static inline bool rank_end_gave_up(const struct rank_end_how *how)
{
    return how->kind == RANK_END_EXITED || (how->kind == RANK_END_KILLED && how->code == SIGABRT);
}

static inline bool rank_end_is_clean_exit(const struct rank_end_how *how)
{
    return how->kind == RANK_END_EXITED && how->code == 0;
}

/* The reader fails on a kind, flag, collective or status that does not exist, a code that the kind
 * cannot have, a rank that is neither RANK_NONE nor below WORLD_SIZE_MAX, a text that does not fit.
 * It makes host and tensor printable lines, and words printable ASCII (text.h). */
void rank_end_encode(struct wire_writer *writer, const struct rank_end *end);
void rank_end_decode(struct rank_end *end, struct wire_reader *reader);

#endif
