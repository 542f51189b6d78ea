/* SPDX-License-Identifier: Apache-2.0 */
/* What the state of elastic training is made of (hvd_elastic.h): lists that grow until the first
 * synchronisation or commit.
 *
 *   check that the state may grow; check and copy what is added; check that no name is there twice
 *
 * Fails when the state is fixed, when what is added is not acceptable, and without memory; then the
 * lists are as before. */
#include "lib/training/elastic_impl.h"

#include "lib/process.h"
#include "lib/training/call.h"
#include "lib/training/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int elastic_check_open(const struct hvd_elastic_state *state, struct err *err)
{
    if (!state)
        return fail(err, HVD_ERR_INVALID, "there is no state");
    if (state->fixed)
        return fail(err, HVD_ERR_INVALID, "the state cannot grow any more: it has been used");
    return HVD_OK;
}

static int elastic_add_answer(int rc, struct err *err)
{
    if (rc < 0)
        fail_context(err, "elastic state");
    return process_answer(rc, err);
}

/* Makes room for `count` elements; `list` points to a pointer to them. */
static int elastic_grow(void *list, int count, size_t size, struct err *err)
{
    void *grown, *old;
    memcpy(&old, list, sizeof old);
    grown = reallocarray(old, (size_t)count + 1, size);
    if (!grown)
        return fail(err, HVD_ERR_NOMEM, "no memory for %d entries", count);
    memcpy(list, &grown, sizeof grown);
    return HVD_OK;
}

/* ---- tensors ---- */

static int parameter_copy(struct hvd_parameter *copy, const struct hvd_parameter *parameter,
                          struct err *err)
{
    size_t dims_size = (size_t)parameter->ndims * sizeof *parameter->dims;
    char *name = strdup(parameter->name);
    int64_t *dims = malloc(dims_size + 1);
    if (!name || !dims) {
        free(name);
        free(dims);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    if (dims_size > 0)
        memcpy(dims, parameter->dims, dims_size);
    *copy = *parameter;
    copy->name = name;
    copy->dims = dims;
    return HVD_OK;
}

static void parameters_drop(struct hvd_parameter *parameters, int count)
{
    for (int i = 0; i < count; i++) {
        free((char *)parameters[i].name);
        free((int64_t *)parameters[i].dims);
    }
}

static int parameters_check_list(const struct hvd_parameter *parameters, int count, struct err *err)
{
    struct named *order;
    int rc = parameters_sort(parameters, count, &order, err);
    free(order);
    return rc;
}

/* Copies `count` parameters behind the `*total` ones of a list. */
static int parameters_append(struct hvd_parameter **list, int *total,
                             const struct hvd_parameter *parameters, int count, struct err *err)
{
    int rc = parameters_check_list(parameters, count, err), copied = 0;
    if (rc == HVD_OK)
        rc = elastic_grow(list, *total + count, sizeof **list, err);
    while (rc == HVD_OK && copied < count) {
        rc = parameter_copy(&(*list)[*total + copied], &parameters[copied], err);
        copied += rc == HVD_OK;
    }
    if (rc == HVD_OK)
        rc = parameters_check_list(*list, *total + count, err);
    if (rc == HVD_OK)
        *total += count;
    else if (copied > 0)
        parameters_drop(*list + *total, copied);
    return rc;
}

static int elastic_add_tensors(struct hvd_elastic_state *state,
                               const struct hvd_parameter *parameters, int count, struct err *err)
{
    int rc = elastic_check_open(state, err);
    return rc < 0 ? rc
                  : parameters_append(&state->tensors, &state->ntensors, parameters, count, err);
}

int hvd_elastic_add_parameters(struct hvd_elastic_state *state,
                               const struct hvd_parameter *parameters, int count)
{
    struct err err;
    return elastic_add_answer(elastic_add_tensors(state, parameters, count, &err), &err);
}

int hvd_elastic_add_memory(struct hvd_elastic_state *state, const char *name, void *data,
                           size_t size)
{
    struct err err;
    const int64_t dim = size <= INT64_MAX ? (int64_t)size : INT64_MAX; /* that is refused */
    const struct hvd_parameter memory = {
        .name = name, .data = data, .dtype = HVD_UINT8, .ndims = 1, .dims = &dim
    };
    return elastic_add_answer(elastic_add_tensors(state, &memory, 1, &err), &err);
}

/* ---- values ---- */

static int scalars_check_list(const struct hvd_scalar *values, int count, struct err *err)
{
    struct named *order;
    int rc = scalars_sort(values, count, &order, err);
    free(order);
    return rc;
}

static void scalars_drop(struct hvd_scalar *values, int count)
{
    for (int i = 0; i < count; i++)
        free((char *)values[i].name);
}

static int elastic_add_scalars(struct hvd_elastic_state *state, const struct hvd_scalar *values,
                               int count, struct err *err)
{
    int rc = elastic_check_open(state, err), copied = 0, total = state ? state->nvalues : 0;
    if (rc == HVD_OK)
        rc = scalars_check_list(values, count, err);
    if (rc == HVD_OK)
        rc = elastic_grow(&state->values, total + count, sizeof *state->values, err);
    while (rc == HVD_OK && copied < count) {
        char *name = strdup(values[copied].name);
        if (!name)
            rc = fail(err, HVD_ERR_NOMEM, "out of memory");
        else
            state->values[total + copied] =
                (struct hvd_scalar){ name, values[copied].value, values[copied].dtype };
        copied += name != NULL;
    }
    if (rc == HVD_OK)
        rc = scalars_check_list(state->values, total + count, err);
    if (rc == HVD_OK)
        state->nvalues += count;
    else if (copied > 0)
        scalars_drop(state->values + total, copied);
    return rc;
}

int hvd_elastic_add_values(struct hvd_elastic_state *state, const struct hvd_scalar *values,
                           int count)
{
    struct err err;
    return elastic_add_answer(elastic_add_scalars(state, values, count, &err), &err);
}

/* ---- sampler ---- */

static int add_sampler_values(struct hvd_elastic_state *state, const char *name,
                              struct elastic_sampler *sampler, struct err *err)
{
    char epoch[HVD_PARAMETER_NAME_MAX + 16], processed[sizeof epoch];
    const struct hvd_scalar values[] = { { epoch, &sampler->epoch, HVD_INT64 },
                                         { processed, &sampler->processed, HVD_INT64 } };
    if (name_check(name, err) < 0)
        return fail_context(err, "sampler");
    snprintf(epoch, sizeof epoch, "%s.epoch", name);
    snprintf(processed, sizeof processed, "%s.processed", name);
    return elastic_add_scalars(state, values, 2, err);
}

static int elastic_add_sampler(struct hvd_elastic_state *state, const char *name,
                               struct hvd_sampler *sampler, struct err *err)
{
    int rc = elastic_check_open(state, err);
    if (rc == HVD_OK && !sampler)
        rc = fail(err, HVD_ERR_INVALID, "there is no sampler");
    if (rc == HVD_OK)
        rc = elastic_grow(&state->samplers, state->nsamplers + 1, sizeof(void *), err);
    if (rc < 0)
        return rc;
    struct elastic_sampler *entry = calloc(1, sizeof *entry);
    if (!entry)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    entry->sampler = sampler;
    rc = add_sampler_values(state, name, entry, err);
    if (rc == HVD_OK)
        state->samplers[state->nsamplers++] = entry;
    else
        free(entry);
    return rc;
}

int hvd_elastic_add_sampler(struct hvd_elastic_state *state, const char *name,
                            struct hvd_sampler *sampler)
{
    struct err err;
    return elastic_add_answer(elastic_add_sampler(state, name, sampler, &err), &err);
}

/* ---- optimizer ---- */

static int check_optimizer(const struct hvd_optimizer_options *options, hvd_update_fn *update,
                           struct hvd_optimizer **optimizer, struct err *err)
{
    if (!update || !optimizer)
        return fail(err, HVD_ERR_INVALID, "there is no %s",
                    update ? "place for the optimizer" : "update");
    if (options && options->process_set != 0)
        return fail(err, HVD_ERR_INVALID,
                    "process set %d: an optimizer of an elastic state is for the whole world",
                    options->process_set);
    return HVD_OK;
}

static int elastic_add_optimizer(struct hvd_elastic_state *state,
                                 const struct hvd_parameter *parameters, int count,
                                 const struct elastic_optimizer *optimizer, struct err *err)
{
    struct elastic_optimizer added = *optimizer;
    int rc = elastic_grow(&state->optimizers, state->noptimizers + 1, sizeof added, err);
    if (rc == HVD_OK)
        rc = parameters_append(&added.parameters, &added.count, parameters, count, err);
    if (rc == HVD_OK)
        rc = elastic_add_tensors(state, parameters, count, err);
    if (rc == HVD_OK) {
        state->optimizers[state->noptimizers++] = added;
    } else {
        parameters_drop(added.parameters, added.count);
        free(added.parameters);
    }
    return rc;
}

int hvd_elastic_add_optimizer(struct hvd_elastic_state *state,
                              const struct hvd_parameter *parameters, int count,
                              const struct hvd_optimizer_options *options, hvd_update_fn *update,
                              void *arg, struct hvd_optimizer **optimizer)
{
    struct err err;
    struct elastic_optimizer added = { .update = update, .arg = arg, .optimizer = optimizer };
    if (options)
        added.options = *options;
    int rc = elastic_check_open(state, &err);
    if (rc == HVD_OK)
        rc = check_optimizer(options, update, optimizer, &err);
    if (rc == HVD_OK)
        rc = elastic_add_optimizer(state, parameters, count, &added, &err);
    if (rc == HVD_OK)
        *optimizer = NULL;
    return elastic_add_answer(rc, &err);
}

/* ---- callbacks ---- */

int hvd_elastic_on_reset(struct hvd_elastic_state *state, hvd_elastic_reset_fn *callback, void *arg)
{
    struct err err;
    int rc = elastic_check_open(state, &err);
    if (rc == HVD_OK && !callback)
        rc = fail(&err, HVD_ERR_INVALID, "there is no callback");
    if (rc == HVD_OK)
        rc = elastic_grow(&state->callbacks, state->ncallbacks + 1, sizeof *state->callbacks, &err);
    if (rc == HVD_OK)
        state->callbacks[state->ncallbacks++] = (struct elastic_callback){ callback, arg };
    return elastic_add_answer(rc, &err);
}

/* ---- making and freeing ---- */

static int elastic_options_apply(struct hvd_elastic_state *state,
                                 const struct hvd_elastic_options *options, struct err *err)
{
    state->checkpoint_every = 1;
    if (!options)
        return HVD_OK;
    if (options->checkpoint_every < 0 || options->reset_limit < 0)
        return fail(err, HVD_ERR_INVALID, "%s is %d, expected 0 or more",
                    options->reset_limit < 0 ? "reset_limit" : "checkpoint_every",
                    options->reset_limit < 0 ? options->reset_limit : options->checkpoint_every);
    if (options->checkpoint && options->checkpoint[0] == '\0')
        return fail(err, HVD_ERR_INVALID, "the checkpoint file has no name");
    if (options->checkpoint_every > 0)
        state->checkpoint_every = options->checkpoint_every;
    state->reset_limit = options->reset_limit;
    if (options->checkpoint && !(state->checkpoint = strdup(options->checkpoint)))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    return HVD_OK;
}

static int elastic_create(const struct hvd_elastic_options *options,
                          struct hvd_elastic_state **created, struct err *err)
{
    if (!created)
        return fail(err, HVD_ERR_INVALID, "there is no place for the state");
    struct hvd_elastic_state *state = calloc(1, sizeof *state);
    if (!state)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    state->stamp.epoch = state->epoch = ELASTIC_EPOCH_NONE;
    const struct hvd_scalar size = { "hvd.elastic.size", &state->size, HVD_INT64 };
    int rc = elastic_options_apply(state, options, err);
    if (rc == HVD_OK)
        rc = elastic_add_scalars(state, &size, 1, err);
    if (rc == HVD_OK)
        *created = state;
    else
        hvd_elastic_destroy(state);
    return rc;
}

int hvd_elastic_create(const struct hvd_elastic_options *options, struct hvd_elastic_state **state)
{
    struct err err;
    if (state)
        *state = NULL;
    return elastic_add_answer(elastic_create(options, state, &err), &err);
}

void hvd_elastic_destroy(struct hvd_elastic_state *state)
{
    if (!state)
        return;
    elastic_drop_optimizers(state);
    for (int i = 0; i < state->noptimizers; i++) {
        parameters_drop(state->optimizers[i].parameters, state->optimizers[i].count);
        free(state->optimizers[i].parameters);
    }
    for (int i = 0; i < state->nsamplers; i++)
        free(state->samplers[i]);
    parameters_drop(state->tensors, state->ntensors);
    scalars_drop(state->values, state->nvalues);
    elastic_store_fini(&state->store);
    free(state->optimizers);
    free(state->samplers);
    free(state->tensors);
    free(state->values);
    free(state->callbacks);
    free(state->checkpoint);
    free(state);
}
