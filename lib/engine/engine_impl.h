/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share. Everything is under engine->lock, which is let go of only in
 * poll(), between two looks of a spinning driver, and while a caller sleeps.
 *
 *   submit.c   a caller's request becomes tensors in flight, offered to the set's negotiation;
 *              submit_offer.c  what of a tensor is offered
 *   ready.c    tensors that are not offered yet, since a device still makes their input
 *   set.c      a process set; set_links.c, set_tree.c, set_data.c  its links, what goes over them
 *   settle.c   decisions: tensors that are done, failed, or have data to move
 *   inspect.c  the stall inspector's eyes and hands
 *   run_queue.c, run.c, run_prepare.c  data to move: the line, operations in the window, fusion
 *   stage.h    runs on devices: copied to the host and back, or reduced there
 *   sets.c     adding and removing process sets
 *   reach.c    where everybody is, and what is chosen by that;  run_links.c  links to them
 *   tune.c     autotuning
 *   move.c     one look at everything; symptoms and the world's end
 *   drive.c    who looks, and when they sleep
 *   trace.c    what goes into the timeline;  doing.c  what this rank is doing, in words
 *   counters.h, submitted.c   the same in numbers and keys, for the rendezvous
 *   engine.c   the beginning and the end */
#ifndef LIB_ENGINE_ENGINE_IMPL_H
#define LIB_ENGINE_ENGINE_IMPL_H

#include "lib/base/clock.h"
#include "lib/base/topology.h"
#include "lib/collective/algorithm.h"
#include "lib/engine/channel.h"
#include "lib/engine/counters.h"
#include "lib/engine/directory.h"
#include "lib/engine/engine.h"
#include "lib/engine/flight.h"
#include "lib/engine/numerics.h"
#include "lib/engine/stage.h"
#include "lib/engine/timeline.h"
#include "lib/engine/tree_link.h"
#include "lib/link/linker.h"
#include "lib/negotiation/negotiation.h"
#include "lib/request/request.h"
#include "lib/request/submission.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* FUSED_MAX: bytes of a tensor that is fused at most, unless it is tuned. Copying such a one twice
 * costs less than moving it alone, which over a network takes longer. */
enum {
    FUSION_BUFFER_MAX = 4 << 20,
    FUSED_MAX = 64 << 10,
    FUSED_MAX_ON_ONE_HOST = 16 << 10,
    INLINE_MAX = 4096
};

/* Runs of a set that have, or wait for, pinned memory at a time: those in the window, one that is
 * copied to the host, and one that is copied back. */
enum { STAGES_MAX = WINDOW_SIZE + 2 };

/* A tensor, or a part of one, in a run. */
struct run_tensor {
    struct tensor *own;   /* NULL: this rank has joined and gives zeros */
    size_t offset, count; /* elements: where the part begins, how many it has */
};

/* One decision whose data has to be moved, or on devices a chunk of it: waits in the set's queue,
 * then is under way. */
struct run {
    struct run *next;
    struct process_set *set;
    struct description description; /* of the first tensor */
    enum algorithm algorithm;
    struct run_tensor *tensors; /* `count` of them; room for `capacity` */
    int count, capacity;
    size_t total;  /* elements of all tensors */
    int64_t *rows; /* allgather: of each rank; alltoall: splits. Room for the set's size */
    void *output;  /* where the result is made */
    void *memory;  /* if it is neither the caller's nor the set's buffer: to be freed, or given
                        to the caller */
    int place;     /* in the window */
    struct operation *operation;
    struct stage stage;
};

/* First in, first out: stage.c */
struct run_list {
    struct run *first, *last;
};
void run_list_append(struct run_list *list, struct run *run);
struct run *run_list_take(struct run_list *list); /* there is one */

/* Likewise, of tensors: ready.c */
struct tensor_list {
    struct tensor *first, *last;
    int count;
};

struct set_memory {
    void *staging;
    unsigned char *buffer; /* for what is fused; none until then */
    size_t buffer_size;
};

/* linking -> ready;  a rank that is no member never gets beyond linking */
enum set_state { SET_LINKING, SET_READY };

struct process_set {
    struct engine *engine;
    int id;
    uint32_t serial; /* of all that were ever added, from 0: the world; tells its links apart */
    int size;
    int *ranks; /* of the world, ascending */
    int rank;   /* of this process, -1 if it is no member: then the rest is empty */
    enum set_state state;
    struct err ended;    /* why */
    bool removing;       /* nothing new is accepted */
    bool lacks_channels; /* some have ended */
    bool wounded;        /* a link has broken */

    struct tree_position tree;
    struct tree_link up, down[TREE_CHILDREN_MAX];
    struct negotiation *negotiation;
    struct wire_writer body;
    struct negotiation_observer observer;
    struct stall *stall;                 /* once it is ready */
    uint64_t decided_ns;                 /* when something was decided last */
    uint64_t decisions;                  /* how often something was */
    uint64_t nameless[COLLECTIVE_KINDS]; /* how many of each kind have been submitted */
    int in_flight;                       /* own tensors */
    struct tensor *adding;               /* waits until this set's links are there */
    struct tensor_list unmade;           /* not offered: their events have not passed */
    struct tensor_list postponed; /* not offered: a join that waits for those, and the rest */

    struct channel **channels; /* by rank in the set; NULL where there is none */
    int *peers, npeers;        /* those that are there */
    int64_t *rows;             /* room for a number from each rank */
    bool expects_links;        /* wanted ones may be there already */
    int *others;               /* room for all but this rank */
    bool *awaited;             /* by rank: a data link that is wanted and not there yet */
    int nawaited;              /* so many of those */
    unsigned wanted;           /* all links of these algorithms, a bit each, have been wanted */
    struct placing *placing;   /* NULL: not known yet */
    struct operation_store *store;
    struct operation_window window;
    struct run *running[WINDOW_SIZE];
    struct set_memory memory[WINDOW_SIZE];
    struct run *queue, **queue_end; /* decided, not started */
    int queued;
    struct run *free_runs;
    int staged;                          /* runs on devices, wherever they are */
    int stages;                          /* of those, that have a place */
    struct run_list returning, reducing; /* being copied back, or doomed; for devices to reduce */
    uint64_t drain_until_ns;             /* what returns is given up then; 0: it is not */
    uint64_t cycle_time_us;              /* top: how long data may wait for more to be fused with */
    uint64_t data_since_ns; /* top: since when data could be moved, for the cycle time; 0: not */
};

/* Asking where everybody is: reach.c */
struct reach {
    bool asked;
    unsigned waiting; /* for these children, a bit each */
    struct wire_writer records[TREE_CHILDREN_MAX];
};

enum driver { NOBODY, A_CALLER, THE_THREAD };

/* A thread that waits, on its stack. */
struct blocked {
    const struct ticket *ticket;
    struct blocked *next;
};

struct engine {
    pthread_mutex_t lock;
    atomic_int entering;    /* threads that wait for the lock */
    uint64_t submissions;   /* so far */
    pthread_cond_t changed; /* something is done, or the wheel is free */
    pthread_cond_t rest;    /* the thread is wanted, or to stop */
    struct settings settings;
    int rank, size;
    bool one_host; /* of all ranks */
    struct join_peer self;
    struct join_peer neighbours[NEIGHBOURS_MAX];
    int nneighbours;
    struct failure *failure;
    struct linker *linker;
    struct timeline *timeline;
    struct tune *tune; /* NULL: not tuned, or not here */
    struct flight flight;
    struct description *group; /* for submit.c; room for `group_capacity` */
    int group_capacity;
    uint64_t bytes_sent; /* to other ranks */
    struct counters counters;
    struct numerics numerics;
    struct blocked *blocked; /* the threads that wait without a deadline; for inspect.c */
    bool asking;             /* a thread waits for the answers to inspect_ask() */

    struct process_set **sets; /* by id; NULL where there is none; [0] is the world */
    int sets_count;
    int *free_ids, free_ids_count; /* of removed sets, the oldest first */
    uint32_t next_serial;
    struct directory *directory; /* NULL: not known yet */
    struct reach reach;
    struct algorithm_borders borders; /* the top's are those that count */
    pthread_mutex_t adding;           /* one set is added or removed at a time on this rank */

    enum driver driver;
    int waiters;        /* callers asleep on `changed` */
    uint64_t driven_ns; /* when a caller drove last */
    struct crew *crew;  /* helps with large reductions; NULL: nobody does */
    uint64_t spin_ns;
    bool crowded;               /* the ranks of this host outnumber its processors */
    uint64_t sleeping_until_ns; /* the driver is in poll() until then; 0: it is not */
    struct pollfd *fds[2];      /* of a caller, of the thread: both may be in poll() */
    int fds_capacity[2];
    int wake_fd;
    bool unwatched;      /* who sleeps in poll() does not look at all links that there are */
    bool finished;       /* something that a caller waits for is done, found by somebody else */
    bool thorough;       /* poll() has said that something is there: look at every link */
    uint64_t checked_ns; /* when the links were looked at last */
    pthread_t thread;
    bool has_thread;
    bool thread_wanted; /* it shall not rest */
    bool thread_polls;  /* it is in poll(), though a caller may have taken the wheel since */
    bool thread_parked; /* it waits to be told that a caller has gone */
    bool stopping;

    bool broken;        /* everything has failed with `failure`, everybody has been told */
    struct err symptom; /* a link that broke and that nobody has explained yet */
    uint64_t symptom_until_ns;
    uint64_t last_done_ns; /* for reports, with flight.last_done */
};

void drive_enter(struct engine *engine);

/* Who drives lets go of it between two looks when somebody wants it. */
static inline void engine_lock(struct engine *engine)
{
    if (pthread_mutex_trylock(&engine->lock) != 0)
        drive_enter(engine);
}

static inline void engine_unlock(struct engine *engine)
{
    pthread_mutex_unlock(&engine->lock);
}

/* engine.c */
void engine_note_done(struct engine *engine, const struct tensor *tensor);
/* Puts the collective in front. */
int engine_context(enum collective_kind kind, const char *name, struct err *err);

/* move.c: this rank cannot go on, which breaks the world; says so in front of what has happened. */
void engine_fail(struct engine *engine, struct err *err);

/* doing.c: at most one line, without a newline, as seen in `set` */
void engine_say_doing(const struct process_set *set, char *text, size_t size);

/* submitted.c: what this rank waits for, as the rendezvous compares it */
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

/* ready.c: offers the tensor, at once or when its input is there */
int ready_offer(struct tensor *tensor, struct err *err);
/* Asks for events. 1 if something was offered, 0, or a negative status that breaks the world. */
int ready_move(struct process_set *set, struct err *err);
uint64_t ready_deadline(const struct process_set *set);
void ready_forget(struct process_set *set);
/* What is not offered: as negotiation_in_flight(), negotiation_waiting() and its count. */
bool ready_has(const struct process_set *set, const char *name);
int ready_waiting(const struct process_set *set, int index, struct waiting *waiting);
int ready_waiting_count(const struct process_set *set);

/* tune.c: autotuning, on the world's top; one_host: every rank is on this one */
int tune_init(struct engine *engine, bool one_host, struct err *err);
void tune_fini(struct engine *engine);
void tune_tensor_done(const struct tensor *tensor, uint64_t now_ns);

/* set.c */
struct fusion_limits set_fusion_limits(const struct engine *engine);
struct process_set *set_create(struct engine *engine, int id, const int *ranks, int size,
                               struct err *err);
void set_destroy(struct process_set *set);
/* Asks for the links to the ring's and the tree's neighbours; for data links to some ranks. */
int set_want_links(struct process_set *set, struct err *err);
int set_want_data(struct process_set *set, const int *ranks, int count, struct err *err);
/* Takes links that have come. Moves on to SET_READY when all are there. */
int set_take_links(struct process_set *set, struct err *err);
/* Moves what can be moved. 1, 0, or a negative status that breaks the world. */
int set_move(struct process_set *set, struct err *err);
/* Puts all that is to be reported into the link to the parent. */
void set_report(struct process_set *set);
/* The same to all children. */
void set_put_down(struct process_set *set, enum tree_frame type, const void *body, size_t nbytes);
/* Tells the neighbours that `who`, this rank, leaves, or that the world is broken: by the failure of
 * that rank, or ORIGIN_UNKNOWN. */
void set_tell(struct process_set *set, enum tree_frame type, int who, const struct err *reason);
bool set_is_flushed(const struct process_set *set); /* the tree's links */
/* set_links.c: a link to `rank` of the world has failed, names it if it was not this rank; no link that is missing matters
 * any more; the set is being removed, and all members have done what they wanted in it. */
int set_broke(struct process_set *set, int rank, struct err *err);
void set_forget_links(struct process_set *set);
bool set_is_over(const struct process_set *set);
/* set_tree.c, set_data.c: 1 if something moved, 0, or a negative status. */
int set_hear_below(struct process_set *set, struct err *err);
int set_hear_above(struct process_set *set, struct err *err);
int set_say(struct process_set *set, struct err *err);
int set_move_data(struct process_set *set, struct err *err);
/* Nothing more is sent or received: the others may be in the middle of an operation. */
void set_close_data(struct process_set *set);
bool set_has_data_to_send(const struct process_set *set);
/* Can more be decided or started, since something has finished? */
bool set_is_unsettled(struct process_set *set);
void set_send_rest(struct process_set *set);
/* Rank `who` of the world has left (-1: one that nobody has named yet). No more collectives; those
 * that are not decided on fail with the reason. */
void set_end(struct process_set *set, int who, const struct err *reason);
void set_fail_all(struct process_set *set, const struct err *reason);
/* When set_move() is wanted at the latest although nothing comes. */
uint64_t set_deadline(const struct process_set *set);
int set_check_links(struct process_set *set, struct err *err);

/* inspect.c: the stall inspector of a set that has its links */
int inspect_start(struct process_set *set, struct err *err);
void inspect_stop(struct process_set *set);
int inspect_receive(struct process_set *set, enum tree_frame type, int child,
                    const struct frame *frame, struct err *err);
uint64_t inspect_deadline(const struct process_set *set);
void inspect_tick(struct process_set *set);
/* For a person: asks the ranks of the sets that this rank is the top of what they wait for; false if
 * nothing does. It is over when all have answered, after STALL_PERSON_MS, or with the world. */
bool inspect_ask(struct engine *engine);
bool inspect_has_told(const void *engine);

/* settle.c */
#define ROWS_MAX ((int64_t)1 << 46) /* of one rank; those of all ranks fit into 63 bits */
int set_settle(struct process_set *set, struct err *err); /* takes all decisions there are */
void settle_tensor(struct tensor *tensor, const struct err *err);
/* It has failed, but parts of it are still in use. */
void settle_doom(struct tensor *tensor, const struct err *err);
/* A part is done. With the last one the tensor is: the result is at the output, if there is
 * room. */
void settle_part(struct tensor *tensor, const struct run *run);
/* Done: the whole result is at `data`, or the own share of it at the output already (NULL). */
void settle_whole(struct tensor *tensor, const void *data);
void settle_share(struct tensor *tensor, const void *whole);
/* Room for an allgather's or alltoall's output: the caller's if it is host memory and large enough,
 * else new memory, which `*memory` then owns. */
void *settle_place(struct tensor *tensor, size_t nbytes, void **memory);
/* Done, or failed if the caller's output was too small; `memory` is taken over. */
void settle_rows(struct tensor *tensor, const int64_t *rows, int nrows, void *data, void *memory);
/* The number in front of what a rank has given to an allgather. */
int64_t settle_read_rows(const struct agreed *agreed, int rank);

/* run_prepare.c: fills in where the data comes from and goes to; false when out of memory */
bool run_prepare(struct process_set *set, struct run *run, struct operation_task *task,
                 struct set_memory *memory);
bool run_get_staging(struct set_memory *memory);
size_t run_element_size(const struct run *run);
void *run_place_rows(void *run, const int64_t *rows); /* operation_task.place */

/* run_queue.c */
int run_queue(struct process_set *set, const struct decision *decision, struct err *err);
void run_release(struct process_set *set, struct run *run);

/* run_links.c: those that a run needs are wanted when it is decided on, and there when it starts */
int run_want_links(struct process_set *set, const struct run *run, struct err *err);
bool run_has_links(struct process_set *set, const struct run *run);

/* run.c: of the task all but memory */
void run_describe(const struct process_set *set, const struct run *run,
                  struct operation_task *task);
int runs_start(struct process_set *set, struct err *err); /* 1 if something was started */
int runs_finish(struct process_set *set);                 /* likewise */
void runs_fail(struct process_set *set, const struct err *reason);
/* The first in line that waits for links, which will not come, and those behind it. */
void runs_fail_unlinked(struct process_set *set, const struct err *reason);
void runs_fini(struct process_set *set);
int runs_under_way(const struct process_set *set);
bool runs_can_start(struct process_set *set);

/* sets.c */
int sets_added(struct tensor *tensor, const struct agreed *agreed, struct err *err);
bool sets_put(struct engine *engine, struct process_set *set);
int sets_removed(struct tensor *tensor, struct err *err);

/* reach.c: where this rank is, and the records of everybody, one behind the other */
int reach_init(struct engine *engine, struct err *err);
void reach_fini(struct engine *engine);
void reach_put_own(const struct engine *engine, struct wire_writer *writer);
int reach_learn(struct engine *engine, const void *records, size_t nbytes, struct err *err);
/* On top, if data is to be moved. Nothing happens if everybody knows, or has been asked already. */
int reach_ask(struct process_set *world, struct err *err);
int reach_receive(struct process_set *set, enum tree_frame type, int child,
                  const struct frame *frame, struct err *err);
/* Finds out on which hosts its ranks are. False if nobody knows, or when out of memory. */
bool reach_place(struct process_set *set);
enum algorithm reach_choose(void *set, const struct description *first, size_t nbytes);

/* drive.c */
typedef bool drive_done_fn(const void *arg);
/* Moves everything until `done(arg)`, in the calling thread or in another that waits as well. False
 * when `deadline_ns` has passed before. */
bool drive_until(struct engine *engine, drive_done_fn *done, const void *arg, uint64_t deadline_ns);
/* The same in a thread of the library: it is not the program that waits. */
void drive_for_person(struct engine *engine, drive_done_fn *done, const void *arg,
                      uint64_t deadline_ns);
void drive_wake(struct engine *engine);      /* who sleeps in poll() looks again, if it has to */
void drive_hand_over(struct engine *engine); /* nobody may be waiting: the thread is wanted */
void *drive_thread(void *engine);

/* move.c */
bool engine_move(struct engine *engine); /* true if something moved */
/* After the end: copies from and to devices have still to pass. */
bool engine_drain(struct engine *engine);
bool engine_is_draining(const struct engine *engine);
void engine_symptom(struct engine *engine, const struct err *err);
/* Is there something that a link did not take yet? */
bool engine_has_output(const struct engine *engine);
/* Would another engine_move() find something to do although nothing comes? */
bool engine_is_unsettled(const struct engine *engine);
/* Is there anything to do, now or when something comes? */
bool engine_is_busy(const struct engine *engine);
/* Sends what the trees' links take now; false when nothing is left. */
bool engine_send_rest(struct engine *engine);
/* When engine_move() is wanted although nothing comes; UINT64_MAX: not at all. */
uint64_t engine_deadline(const struct engine *engine);
/* What is due at a time: the stall inspectors. */
void engine_tick(struct engine *engine);
/* A look at all links, some times a second while something is in flight. */
void engine_check_links(struct engine *engine);

#endif
