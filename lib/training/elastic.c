/* SPDX-License-Identifier: Apache-2.0 */
/* Commits, and the loop of elastic training (hvd_elastic.h). The loop's decisions are in
 * elastic_loop.c; here are its steps.
 *
 *   commit:  copy, meet the others, write a file if one is due
 *   restore: copy back
 *
 * The copy comes before the ranks meet: when a commit has succeeded on one rank, every rank holds
 * it, and it is not lost as long as one of them is left. */
#include "lib/training/elastic_impl.h"

#include "lib/base/env_names.h"
#include "lib/base/log.h"
#include "lib/process.h"
#include "lib/training/call.h"
#include "lib/training/elastic_loop.h"
#include "lib/training/parameters.h"

#include <stdlib.h>
#include <string.h>

/* ---- the copy ---- */

static int elastic_sort_tensors(struct hvd_elastic_state *state, struct err *err)
{
    struct named *order;
    int rc = parameters_sort(state->tensors, state->ntensors, &order, err);
    struct hvd_parameter *sorted = calloc((size_t)state->ntensors + 1, sizeof *sorted);
    if (rc == HVD_OK && !sorted)
        rc = fail(err, HVD_ERR_NOMEM, "no memory for %d tensors", state->ntensors);
    for (int i = 0; rc == HVD_OK && i < state->ntensors; i++)
        sorted[i] = state->tensors[order[i].place];
    free(order);
    free(rc == HVD_OK ? state->tensors : sorted);
    if (rc == HVD_OK)
        state->tensors = sorted;
    return rc;
}

static int elastic_sort_values(struct hvd_elastic_state *state, struct err *err)
{
    struct named *order;
    int rc = scalars_sort(state->values, state->nvalues, &order, err);
    struct hvd_scalar *sorted = calloc((size_t)state->nvalues + 1, sizeof *sorted);
    if (rc == HVD_OK && !sorted)
        rc = fail(err, HVD_ERR_NOMEM, "no memory for %d values", state->nvalues);
    for (int i = 0; rc == HVD_OK && i < state->nvalues; i++)
        sorted[i] = state->values[order[i].place];
    free(order);
    free(rc == HVD_OK ? state->values : sorted);
    if (rc == HVD_OK)
        state->values = sorted;
    return rc;
}

static void elastic_ask_samplers(struct hvd_elastic_state *state)
{
    for (int i = 0; i < state->nsamplers; i++) {
        struct elastic_sampler *entry = state->samplers[i];
        entry->epoch = (int64_t)hvd_sampler_epoch(entry->sampler);
        entry->processed = (int64_t)hvd_sampler_processed(entry->sampler);
    }
}

int elastic_tell_samplers(struct hvd_elastic_state *state, struct err *err)
{
    for (int i = 0; i < state->nsamplers; i++) {
        struct elastic_sampler *entry = state->samplers[i];
        int rc =
            hvd_sampler_resume(entry->sampler, (uint64_t)entry->epoch, (uint64_t)entry->processed);
        if (rc < 0)
            return call_answer(rc, err);
    }
    return HVD_OK;
}

int elastic_fix(struct hvd_elastic_state *state, struct err *err)
{
    if (state->fixed) {
        elastic_ask_samplers(state);
        return HVD_OK;
    }
    int rc = elastic_sort_tensors(state, err);
    if (rc == HVD_OK)
        rc = elastic_sort_values(state, err);
    if (rc < 0)
        return rc;
    elastic_ask_samplers(state);
    const struct elastic_lists lists = { state->tensors, state->ntensors, state->values,
                                         state->nvalues };
    rc = elastic_store_init(&state->store, &lists, err);
    if (rc < 0)
        elastic_store_fini(&state->store);
    state->fixed = rc == HVD_OK;
    return rc;
}

int elastic_save(struct hvd_elastic_state *state, const struct elastic_stamp *stamp,
                 struct err *err)
{
    struct elastic_stamp made = *stamp;
    elastic_ask_samplers(state);
    state->stamp.epoch = ELASTIC_EPOCH_NONE; /* until the copy is whole */
    int rc = elastic_store_save(&state->store, err);
    if (rc == HVD_OK)
        state->stamp = made;
    return rc;
}

int elastic_restore(struct hvd_elastic_state *state, struct err *err)
{
    if (!state->fixed)
        return HVD_OK; /* nothing has been changed by a world */
    int rc = elastic_store_restore(&state->store, err);
    return rc == HVD_OK ? elastic_tell_samplers(state, err) : rc;
}

void elastic_drop_optimizers(struct hvd_elastic_state *state)
{
    for (int i = 0; i < state->noptimizers; i++) {
        hvd_optimizer_destroy(*state->optimizers[i].optimizer);
        *state->optimizers[i].optimizer = NULL;
    }
}

/* ---- commit ---- */

struct hvd_checkpoint elastic_checkpoint(const struct hvd_elastic_state *state)
{
    return (struct hvd_checkpoint){ .tensors = state->tensors,
                                    .ntensors = state->ntensors,
                                    .scalars = state->values,
                                    .nscalars = state->nvalues };
}

static int check_synchronised(const struct hvd_elastic_state *state, struct err *err)
{
    if (!state)
        return fail(err, HVD_ERR_INVALID, "there is no state");
    int epoch = call_answer(hvd_epoch(), err);
    if (epoch >= 0 && state->epoch != epoch)
        return fail(err, HVD_ERR_INVALID, "the state has not been synchronised in this world");
    return epoch < 0 ? epoch : HVD_OK;
}

/* The state as it is becomes the next commit. */
static int commit_to_memory(struct hvd_elastic_state *state, struct err *err)
{
    const struct elastic_stamp next = { state->epoch, state->stamp.commit + 1 };
    int size = call_answer(hvd_size(), err);
    if (size < 0)
        return size;
    state->size = size;
    return elastic_save(state, &next, err);
}

static int commit_to_file(struct hvd_elastic_state *state, struct err *err)
{
    const struct hvd_checkpoint checkpoint = elastic_checkpoint(state);
    if (!state->checkpoint || ++state->commits < state->checkpoint_every)
        return HVD_OK;
    state->commits = 0;
    return call_answer(hvd_checkpoint_save(state->checkpoint, &checkpoint, 0), err);
}

static int answer_updates(int updated, struct err *err)
{
    if (updated == 0)
        return HVD_OK;
    return fail(err, HVD_HOSTS_UPDATED, "hosts were %s",
                updated == HVD_HOSTS_ADDED     ? "added"
                : updated == HVD_HOSTS_REMOVED ? "removed"
                                               : "added and removed");
}

static int elastic_commit(struct hvd_elastic_state *state, struct err *err)
{
    int updated, rc = check_synchronised(state, err);
    if (rc == HVD_OK)
        rc = commit_to_memory(state, err);
    if (rc == HVD_OK)
        rc = elastic_meet(state, ELASTIC_COMMIT, &updated, err);
    if (rc == HVD_OK)
        rc = commit_to_file(state, err);
    return rc == HVD_OK ? answer_updates(updated, err) : rc;
}

int hvd_elastic_commit(struct hvd_elastic_state *state)
{
    struct err err;
    int rc = elastic_commit(state, &err);
    if (rc < 0)
        fail_context(&err, "elastic commit");
    return process_answer(rc, &err);
}

int hvd_elastic_check_host_updates(struct hvd_elastic_state *state)
{
    struct err err;
    int updated, rc = check_synchronised(state, &err);
    if (rc == HVD_OK)
        rc = elastic_meet(state, ELASTIC_CHECK, &updated, &err);
    if (rc == HVD_OK)
        rc = answer_updates(updated, &err);
    if (rc < 0)
        fail_context(&err, "elastic check");
    return process_answer(rc, &err);
}

static int elastic_state_check(const struct hvd_elastic_state *state, struct err *err)
{
    return state ? HVD_OK : fail(err, HVD_ERR_INVALID, "there is no state");
}

int hvd_elastic_restore(struct hvd_elastic_state *state)
{
    struct err err;
    int rc = elastic_state_check(state, &err);
    if (rc == HVD_OK)
        rc = elastic_restore(state, &err);
    if (rc < 0)
        fail_context(&err, "elastic restore");
    return process_answer(rc, &err);
}

int hvd_elastic_sync(struct hvd_elastic_state *state)
{
    struct err err;
    int rc = elastic_state_check(state, &err);
    if (rc == HVD_OK)
        rc = elastic_sync(state, &err);
    if (rc < 0)
        fail_context(&err, "elastic sync");
    return process_answer(rc, &err);
}

/* ---- run ---- */

struct elastic_run {
    struct hvd_elastic_state *state;
    hvd_elastic_train_fn *train;
    void *arg;
};

static int run_join(void *arg, struct err *err)
{
    (void)arg;
    return call_answer(hvd_init(), err);
}

static int run_begin(void *arg, struct err *err)
{
    struct elastic_run *run = arg;
    int rc = elastic_sync(run->state, err);
    return rc < 0 ? fail_context(err, "elastic sync") : rc;
}

/* All ranks end together, so that none that needs others finds itself alone. */
static int run_train(void *arg, struct err *err)
{
    struct elastic_run *run = arg;
    int updated, rc = call_answer(run->train(run->state, run->arg), err);
    if (rc != HVD_OK)
        return rc;
    rc = elastic_meet(run->state, ELASTIC_END, &updated, err);
    return rc < 0 ? fail_context(err, "elastic run") : rc;
}

static bool job_is_elastic(void)
{
    const char *value = getenv(ENV_ELASTIC);
    return value && strcmp(value, "1") == 0;
}

/* The epoch of a world is the number of resets before it, on every rank. */
static int run_may_reset(void *arg, const struct err *why, struct err *err)
{
    const struct hvd_elastic_state *state = ((struct elastic_run *)arg)->state;
    int epoch = hvd_epoch();
    if (epoch < 0 && state)
        epoch = state->epoch;
    if (!job_is_elastic())
        return fail(err, why->code, "%s", why->text);
    if (state && state->reset_limit > 0 && epoch >= state->reset_limit)
        return fail(err, why->code, "%s; the limit of %d resets is reached", why->text,
                    state->reset_limit);
    int rank = hvd_rank();
    log_line(LOG_INFO, rank < 0 ? -1 : rank, "elastic: leaving the world of epoch %d: %s", epoch,
             why->text);
    return HVD_OK;
}

static int run_restore(void *arg, struct err *err)
{
    return elastic_restore(((struct elastic_run *)arg)->state, err);
}

static int run_keep(void *arg, struct err *err)
{
    return commit_to_memory(((struct elastic_run *)arg)->state, err);
}

/* Optimizers wait for their tensors in a world, so the world goes first. */
static void run_leave(void *arg)
{
    struct hvd_elastic_state *state = ((struct elastic_run *)arg)->state;
    hvd_shutdown();
    if (state)
        elastic_drop_optimizers(state);
}

int hvd_elastic_init(void)
{
    struct err err;
    struct elastic_run run = { .state = NULL };
    const struct elastic_steps steps = {
        .arg = &run, .join = run_join, .may_reset = run_may_reset, .leave = run_leave
    };
    return process_answer(elastic_join(&steps, &err), &err);
}

int hvd_elastic_run(struct hvd_elastic_state *state, hvd_elastic_train_fn *train, void *arg)
{
    struct err err = { .code = HVD_OK };
    struct elastic_run run = { state, train, arg };
    const struct elastic_steps steps = { .arg = &run,
                                         .join = run_join,
                                         .begin = run_begin,
                                         .train = run_train,
                                         .may_reset = run_may_reset,
                                         .restore = run_restore,
                                         .keep = run_keep,
                                         .leave = run_leave };
    if (!state || !train) {
        fail(&err, HVD_ERR_INVALID, "elastic run: there is no %s", state ? "train()" : "state");
        return process_answer(err.code, &err);
    }
    return process_answer(elastic_loop(&steps, &err), &err);
}
