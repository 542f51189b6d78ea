/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose tensors are in the memory of devices (lib/hvd_device.h). The engine works on host
 * memory, so each batch is copied to the host, carried out, and copied back:
 *
 *   queued -> coming -> here -> in the window -> going -> done
 *   queued -> reducing -> done                       reduced or moved by the devices among
 *                                                    themselves
 *   any -> doomed -> failed                          when nothing uses the tensors' memory any more
 *
 * Large tensors are cut into chunks (batch_queue.c), each a batch of its own in the queue. While
 * one chunk is in the window, later chunks are copied to the host ahead of their turn, and earlier
 * chunks are copied back. A few batches of a set have a place, in order of the queue, so that the
 * first of the queue always gets a place: no batch waits for pinned memory that a later batch
 * holds. Batches that devices carry out keep an order of their own, beside the queue.
 *
 * Devices send no signal when an event has passed: the driver polls every STAGE_POLL_NS while there
 * is an event to wait for, and not at all otherwise.
 *
 * A device has enough pinned memory for the batches that one set has under way (device_reserve()).
 * When several sets share less than they want, each waits for the others to give some back. Another
 * rank's operations may precede ours on a link and wait for an operation that we have not started;
 * to avoid a deadlock, no set waits longer than some seconds.
 *
 * A failure before other ranks have this rank's data breaks the world (HVD_ERR_SYSTEM,
 * HVD_ERR_NOMEM). When copying back fails, only that tensor fails, on this rank. */
#ifndef LIB_ENGINE_STAGE_IMPL_H
#define LIB_ENGINE_STAGE_IMPL_H

#include "lib/base/status.h"
#include "lib/collective/operation.h"
#include "lib/device/transfer.h"
#include "lib/engine/channel.h"

#include <stdbool.h>
#include <stdint.h>

struct process_set;
struct batch;

#define STAGE_POLL_NS 50000ull

/* How long a world that has broken waits for what devices have at work; a test may change it before
 * hvd_init(). */
extern uint64_t stage_drain_ns;

/* The most batches of a set that have, or wait for, pinned memory at a time: those in the window,
 * one that is copied to the host, and one that is copied back. */
enum { STAGES_MAX = WINDOW_SIZE + 2 };

enum stage_step {
    STAGE_NONE, /* in host memory */
    STAGE_QUEUED,
    STAGE_COMING,
    STAGE_HERE, /* and in the window */
    STAGE_GOING,
    STAGE_REDUCING,
    STAGE_DOOMED
};

/* The stage of a batch. The operation works in a pinned buffer. If the buffer is too small or
 * devices are mixed, the operation works in memory of the batch's own, and copies go through
 * buffers, one tensor after the other. */
struct stage {
    enum stage_step step;
    bool has_place;
    struct device_buffer *buffer; /* or an event alone, while reducing; or NULL */
    unsigned char *host;          /* the buffer's memory, or the batch's own, with the input */
    struct transfer transfer;     /* of tensor number `at`, while `transferring` */
    bool transferring;
    int at;
    uint64_t lacking_since_ns; /* since when pinned memory is lacking; 0: it is not */
};

/* First in, first out. */
struct batch_list {
    struct batch *first, *last;
};
void batch_list_append(struct batch_list *list, struct batch *batch);
struct batch *batch_list_take(struct batch_list *list); /* there is one */

/* The batches of a process set that are on devices. */
struct set_stages {
    int count;                   /* batches on devices, in any step */
    int places;                  /* how many of them have a place */
    struct batch_list returning; /* being copied back, or doomed */
    struct batch_list reducing;  /* for devices to carry out */
    uint64_t drain_until_ns;     /* when copies back are given up; 0: not draining */
};

/* stage.c. A decision has become a batch. True if the devices carry it out; then it does not go
 * into the queue. */
bool stage_queue(struct process_set *set, struct batch *batch);

/* The batch is given back. */
void stage_leave(struct process_set *set, struct batch *batch);

/* Copies everything that can be copied now. 1 if something moved, 0, or a negative status. */
int stage_move(struct process_set *set, struct err *err);

/* The operation of the batch is done. */
void stage_return(struct process_set *set, struct batch *batch);

/* The tensors of the batch end with the reason once nothing uses their memory. */
void stage_fail(struct process_set *set, struct batch *batch, const struct err *reason);
void stage_fail_all(struct process_set *set, const struct err *reason); /* batches beside the
                                                                         * queue */

/* The work that is left when the set, or the world, has ended; bounded. 1 if something moved. */
int stage_drain(struct process_set *set);
bool stage_is_draining(const struct process_set *set);

/* The time when stage_move() is wanted although nothing comes; whether it would find work at
 * once. */
uint64_t stage_deadline(const struct process_set *set);
bool stage_has_work(const struct process_set *set);

/* Puts this rank, its host and the collective in front of the error's text. */
int stage_context(const struct batch *batch, struct err *err);

/* stage_piece.c: the bytes of tensor `i` that are copied to the host (`in`), or back; the tensor's
 * part begins at byte `at` of the batch. */
struct stage_piece {
    unsigned char *host, *memory; /* of the device */
    size_t nbytes;
};
struct stage_piece stage_piece(const struct batch *batch, int i, size_t at, bool in);
size_t stage_part_bytes(const struct batch *batch, int i);
size_t stage_share_bytes(const struct batch *batch); /* reduce-scatter: of this rank */
size_t stage_host_bytes(const struct batch *batch);  /* bytes that the batch needs on the host */

/* Prepares the data of the operation, scaled; false when out of memory. */
bool stage_prepare(const struct process_set *set, struct batch *batch, struct operation_task *task);

/* stage_copy.c. Both return 1 if something moved, 0, or a negative status. After HVD_ERR_NOMEM the
 * caller may try again. */
int stage_begin_in(struct batch *batch, struct err *err);
int stage_move_in(struct batch *batch, struct err *err);

/* Copies back likewise. True when all copies are over; failures are those of the tensors. */
bool stage_begin_out(struct batch *batch);
bool stage_move_out(struct batch *batch);

/* True if all queued work for a batch has passed. Then gives its memory back; memory whose work has
 * not passed stays with the vendor. */
bool stage_is_quiet(struct batch *batch);
void stage_free(struct batch *batch, bool quiet);

/* stage_reduce.c: batches that devices carry out. Returns like stage_move(). */
int stage_reduce(struct process_set *set, struct err *err);

#endif
