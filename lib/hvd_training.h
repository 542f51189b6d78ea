/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_training.h - what a training program needs besides its optimizer: the same state on all
 * ranks, averaged metrics, learning rates, samplers, and checkpoints.
 *
 * Calls that take a process set are collectives: every rank of the set makes them, in the same
 * order. They return HVD_OK or a negative status. A failure on one rank makes the call fail on all
 * ranks, so that none goes on alone. The rank that makes a mistake gets HVD_ERR_INVALID, a rank
 * that is out of memory gets HVD_ERR_NOMEM, and the other ranks get HVD_ERR_MISMATCH with the same
 * text. When the ranks' arguments differ, all get HVD_ERR_MISMATCH, and the text quotes the
 * difference. Only a rank without the memory to submit any tensor fails alone: the others wait for
 * this rank until it leaves. The tensors of these calls have names that begin with "hvd.", unless a
 * call below gives another name; names of a program's own tensors must not begin so. */
#ifndef HVD_TRAINING_H
#define HVD_TRAINING_H

#include "hvd.h"
#include "hvd_optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- state ---- */

/* A number of an optimizer's state, e.g. how many steps it has made. */
struct hvd_scalar {
    const char *name; /* as a parameter's */
    void *value;      /* one element */
    enum hvd_dtype dtype;
};

/* Takes over the data of rank `root` of the world. Names, types and shapes must be the same on all
 * ranks, the order of the parameters need not: they are matched by name. All are in flight at once,
 * as "broadcast.<name>". When a rank has made a mistake, or the ranks differ, nothing has been
 * changed anywhere; when a rank is lost meanwhile, the data are anything. */
HVD_API int hvd_broadcast_parameters(const struct hvd_parameter *parameters, int count, int root,
                                     int process_set);

/* Likewise with tensors and scalars: moments, step counters, learning rates. The scalars travel in
 * one message; names of tensors and of scalars are apart. Either list may be empty. */
HVD_API int hvd_broadcast_optimizer_state(const struct hvd_parameter *tensors, int ntensors,
                                          const struct hvd_scalar *scalars, int nscalars, int root,
                                          int process_set);

/* Some bytes, whatever they mean. */
struct hvd_object {
    void *data; /* owned; hvd_object_free() */
    size_t size;
};

/* On `root`, `object` is read and borrowed during the call; on the others it is written, whatever
 * it was before, and theirs to free: an empty one when the call fails. `name` is matched between
 * ranks, "<name>.sz" and "<name>.t", at most HVD_PARAMETER_NAME_MAX bytes long, and may be NULL. A
 * name, root or process set that cannot be is HVD_ERR_INVALID at once, as with every collective:
 * then, and when there is no world, the object is left alone. */
HVD_API int hvd_broadcast_object(const char *name, struct hvd_object *object, int root,
                                 int process_set);

/* Every rank gives `size` bytes and gets those of all: `objects` is an array of as many as the
 * process set has ranks, in their order, which points into itself: one block of memory that free()
 * frees. Each object begins where any type may. NULL when the call fails. */
HVD_API int hvd_allgather_object(const char *name, const void *data, size_t size, int process_set,
                                 struct hvd_object **objects);

/* Frees the data and empties the object. NULL is fine. */
HVD_API void hvd_object_free(struct hvd_object *object);

/* ---- metrics ---- */

struct hvd_metric {
    const char *name; /* as a parameter's */
    double value;
};

/* Replaces each value by its average over the ranks, the same on all to the bit. Matched by name,
 * whatever their order; one message. When it fails the values are as they were. */
HVD_API int hvd_average_metrics(struct hvd_metric *metrics, int count, int process_set);

/* ---- learning rates: pure functions, which need no world ---- */

/* Where a batch lies in the training, both counted from 0. */
struct hvd_batch {
    int64_t epoch;
    int64_t batch;
    int64_t batches; /* in an epoch; at least 1 */
};

/* The learning rate of a batch while it rises from `target` / size to `target` in `warmup_epochs`
 * epochs, after every batch; afterwards `target`. `target` is the rate for all ranks together, e.g.
 * that for one rank times size. (Goyal et al. 2017; Horovod's LearningRateWarmupCallback.) */
HVD_API double hvd_warmup_rate(double target, double warmup_epochs, int size,
                               struct hvd_batch batch);

/* The learning rate of a batch under Horovod's LearningRateScheduleCallback: `initial` times a
 * multiplier between two epochs, and `initial` outside. */
struct hvd_rate_schedule {
    double initial;
    double (*multiplier)(double epoch, void *arg); /* NULL: decay to the power of epochs passed */
    void *arg;
    double decay;        /* for each epoch since start_epoch; 0 counts as 1, which keeps the rate */
    int64_t start_epoch; /* the first */
    int64_t end_epoch;   /* the first afterwards; 0: there is none */
    int smooth;          /* 0: changes with the epoch; 1: with every batch */
};
HVD_API double hvd_scheduled_rate(const struct hvd_rate_schedule *schedule, struct hvd_batch batch);

/* The momentum for the first batch after a change of rate, so that the velocity built up before
 * keeps its meaning; the batches after it go back to `momentum`. */
HVD_API double hvd_corrected_momentum(double momentum, double old_rate, double new_rate);

/* ---- who trains on which sample ---- */

/* Deals `count` samples to the ranks, anew in each epoch: all samples, in an order that depends on
 * seed, epoch and count alone, in equal shares; so that shares are equal the first of the order
 * are dealt again at the end, at most size - 1 of them. The ranks' batches number k are together
 * the samples k x batch x size to (k + 1) x batch x size of the order, whatever the number of
 * ranks: two ranks with batch 64 see in each step what one with 128 does. (Horovod's
 * ElasticSampler.) */
struct hvd_sampler_options {
    uint64_t count; /* at most 2^32 - 1 */
    uint64_t seed;
    int in_order;   /* 1: do not shuffle */
    int rank, size; /* 0 and 0: those of the world */
};
struct hvd_sampler;
HVD_API int hvd_sampler_create(const struct hvd_sampler_options *options,
                               struct hvd_sampler **sampler);
HVD_API void hvd_sampler_destroy(struct hvd_sampler *sampler); /* NULL is fine */

/* Begins an epoch: its first samples are next. A new sampler is at epoch 0. */
HVD_API void hvd_sampler_start_epoch(struct hvd_sampler *sampler, uint64_t epoch);

/* Samples that this rank still gets in this epoch: the same number on all ranks. */
HVD_API uint64_t hvd_sampler_left(const struct hvd_sampler *sampler);

/* Stores the next `count` samples of this rank, or as many as are left, and returns how many. */
HVD_API size_t hvd_sampler_next(struct hvd_sampler *sampler, uint64_t *samples, size_t count);

/* How many samples of the epoch's order all ranks together have had: to be kept in a checkpoint.
 * Then the epoch can be gone on with from there, also with another number of ranks. HVD_ERR_INVALID
 * if it has not so many. */
HVD_API uint64_t hvd_sampler_processed(const struct hvd_sampler *sampler);
HVD_API int hvd_sampler_resume(struct hvd_sampler *sampler, uint64_t epoch, uint64_t processed);

/* ---- checkpoints ---- */

/* What is in a checkpoint; both lists are matched by name, and must be the same to the type and
 * shape. */
struct hvd_checkpoint {
    const struct hvd_parameter *tensors; /* data only */
    int ntensors;
    const struct hvd_scalar *scalars;
    int nscalars;
};

/* Rank 0 of the process set writes the file: to a temporary one beside it, which is renamed when it
 * is complete and on disk. At any time `file` is the whole old one or the whole new one. Returns on
 * every rank what it returns on that one, with the same text: HVD_ERR_SYSTEM if it cannot be
 * written. The format is in hvd_checkpoint_save(3). */
HVD_API int hvd_checkpoint_save(const char *file, const struct hvd_checkpoint *checkpoint,
                                int process_set);

/* Rank 0 of the process set reads the file, checks it to the last byte, and the others take over
 * what is in it: they need no such file. HVD_ERR_INVALID if it is no checkpoint, damaged, or one of
 * another model, and the text says what was found and what was expected; HVD_ERR_SYSTEM if it
 * cannot be read; HVD_ERR_MISMATCH if the ranks' lists differ. Nothing has been changed on any rank
 * then, unless the disk fails, memory runs out or the file is changed after the check. */
HVD_API int hvd_checkpoint_restore(const char *file, const struct hvd_checkpoint *checkpoint,
                                   int process_set);

#ifdef __cplusplus
}
#endif

#endif
