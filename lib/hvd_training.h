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

/* Copies the data of rank `root` of the world to all ranks. Names, types and shapes must be the
 * same on all ranks. The order of the parameters may differ, because parameters are matched by
 * name. All are in flight at once, as "broadcast.<name>". When a rank has made a mistake, or the
 * ranks differ, nothing has been changed on any rank; when a rank is lost meanwhile, the contents
 * of the data are undefined. */
HVD_API int hvd_broadcast_parameters(const struct hvd_parameter *parameters, int count, int root,
                                     int process_set);

/* Like hvd_broadcast_parameters(), with tensors and scalars: moments, step counters, learning
 * rates. The scalars travel in one message; a tensor and a scalar may have the same name. Either
 * list may be empty. */
HVD_API int hvd_broadcast_optimizer_state(const struct hvd_parameter *tensors, int ntensors,
                                          const struct hvd_scalar *scalars, int nscalars, int root,
                                          int process_set);

/* Bytes of any meaning. */
struct hvd_object {
    void *data; /* owned; hvd_object_free() */
    size_t size;
};

/* On `root` the call reads `object`, which is borrowed during the call. On other ranks the call
 * overwrites `object`, whatever it was before, and the caller frees it; it is empty when the call
 * fails. `name` is matched between ranks, "<name>.sz" and "<name>.t", at most
 * HVD_PARAMETER_NAME_MAX bytes long, and may be NULL. An impossible name, root or process set is
 * HVD_ERR_INVALID at once, as with every collective: then, and when there is no world, the object
 * is unchanged. */
HVD_API int hvd_broadcast_object(const char *name, struct hvd_object *object, int root,
                                 int process_set);

/* Every rank contributes `size` bytes and gets the bytes of all ranks: `objects` is an array with
 * an object for each rank of the process set, in order of rank. The array and the bytes are one
 * block of memory that free() frees. Each object is aligned for any type. NULL when the call
 * fails. */
HVD_API int hvd_allgather_object(const char *name, const void *data, size_t size, int process_set,
                                 struct hvd_object **objects);

/* Frees the data and empties the object. NULL is fine. */
HVD_API void hvd_object_free(struct hvd_object *object);

/* ---- metrics ---- */

struct hvd_metric {
    const char *name; /* as a parameter's */
    double value;
};

/* Replaces each value by its average over the ranks, the same on all ranks to the bit. Metrics are
 * matched by name, in any order, and travel in one message. When the call fails the values are
 * unchanged. */
HVD_API int hvd_average_metrics(struct hvd_metric *metrics, int count, int process_set);

/* ---- learning rates: pure functions, which need no world ---- */

/* The position of a batch in the training, both counted from 0. */
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
 * keeps its meaning; later batches use `momentum` again.
 * <---- who trains on which sample ----
 * ---- samplers ---- */
HVD_API double hvd_corrected_momentum(double momentum, double old_rate, double new_rate);

/* ---- who trains on which sample ---- */

/* Deals `count` samples to the ranks, anew in each epoch: all samples, in an order that depends
 * only on seed, epoch and count, in equal shares. To make the shares equal, the first samples of
 * the order are dealt again at the end, at most size - 1 of them. The ranks' batches number k are
 * together the samples k x batch x size to (k + 1) x batch x size of the order, whatever the number
 * of ranks: two ranks with batch 64 see the same samples in each step as one rank with batch 128.
 * (Horovod's ElasticSampler.) */
struct hvd_sampler_options {
    uint64_t count; /* at most 2^32 - 1 */
    uint64_t seed;
    int in_order;   /* 1: do not shuffle */
    int rank, size; /* 0 and 0: those of the world */
    int distinct;   /* 1: no sample is dealt twice; at the end some ranks get one sample less */
    int ahead;      /* 1: samples are taken before they are needed, to load them; they count as
                       processed when hvd_sampler_finish() says so */
};
struct hvd_sampler;
HVD_API int hvd_sampler_create(const struct hvd_sampler_options *options,
                               struct hvd_sampler **sampler);
HVD_API void hvd_sampler_destroy(struct hvd_sampler *sampler); /* NULL is fine */

/* Begins an epoch from its first samples. A new sampler is at epoch 0. */
HVD_API void hvd_sampler_start_epoch(struct hvd_sampler *sampler, uint64_t epoch);
HVD_API uint64_t hvd_sampler_epoch(const struct hvd_sampler *sampler);

/* The number of samples that a rank still gets in this epoch, the same on all ranks; `distinct`:
 * that the first ranks get. */
HVD_API uint64_t hvd_sampler_left(const struct hvd_sampler *sampler);

/* Stores the next `count` samples of this rank, or as many as are left, and returns how many.
 * `distinct`: the last batch of an epoch may be one sample shorter than on other ranks, and so may
 * be empty. A rank takes part in the step all the same. */
HVD_API size_t hvd_sampler_next(struct hvd_sampler *sampler, uint64_t *samples, size_t count);

/* `ahead` only: training has used the `count` oldest of the samples that have been taken and not
 * been finished. A batch counts with what was asked of hvd_sampler_next(), or what was left of it.
 * HVD_ERR_INVALID if fewer have been taken. */
HVD_API int hvd_sampler_finish(struct hvd_sampler *sampler, uint64_t count);

/* How many samples of the epoch's order all ranks together have had, to be kept in a checkpoint.
 * hvd_sampler_resume() continues the epoch from there, also with another number of ranks.
 * HVD_ERR_INVALID if the epoch has fewer samples. */
HVD_API uint64_t hvd_sampler_processed(const struct hvd_sampler *sampler);
HVD_API int hvd_sampler_resume(struct hvd_sampler *sampler, uint64_t epoch, uint64_t processed);

/* Deals the samples of the epoch that have not been processed to `size` ranks, of which this one is
 * `rank`; 0 and 0: those of the world. All ranks have processed equally many. */
HVD_API int hvd_sampler_place(struct hvd_sampler *sampler, int rank, int size);

/* ---- checkpoints ---- */

/* The contents of a checkpoint. Entries of both lists are matched by name, and types and shapes
 * must be the same. */
struct hvd_checkpoint {
    const struct hvd_parameter *tensors; /* data only */
    int ntensors;
    const struct hvd_scalar *scalars;
    int nscalars;
};

/* Rank 0 of the process set writes a temporary file beside `file`, and renames the temporary file
 * when it is complete and on disk. At any time `file` is the whole old file or the whole new file.
 * The call returns the same status on every rank, with the same text: HVD_ERR_SYSTEM if the file
 * cannot be written. The format is in hvd_checkpoint_save(3). */
HVD_API int hvd_checkpoint_save(const char *file, const struct hvd_checkpoint *checkpoint,
                                int process_set);

/* Rank 0 of the process set reads the file and checks every byte, and the others receive the
 * contents: they need no file. HVD_ERR_INVALID if the file is no checkpoint, is damaged, or belongs
 * to another model, and the text says what was found and what was expected; HVD_ERR_SYSTEM if the
 * file cannot be read; HVD_ERR_MISMATCH if the ranks' lists differ. After these failures nothing
 * has been changed on any rank, unless the disk fails, memory runs out or the file is changed after
 * the check. */
HVD_API int hvd_checkpoint_restore(const char *file, const struct hvd_checkpoint *checkpoint,
                                   int process_set);

#ifdef __cplusplus
}
#endif

#endif
