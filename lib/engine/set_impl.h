/* SPDX-License-Identifier: Apache-2.0 */
/* A process set as this rank sees it. Each struct in it is changed by the files that its comment
 * names.
 *
 *   set.c        one pass over a set: agree, start and move data, finish; its beginning and end
 *   set_tree.c   the messages over the tree
 *   set_steady.c operations that need no agreement, because the ranks have learnt the schedule:
 *                set_steady_commit.c  what this rank submits;
 *                set_steady_kept.c  what all ranks have sent;
 *                set_steady_done.c  the end of an operation;
 *                set_steady_wait.c  patience, and tensors that are waited for;
 *                set_steady_run.c  such an operation in one blocking call;
 *                set_steady_rows.c  its rows, if it is an allgather or alltoall;
 *                set_steady_sent.c  more data than the agreement carries, to each rank its own;
 *                set_steady_limits.c  up to how many bytes
 *   set_links.c, set_data.c   the links of a set, and the data on them
 *   sets.c       adding and removing process sets */
#ifndef LIB_ENGINE_SET_IMPL_H
#define LIB_ENGINE_SET_IMPL_H

#include "lib/base/topology.h"
#include "lib/engine/batch_impl.h"
#include "lib/engine/fusion_limits.h"
#include "lib/engine/tree_link.h"
#include "lib/negotiation/negotiation.h"
#include "lib/negotiation/steady.h"
#include "lib/negotiation/steady_round.h"

#include <pthread.h>
#include <stdatomic.h>

/* Ranks of a set that is small enough for a steady state, which are neither parent nor child. */
enum { ACROSS_MAX = TOPOLOGY_MESH_MAX - 2 };

/* The most bytes that go with a commitment: the rows of an allgather or alltoall come with their
 * numbers, 8 bytes each. */
enum { STEADY_DATA_MAX = 8 * STEADY_RANKS_MAX + INLINE_MAX };

/* set_tree.c */
struct set_tree {
    int star; /* its shape (topology.h) */
    struct tree_position position;
    struct tree_link up, down[TREE_CHILDREN_MAX], across[ACROSS_MAX];
    int nacross;
    int across_ranks[ACROSS_MAX]; /* of the set */
};

/* set_steady.c: an operation of the schedule */
struct steady_operation {
    struct schedule_operation what;
    struct remembered remembered; /* its first tensor; borrowed from the negotiation's cache */
    uint32_t digest;
    struct tensor *tensor; /* set_steady_run.c: with name and description; NULL: not yet */
    bool is_made;          /* `tensor` is of this schedule */
    int64_t splits[STEADY_RANKS_MAX]; /* of `tensor`, if it is an alltoall */
};
struct set_steady {
    struct steady state;
    bool pays; /* schedules are looked for, if this is the root */
    int count; /* operations of the schedule */
    struct steady_operation *schedule;
    int capacity;               /* operations that there is room for */
    struct steady_round *round; /* the own tensors; NULL: there was no schedule yet */
    struct agreed *agreed;      /* room for the tensors of an operation */
    struct steady_kept *kept;   /* the data of all ranks; NULL: none yet */
    unsigned char *gathered;    /* of one operation: room for the data of all ranks */
    size_t offsets[STEADY_RANKS_MAX + 1];
    bool has_end; /* a rank has left the set, which ends with the steady state */
    int who;
    struct rank_end end;
};

/* set_links.c, set_data.c: data links, by rank in the set */
struct set_links {
    struct channel **channels; /* NULL where there is none */
    int *peers, npeers;        /* ranks whose channels exist */
    bool expected;             /* wanted ones may be there already */
    bool *awaited;             /* wanted and not there yet */
    int nawaited;              /* how many are awaited */
    bool lacking;              /* some have ended */
    bool sockets;              /* here or below in the tree, ranks of one host do not share memory;
                                  at the root: anywhere in the set */
    bool broken;               /* a link has broken, here or in the tree */
};

/* set.c, decisions.c: what the set has agreed on; tune.c sets the cycle time */
struct set_decided {
    struct wire_writer body;
    uint64_t last_ns;       /* when something was decided last */
    uint64_t count;         /* how often something was */
    uint64_t cycle_time_us; /* root: how long data may wait for more to be fused with */
    uint64_t data_since_ns; /* root: since when data could be moved, for the cycle time; 0: not */
    int64_t *rows;          /* room for a number from each rank */
};

/* ready.c: tensors that are not offered yet */
struct tensor_list {
    struct tensor *first, *last;
    int count;
};
struct set_ready {
    struct tensor_list unmade;    /* their events have not passed */
    struct tensor_list postponed; /* a waiting join, and tensors behind it */
};

/* linking -> ready;  a rank that is no member never gets beyond linking */
enum set_state { SET_LINKING, SET_READY };

struct process_set {
    struct engine *engine;
    int id;
    uint32_t serial; /* of all sets ever added, the world is 0; distinguishes links */
    int size;
    int *ranks; /* of the world, ascending */
    int rank;   /* of this process, -1 if it is no member: then the rest is empty */
    enum set_state state;
    struct err ended;    /* why, in words for the callers */
    struct rank_end end; /* the record, if a rank has left */
    bool removing;       /* nothing new is accepted */

    struct negotiation *negotiation;
    struct negotiation_observer observer; /* trace.c */
    struct stall *stall;                  /* inspect.c; once it is ready */
    struct placing *placing;              /* address_exchange.c; NULL: not known yet */
    uint64_t nameless[COLLECTIVE_KINDS];  /* submit.c: of each kind submitted since the last join */
    uint64_t joins;                       /* submit.c: how many joins this rank has submitted */
    int in_flight;                        /* own tensors */
    struct tensor *adding;                /* sets.c: waits until this set's links are there */

    struct set_tree tree;
    struct set_steady steady;
    struct set_links links;
    struct set_decided decided;
    struct set_ready ready;
    struct set_batches batches;
    struct set_stages stages;
};

/* set.c */
struct fusion_limits set_fusion_limits(const struct engine *engine);
struct process_set *set_create(struct engine *engine, int id, const int *ranks, int size,
                               struct err *err);
void set_destroy(struct process_set *set);
/* Makes all progress that is possible. 1 if something moved, 0, or a negative status that breaks
 * the world. */
int set_move(struct process_set *set, struct err *err);
/* Puts all reports into the link to the parent. */
void set_report(struct process_set *set);
/* True if more can be decided or started because something has finished. */
bool set_has_work(struct process_set *set);
/* Rank `who` of the world has left (-1: not known which). The set runs no more collectives; those
 * that are not decided on fail with the reason. */
void set_end(struct process_set *set, int who, const struct rank_end *end);
void set_fail_all(struct process_set *set, const struct err *reason);
/* A collective has failed because a rank has left; a NULL name is left out. */
void set_strand(struct process_set *set, enum collective_kind kind, const char *name);
/* The latest time for set_move() if nothing comes. */
uint64_t set_deadline(const struct process_set *set);

/* set_links.c */
int set_init_links(struct process_set *set, struct err *err);
void set_fini_links(struct process_set *set);
/* Asks for the links to the ring's and the tree's neighbours; for data links to some
 * ranks. */
int set_want_links(struct process_set *set, struct err *err);
int set_want_data(struct process_set *set, const int *ranks, int count, struct err *err);
/* Takes links that have come. Goes to SET_READY when all have come. */
int set_take_links(struct process_set *set, struct err *err);
int set_check_links(struct process_set *set, struct rank_end *end);
/* Two ranks of one host, here or below in the tree, are linked by a socket: tells the ranks above,
 * once. Only the root needs to know, which chooses algorithms; every algorithm is right without
 * shared memory, so nothing depends on when the root learns of it. */
void set_note_sockets(struct process_set *set);
/* The error of a failed link to `rank` of the world, which it names unless it is this rank; whether
 * missing links do not matter any more; whether the set is being removed and all members have done
 * their part in it. */
int set_broke(struct process_set *set, int rank, struct err *err);
/* Like set_broke(), of a link whose peer is gone: fills in `end`. */
void set_lost_link(struct process_set *set, int rank, const struct err *err, struct rank_end *end);
void set_forget_links(struct process_set *set);
bool set_is_over(const struct process_set *set);

/* set_tree.c: 1 if something moved, 0, or a negative status. */
int set_receive_from_children(struct process_set *set, struct err *err);
int set_receive_from_parent(struct process_set *set, struct err *err);
int set_say(struct process_set *set, struct err *err);
int set_receive_from_across(struct process_set *set, struct err *err);
/* Reads everything that has come over the link of set_tree_at(). */
int set_receive_from(struct process_set *set, int index, struct err *err);
/* The rank of the set at its other end. */
int set_tree_rank(const struct process_set *set, int index);
/* Link `index` of this rank in the tree: to the parent, to the children, to the other ranks of a
 * small set. NULL beyond the last; the link to a parent may lack. */
struct tree_link *set_tree_at(struct process_set *set, int index);
/* True if a link of this rank in the tree uses the transport. */
bool set_tree_uses(struct process_set *set, enum transport transport);
/* Puts a frame into the links to all children. */
void set_put_down(struct process_set *set, enum tree_frame type, const void *body, size_t nbytes);
/* Sends the neighbours that this rank leaves (TREE_LEFT), or why the world is broken. */
void set_tell(struct process_set *set, enum tree_frame type, const struct rank_end *end);
bool set_is_flushed(struct process_set *set); /* the tree's links */
void set_send_rest(struct process_set *set);

/* set_data.c: results as in set_tree.c */
int set_move_data(struct process_set *set, struct err *err);
/* Ends sending and receiving: the other ranks may be in the middle of an operation. */
void set_close_data(struct process_set *set);
bool set_has_data_to_send(const struct process_set *set);

/* set_steady.c */
/* The root has decided on a schedule. */
int set_steady_begin(struct process_set *set, const struct schedule *schedule, struct err *err);
/* While true, this rank neither reports nor decides. */
static inline bool set_is_steady(const struct process_set *set)
{
    return set->steady.state.phase != STEADY_OFF;
}
/* True if a timeline or the autotuner is to see agreements. */
bool set_steady_is_observed(const struct process_set *set);
/* Finishes what all ranks have committed to; ends the steady state when all have left. 1, 0 or a
 * negative status. */
int set_steady_move(struct process_set *set, struct err *err);
void set_steady_leave(struct process_set *set);
/* This rank ends. Other ranks may have begun a steady state that this rank has not heard of. */
void set_steady_decline(struct process_set *set);
/* The set ends when the steady state does: rank `who` has left. */
void set_steady_keep_end(struct process_set *set, int who, const struct rank_end *end);
/* The set has ended: its tensors are failed elsewhere. */
void set_steady_abandon(struct process_set *set);
void set_steady_fini(struct process_set *set);

/* set_steady_limits.c */
/* The links are there: whether a steady state is faster than the agreement, and for what. */
void set_steady_limit(struct process_set *set);

/* set_steady_commit.c */
/* Commits to a tensor, or holds it until its turn comes: true. If the schedule does not expect the
 * tensor, leaves the steady state: false, and the tensor is to be offered to the agreement. */
bool set_steady_offer(struct process_set *set, const struct offer *offer);
/* Commits to a tensor that is next; false: it has left instead. */
bool set_steady_offer_next(struct process_set *set, const struct offer *offer);
/* For set_steady_run.c: commits to an operation whose tensor is not known yet; returns its number.
 * The tensor of an operation that has one; NULL: it is done. */
uint32_t set_steady_commit(struct process_set *set, const void *data, size_t nbytes);
void set_steady_own(struct process_set *set, uint32_t number, struct tensor *tensor);
/* True if a tensor of this name is committed to and not done, or held. */
bool set_steady_has(const struct process_set *set, const char *name);

/* set_steady_kept.c */
/* A TREE_STEADY or TREE_UNSTEADY of rank `from` of the set. */
int set_steady_receive(struct process_set *set, int from, const struct frame *frame,
                       struct err *err);
/* Keeps what this rank has committed. Its place may be filled before it commits; then
 * set_steady_keep() takes the data from there. */
void set_steady_keep(struct process_set *set, uint32_t number, const void *data, size_t nbytes);
void *set_steady_place(struct process_set *set, uint32_t number);
/* What a rank has committed, until the operation is done. */
const unsigned char *set_steady_kept(const struct process_set *set, int rank, uint32_t number,
                                     size_t *nbytes);
/* All ranks have committed to the same operation, with `nbytes` each; SIZE_MAX: any number. */
int set_steady_check(const struct process_set *set, uint32_t number, size_t nbytes,
                     struct err *err);
/* Copies the data of a rank, which must be `nbytes`. */
int set_steady_copy(const struct process_set *set, int rank, uint32_t number, void *out,
                    size_t nbytes, struct err *err);
/* Reduces `count` elements of all ranks, in order of rank, as contribution_reduce() does. `own` is
 * this rank's; `out` may be equal to it: only the last step writes there. */
void set_steady_reduce(const struct process_set *set, const struct description *description,
                       size_t count, uint32_t number, const void *own, void *out);

/* set_steady_sent.c: operations whose data are sent with the commitment (SCHEDULED_SENT) */
/* A TREE_SENT of rank `from` of the set. */
int set_steady_receive_sent(struct process_set *set, int from, const struct frame *frame,
                            struct err *err);
/* True if what this rank has for each other rank may go with a commitment. */
bool set_steady_can_send(const struct process_set *set, const struct tensor *tensor);
/* Commits, like set_steady_commit(). */
uint32_t set_steady_send(struct process_set *set, const struct tensor *tensor);
/* All ranks have sent what the operation needs; of an allgather or alltoall any rows. */
int set_steady_check_sent(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number, struct err *err);
/* The bytes of the result. */
size_t set_steady_sent_bytes(const struct process_set *set, const struct tensor *tensor,
                             uint32_t number);
/* Writes the result, after the check. `out` may be the input of an allreduce, or have the input of
 * an allgather in it. */
void set_steady_take_sent(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number, void *out);
/* The operation is done: writes the result to the tensor's output, or to new memory, and completes
 * the tensor. */
int set_steady_complete_sent(struct process_set *set, struct tensor *tensor, uint32_t number,
                             struct err *err);

/* set_steady_wait.c */
/* A thread waits for tensors, or has asked about them: leaves if some of them are held until this
 * rank submits others. */
void set_steady_await(struct engine *engine, const struct ticket *ticket);
void set_steady_poll(struct engine *engine, const struct ticket *ticket);
/* A tensor that waits for long is offered to the agreement, which can tell who is missing. */
void set_steady_tick(struct process_set *set, uint64_t now_ns);
uint64_t set_steady_deadline(const struct process_set *set);
/* Like negotiation_waiting() and its count. */
int set_steady_waiting(const struct process_set *set, int index, struct waiting *waiting);
int set_steady_waiting_count(const struct process_set *set);

/* set_steady_run.c */
/* A blocking call that the schedule expects, when nothing else is in flight. */
enum steady_run {
    STEADY_RUN_NOT,  /* it is not such a call, and nothing has happened */
    STEADY_RUN_DONE, /* the result is at the output */
    STEADY_RUN_WAITS /* not done yet: `*ticket` is to be waited for; NULL: `err` */
};
enum steady_run set_steady_run(struct engine *engine, const struct submission *submission,
                               struct ticket **ticket, struct err *err);

/* set_steady_rows.c */
/* True if a call of an allgather or alltoall is what the tensor was, with rows of at most `most`
 * bytes; takes its numbers of rows over. */
bool set_steady_rows_repeat(const struct process_set *set, struct tensor *tensor,
                            const struct submission *submission, size_t most);
/* Writes this rank's contribution, at most STEADY_DATA_MAX bytes; returns how many. */
size_t set_steady_rows_put(const struct process_set *set, const struct tensor *tensor, void *to);
/* True if what all ranks have committed is well-formed, and the output has room for the result.
 * Only then may it be taken. */
bool set_steady_rows_fit(const struct process_set *set, const struct tensor *tensor,
                         uint32_t number);
void set_steady_rows_take(const struct process_set *set, const struct tensor *tensor,
                          uint32_t number);

/* sets.c: all sets of this rank */
struct set_table {
    struct process_set **at; /* by id; NULL where there is none; [0] is the world */
    int count;
    int *free_ids, free_count; /* of removed sets, the oldest first */
    uint32_t next_serial;
    atomic_bool any_has_ended; /* set_end(); for threads without the lock */
    pthread_mutex_t adding;    /* one set is added or removed at a time on this rank */
};
void sets_init(struct engine *engine);
void sets_fini(struct engine *engine); /* the sets themselves are gone */
int sets_added(struct tensor *tensor, const struct agreed *agreed, struct err *err);
bool sets_put(struct engine *engine, struct process_set *set);
int sets_removed(struct tensor *tensor, struct err *err);

#endif
