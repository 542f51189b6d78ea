/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share. engine->progress.lock protects everything. A thread releases
 * the lock only in poll(), between two passes of a spinning driver, and while a caller sleeps.
 *
 *   submit.c   a caller's request becomes tensors in flight, offered to the set's negotiation;
 *              submit_offer.c  the description and data that are offered of a tensor
 *   ready.c    tensors that are not offered yet, because a device still makes their input
 *   set_impl.h    a process set: its links, and the traffic on them
 *   handles.c  public calls: submit, and wait for a handle
 *   decisions.c  what the ranks have agreed on: tensors that are done, failed, or have data to move
 *   complete.c   the end of a tensor
 *   batch_impl.h    data to move: the queue, operations in the window, fusion
 *   stage_impl.h  batches on devices: copied to the host and back, or reduced there
 *   inspect.c  input and output of the stall inspector
 *   address_exchange_impl.h  hosts and addresses of all ranks, and the choice of algorithms by them
 *   tune.c     autotuning
 *   progress_impl.h  one pass over everything, the driver that makes it, and its sleep
 *   breakage.c  symptoms, and the end of the world
 *   trace.c    spans of the timeline;  status_text.c  the status text of this rank
 *   counters.h, submitted.c   the status of this rank in numbers and keys, for the rendezvous
 *   engine.c   the beginning and the end */
#ifndef LIB_ENGINE_ENGINE_IMPL_H
#define LIB_ENGINE_ENGINE_IMPL_H

#include "lib/base/clock.h"
#include "lib/engine/address_exchange_impl.h"
#include "lib/engine/counters.h"
#include "lib/engine/decision_rows.h"
#include "lib/engine/engine.h"
#include "lib/engine/in_flight.h"
#include "lib/engine/numerics.h"
#include "lib/engine/progress_impl.h"
#include "lib/engine/set_impl.h"
#include "lib/link/linker.h"
#include "lib/request/request.h"
#include "lib/request/submission.h"
#include "lib/timeline/timeline.h"

/* submit.c: descriptions of a group; the memory is reused */
struct submit_group {
    struct description *descriptions;
    int capacity;
};

/* A thread that waits without a deadline; lies on its stack. */
struct blocked {
    const struct ticket *ticket;
    struct blocked *next;
};

/* inspect.c */
struct inspect {
    struct blocked *blocked;
    bool asking; /* a thread waits for the answers to inspect_ask() */
};

/* breakage.c */
struct breakage {
    bool broken;             /* everything has failed with `failure`, the neighbours know */
    struct rank_end symptom; /* a broken link without an explanation yet */
    uint64_t symptom_until_ns;
    bool symptom_is_cause; /* a host is silent: that a rank has left does not explain it */
};

struct engine {
    struct settings settings;
    int rank, size;
    bool one_host;    /* of all ranks */
    bool elastic;     /* a lost rank ends the world, not the job */
    int star;         /* of the world's tree */
    int local_size;   /* ranks of this host */
    size_t own_cache; /* shm_method_own_cache(); 0: not known */
    struct failure *failure;
    struct linker *linker;
    struct thread_pool *pool; /* helps with large reductions; NULL: no helpers */
    struct timeline *timeline;
    struct tune *tune;                      /* NULL: not tuned, or not here */
    struct algorithm_thresholds thresholds; /* tune.c; only the root's matter */
    uint64_t bytes_sent;                    /* to other ranks */
    struct counters counters;
    struct numerics numerics;

    struct progress progress;
    struct in_flight in_flight;
    struct submit_group group;
    struct set_table sets;
    struct address_exchange exchange;
    struct inspect inspect;
    struct breakage breakage;
};

/* The driver of the progress engine releases the lock between two passes when another thread wants
 * it. */
static inline void engine_lock(struct engine *engine)
{
    if (pthread_mutex_trylock(&engine->progress.lock) != 0)
        progress_enter(engine);
}

static inline void engine_unlock(struct engine *engine)
{
    pthread_mutex_unlock(&engine->progress.lock);
}

/* engine.c. Puts the collective in front of the error's text. */
int engine_context(enum collective_kind kind, const char *name, struct err *err);

/* status_text.c: one line at most, without a newline, as seen in `set` */
void engine_write_status(const struct process_set *set, char *text, size_t size);

/* submitted.c: the tensors that this rank waits for, as the rendezvous compares them */
void engine_list_submitted(const struct engine *engine, struct rank_waits *waits);

/* submit.c */
int submit(struct engine *engine, const struct submission *submission, int64_t *handle,
           struct err *err);
int submit_to_world(struct engine *engine, const struct description *description, const int *ranks,
                    int64_t *handle, struct err *err);
struct process_set *engine_find_set(struct engine *engine, int id, const char *what,
                                    struct err *err);

/* submit_offer.c: to the negotiation */
int submit_offer(struct tensor *tensor, struct err *err);
/* Commits to a tensor that is next in the steady state; false: the rank has left it instead. */
bool submit_commit(struct tensor *tensor);

/* ready.c: offers the tensor, at once or when its input is ready */
int ready_offer(struct tensor *tensor, struct err *err);
/* Queries the events. 1 if something was offered, 0, or a negative status that breaks the world. */
int ready_move(struct process_set *set, struct err *err);
uint64_t ready_deadline(const struct process_set *set);
bool ready_has_work(const struct process_set *set); /* a join can be offered */
void ready_forget(struct process_set *set);
/* The tensors that are not offered yet, like negotiation_in_flight(), negotiation_waiting() and its
 * count. */
bool ready_has(const struct process_set *set, const char *name);
int ready_waiting(const struct process_set *set, int index, struct waiting *waiting);
int ready_waiting_count(const struct process_set *set);

/* tune.c: autotuning, at the world's root; one_host: all ranks are on this host */
int tune_init(struct engine *engine, bool one_host, struct err *err);
void tune_fini(struct engine *engine);
void tune_tensor_done(const struct tensor *tensor, uint64_t now_ns);

/* inspect.c: starts the stall inspector of a set that has its links */
int inspect_start(struct process_set *set, struct err *err);
void inspect_stop(struct process_set *set);
int inspect_receive(struct process_set *set, enum tree_frame type, int child,
                    const struct frame *frame, struct err *err);
uint64_t inspect_deadline(const struct process_set *set);
void inspect_tick(struct process_set *set);
/* For a person: asks the ranks of the sets whose root is this rank what they wait for; false if no
 * tensor waits. The query ends when all have answered, after STALL_PERSON_MS, or with the world. */
bool inspect_ask(struct engine *engine);
bool inspect_has_told(const void *engine);

/* decisions.c */
int decision_take(struct process_set *set, const struct decision *decision, struct err *err);
int decisions_take(struct process_set *set, struct err *err); /* takes all decisions */

/* complete.c */
size_t tensor_row_size(const struct tensor *tensor);
void complete_tensor(struct tensor *tensor, const struct err *err);
/* The tensor has failed, but parts of it are still in use. */
void complete_doomed(struct tensor *tensor, const struct err *err);
/* A part is done. With the last part the tensor is done: the result is at the output, if there is
 * room. */
void complete_part(struct tensor *tensor, const struct batch *batch);
/* The tensor is done: the whole result is at `data`, or the own share is at the output already
 * (NULL). */
void complete_whole(struct tensor *tensor, const void *data);
void complete_share(struct tensor *tensor, const void *whole);
/* Where the own share of a reduce-scatter begins in the whole result, in bytes. */
size_t complete_share_begin(const struct tensor *tensor);
/* Room for an allgather's or alltoall's output: the caller's if it is host memory and large enough,
 * else new memory, which `*memory` then owns. */
void *complete_place(struct tensor *tensor, size_t nbytes, void **memory);
/* The tensor is done, or has failed if the caller's output was too small; takes `memory` over. */
void complete_rows(struct tensor *tensor, const int64_t *rows, int nrows, void *data, void *memory);

/* breakage.c */
/* This rank cannot go on, which breaks the world. Puts this in front of the error's text. */
void engine_fail(struct engine *engine, struct err *err);
void engine_own_end(const struct engine *engine, struct rank_end *end); /* fills in this rank and
                                                                         * its host */
void engine_symptom(struct engine *engine, const struct rank_end *end);
/* Handles a failure. True if it has ended the world. */
bool breakage_diagnose(struct engine *engine);
/* Checks all links, some times a second while something is in flight. */
void engine_check_links(struct engine *engine);
/* After the end of the world: waits until copies from and to devices have passed. */
bool engine_drain(struct engine *engine);
bool engine_is_draining(const struct engine *engine);

#endif
