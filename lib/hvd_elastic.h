/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_elastic.h - training that goes on when ranks come and go: when a rank is lost, the others
 * take back their last commit, form another world in the same processes, and continue; new ranks
 * receive the state of the others.
 *
 *     static int train(struct hvd_elastic_state *state, void *arg)
 *     {
 *         while (model->step < STEPS) {
 *             one step of training: a failure returns its status
 *             model->step++;
 *             if (model->step % 10 == 0 && (rc = hvd_elastic_commit(state)) != HVD_OK)
 *                 return rc;
 *         }
 *         return HVD_OK;
 *     }
 *
 *     hvd_elastic_init();
 *     hvd_elastic_create(NULL, &state);
 *     hvd_elastic_add_parameters(state, parameters, n);
 *     hvd_elastic_add_values(state, &(struct hvd_scalar){ "step", &model->step, HVD_INT64 }, 1);
 *     rc = hvd_elastic_run(state, train, model);
 *     hvd_elastic_destroy(state);
 *     hvd_shutdown();
 *
 * A program makes no collective between hvd_elastic_init() and hvd_elastic_run(): a rank that is
 * started later would make it while the others do something else. In train() it may make any, and
 * it calls train()'s part of the work in the same order on all ranks. What train() needs for each
 * world, such as process sets, it makes at its beginning; tensors in flight and handles of an
 * earlier world are gone.
 *
 * The state is what all ranks share. It must be the same on all ranks at each commit, because any
 * of them may have to give it to the others. What is not in the state is as train() left it, and
 * may belong to a step that has been taken back.
 *
 * Calls return HVD_OK or a negative status, as those of hvd.h. One thread at a time uses a
 * state. */
#ifndef HVD_ELASTIC_H
#define HVD_ELASTIC_H

#include "hvd.h"
#include "hvd_optimizer.h"
#include "hvd_training.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Like hvd_init(); but when a rank is lost while the world of an elastic job is made, joins the
 * next one. HVD_ERR_REMOVED: the job will not have this process, which should end. */
HVD_API int hvd_elastic_init(void);

/* Zero means the default in every field, and NULL instead of the struct means all defaults. The
 * same on all ranks. */
struct hvd_elastic_options {
    const char *checkpoint; /* a file, for hvd_checkpoint_save(); NULL: none. When no rank holds a
                               commit, training goes on from the file if there is one: the same
                               command line continues a job whose ranks all died */
    int checkpoint_every;   /* commits from one file to the next; default 1 */
    int reset_limit;        /* as many worlds may follow the first one of the job; default: any */
};

struct hvd_elastic_state;

/* Makes an empty state. The options are copied. `*state` is NULL when it fails. */
HVD_API int hvd_elastic_create(const struct hvd_elastic_options *options,
                               struct hvd_elastic_state **state);

/* Also destroys the optimizers of the state, see hvd_optimizer_destroy(). NULL is fine. */
HVD_API void hvd_elastic_destroy(struct hvd_elastic_state *state);

/* ---- what the state is made of: to be said before the first world ----
 *
 * All ranks add the same, in any order: if names, types or shapes differ, hvd_elastic_sync() fails
 * on every rank with HVD_ERR_MISMATCH and a text that names rank and difference. Names and dims are
 * copied, data are borrowed until the state is destroyed. HVD_ERR_INVALID, with the name in the
 * text, for a name that the state has already, for what hvd_broadcast_parameters() would refuse,
 * and after the first synchronisation or commit. A call that fails adds nothing. */

/* Tensors, e.g. of a model or the moments of an optimizer: their data. */
HVD_API int hvd_elastic_add_parameters(struct hvd_elastic_state *state,
                                       const struct hvd_parameter *parameters, int count);

/* `size` bytes of any meaning; a tensor of HVD_UINT8. */
HVD_API int hvd_elastic_add_memory(struct hvd_elastic_state *state, const char *name, void *data,
                                   size_t size);

/* Numbers, such as a step, an epoch or a learning rate. hvd_elastic_commit() compares them: if they
 * differ between ranks the ranks are not at the same step. */
HVD_API int hvd_elastic_add_values(struct hvd_elastic_state *state, const struct hvd_scalar *values,
                                   int count);

/* The epoch of a sampler and how much of the epoch has been processed. In each world the samples
 * that remain are dealt to its ranks (hvd_sampler_place()): none is lost, and none is dealt twice
 * but those that make the last shares equal (`distinct`: none at all). The values "<name>.epoch"
 * and "<name>.processed" belong to the state. */
HVD_API int hvd_elastic_add_sampler(struct hvd_elastic_state *state, const char *name,
                                    struct hvd_sampler *sampler);

/* An optimizer: adds its parameters, as hvd_elastic_add_parameters() does, and creates the
 * optimizer anew in each world, in `*optimizer`, with hvd_optimizer_create(). What `options` points
 * to is borrowed. `*optimizer` is NULL outside of worlds. */
HVD_API int hvd_elastic_add_optimizer(struct hvd_elastic_state *state,
                                      const struct hvd_parameter *parameters, int count,
                                      const struct hvd_optimizer_options *options,
                                      hvd_update_fn *update, void *arg,
                                      struct hvd_optimizer **optimizer);

/* Called on every rank of each world that continues a state, after the synchronisation and before
 * train(), so that what depends on the number of ranks can follow it:
 *
 *     static int on_reset(const struct hvd_elastic_reset *reset, void *arg)
 *     {
 *         model->learning_rate *= (double)reset->size / reset->previous_size;
 *         return HVD_OK;
 *     }
 *
 * `previous_size` is that of the world which made the commit. If a world ends before it commits,
 * the next one begins with that commit again. A result other than HVD_OK ends hvd_elastic_run()
 * with it. Callbacks are called in the order in which they were added. */
struct hvd_elastic_reset {
    int epoch;         /* hvd_epoch() */
    int size;          /* hvd_size() */
    int previous_size; /* of the world that made the commit, at least 1 */
};
typedef int hvd_elastic_reset_fn(const struct hvd_elastic_reset *reset, void *arg);
HVD_API int hvd_elastic_on_reset(struct hvd_elastic_state *state, hvd_elastic_reset_fn *callback,
                                 void *arg);

/* ---- during training: collectives, which all ranks call equally often and in the same order
 * ---- */

/* Copies the state to memory, so that training can go on from here, then meets the other ranks:
 *
 *   HVD_OK              every rank has copied it
 *   HVD_HOSTS_UPDATED   likewise; and the job is to go on with other members: train() must return it
 *   HVD_ERR_MISMATCH    the ranks' values differ, or another rank is not in this call; the text names
 *                       ranks and values
 *   HVD_ERR_PEER_LOST   a rank was lost: train() must return it
 *
 * With a checkpoint file, every so many commits also writes the file, and may fail with
 * HVD_ERR_SYSTEM. HVD_ERR_INVALID before hvd_elastic_sync() in this world. */
HVD_API int hvd_elastic_commit(struct hvd_elastic_state *state);

/* Asks without a copy whether the job is to go on with other members: HVD_OK, or as above. The
 * state is kept as it is then, not as it was committed. One small collective. */
HVD_API int hvd_elastic_check_host_updates(struct hvd_elastic_state *state);

/* ---- the loop ---- */

/* Trains in the world that there is, from the state. Returns HVD_OK when training is done; a status
 * of the library as it got it; or any other number, for a failure of its own. */
typedef int hvd_elastic_train_fn(struct hvd_elastic_state *state, void *arg);

/* Joins a world if this process is in none, synchronises, and calls train(). By what that returns:
 *
 *   HVD_OK on all ranks                    the training is done: returns HVD_OK
 *   HVD_ERR_PEER_LOST, HVD_ERR_PEER_LEFT   restores the last commit and goes on in the next world
 *   HVD_HOSTS_UPDATED                      goes on in the next world, with the state as it is
 *   anything else                          returns it
 *
 * Waits in hvd_init() until the next world is there. HVD_ERR_REMOVED: it will not have this
 * process, which should end. Outside of an elastic job (HOROVOD_ELASTIC is not 1), and when the
 * limit of resets is reached, it returns what would have led to another world. After it has
 * returned the world is still joined, unless there was no next one. */
HVD_API int hvd_elastic_run(struct hvd_elastic_state *state, hvd_elastic_train_fn *train,
                            void *arg);

/* Parts of the loop, for one of the program's own.
 *
 * hvd_elastic_restore() takes back the last commit, or without one what the state was at the
 * beginning. It needs no world.
 *
 * hvd_elastic_sync() is a collective and comes first in each world: all ranks get the state of the
 * lowest rank that holds the newest commit, or of the checkpoint file, or of rank 0 as it is, and
 * hold it as their commit. Ranks that hold that commit already send and receive nothing if all do.
 * Samplers and optimizers are made ready for this world. When it fails because a rank is lost, the
 * state must be restored before the next world. */
HVD_API int hvd_elastic_restore(struct hvd_elastic_state *state);
HVD_API int hvd_elastic_sync(struct hvd_elastic_state *state);

#ifdef __cplusplus
}
#endif

#endif
