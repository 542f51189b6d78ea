/* SPDX-License-Identifier: Apache-2.0 */
/* The state of elastic training, for the files elastic_*.c; hvd_elastic.h has the calls.
 *
 *   empty -> fixed: the lists are sorted, a copy of the first contents is in memory
 *   then per world: synchronised (stamp.epoch is that of the world), committed ...
 *
 * The stamp belongs to the copy; without one (ELASTIC_EPOCH_NONE) the copy is what this rank began
 * with, or is not whole because a device failed. */
#ifndef LIB_TRAINING_ELASTIC_IMPL_H
#define LIB_TRAINING_ELASTIC_IMPL_H

#include "lib/hvd_elastic.h"
#include "lib/training/elastic_stamp.h"
#include "lib/training/elastic_store.h"

#include <stdbool.h>

/* Two values of the state are kept here: what a sampler says of itself is copied from and to
 * them. */
struct elastic_sampler {
    struct hvd_sampler *sampler; /* borrowed */
    int64_t epoch, processed;
};

struct elastic_optimizer {
    struct hvd_parameter *parameters; /* owned, with names and dims */
    int count;
    struct hvd_optimizer_options options;
    hvd_update_fn *update;
    void *arg;
    struct hvd_optimizer *
        *optimizer; /* the program's; what it points to is owned while in a world */
};

struct elastic_callback {
    hvd_elastic_reset_fn *function;
    void *arg;
};

struct hvd_elastic_state {
    char *checkpoint; /* owned; NULL: none */
    int checkpoint_every, reset_limit;

    struct hvd_parameter *tensors; /* owned, with names and dims; fixed: in the order of names */
    int ntensors;
    struct hvd_scalar *values; /* owned, with names; likewise */
    int nvalues;
    struct elastic_sampler **samplers; /* owned, and each of them */
    int nsamplers;
    struct elastic_optimizer *optimizers; /* owned */
    int noptimizers;
    struct elastic_callback *callbacks; /* owned */
    int ncallbacks;

    bool fixed;
    struct elastic_store store;
    struct elastic_stamp stamp;
    int64_t size;    /* a value of the state: of the world that made the commit */
    int64_t commits; /* since the last checkpoint file */
    int epoch;       /* of the last world that was synchronised; -1: none yet */
};

/* Ends the time of adding. Fails when memory or a device does. */
int elastic_fix(struct hvd_elastic_state *state, struct err *err);

/* Copies the state to memory, as commit `stamp`; or back. Samplers are asked, or told. */
int elastic_save(struct hvd_elastic_state *state, const struct elastic_stamp *stamp,
                 struct err *err);
int elastic_restore(struct hvd_elastic_state *state, struct err *err);

/* Tells the samplers what the values say of them. */
int elastic_tell_samplers(struct hvd_elastic_state *state, struct err *err);

/* Leaves optimizers behind, after the world has been left. */
void elastic_drop_optimizers(struct hvd_elastic_state *state);

/* All that hvd_elastic_sync() does. May return what a callback has returned. */
int elastic_sync(struct hvd_elastic_state *state, struct err *err);

/* The file's contents. */
struct hvd_checkpoint elastic_checkpoint(const struct hvd_elastic_state *state);

/* The calls in which all ranks meet, see elastic_meet.c. */
enum elastic_call { ELASTIC_COMMIT = 1, ELASTIC_CHECK = 2, ELASTIC_END = 3 };

/* A collective. HVD_OK when all ranks are in the same call, in a commit with the same values;
 * `updated` is then the same on all ranks: hosts were added or removed (HVD_HOSTS_*), or 0.
 * HVD_ERR_MISMATCH otherwise. */
int elastic_meet(const struct hvd_elastic_state *state, enum elastic_call call, int *updated,
                 struct err *err);

#endif
