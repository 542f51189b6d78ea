/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks of a world get the same state (hvd_elastic_sync()):
 *
 *   agree that the lists are the same
 *   tell each other which commits they hold, and whether rank 0 has a checkpoint file
 *   the newest commit is sent by its lowest holder, in pieces, unless all hold it; or the file is
 *   restored; or rank 0 sends what it has
 *   each rank copies it as its commit, number 0 of this world
 *   samplers and optimizers are made ready; callbacks are called if a state was continued
 *
 * Fails on all ranks when the lists differ, or the file is damaged or not of this state. When a
 * rank is lost the contents of the state are undefined; the copy is still the last commit. A rank
 * that fails alone leaves, which the others hear of. */
#include "lib/training/elastic_impl.h"

#include "lib/process.h"
#include "lib/training/agreement.h"
#include "lib/training/call.h"
#include "lib/training/parameters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the same lists ---- */

static int compare_elastic_lists(const struct hvd_elastic_state *state, const struct err *own,
                                 struct err *err)
{
    struct wire_writer lines = { 0 };
    struct err mistake = *own;
    char options[96];
    int length = snprintf(options, sizeof options, "(checkpoints) every %d\n(resets) at most %d\n",
                          state->checkpoint ? state->checkpoint_every : 0, state->reset_limit);
    wire_put_bytes(&lines, options, (size_t)length);
    for (int i = 0; i < state->ntensors; i++)
        parameter_put_line(&lines, &state->tensors[i]);
    for (int i = 0; i < state->nvalues; i++)
        scalar_put_line(&lines, &state->values[i]);
    wire_put_u8(&lines, '\0');
    if (lines.failed && mistake.code == HVD_OK)
        fail(&mistake, HVD_ERR_NOMEM, "out of memory");
    int rc = agreement_conclude("elastic.sync", 0, &mistake,
                                lines.failed ? "" : (const char *)lines.data, err);
    wire_writer_fini(&lines);
    return rc;
}

/* ---- whose state ---- */

enum elastic_source { FROM_ALL, FROM_ROOT, FROM_FILE, FROM_START };

struct elastic_card {
    struct elastic_stamp stamp;
    int64_t has_file;
};

/* A file that is there and cannot be read is an error later, and no reason to begin anew. */
static bool file_exists(const char *path)
{
    return path && (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR));
}

static int choose_source(const struct elastic_card *cards, int size, enum elastic_source *source,
                         int *root, struct err *err)
{
    struct elastic_stamp *stamps = calloc((size_t)size, sizeof *stamps);
    if (!stamps)
        return fail(err, HVD_ERR_NOMEM, "no memory for %d ranks", size);
    for (int rank = 0; rank < size; rank++)
        stamps[rank] = cards[rank].stamp;
    *root = elastic_stamp_root(stamps, size);
    if (*root < 0)
        *source = cards[0].has_file ? FROM_FILE : FROM_START;
    else
        *source = elastic_stamp_differs(stamps, size, *root) ? FROM_ROOT : FROM_ALL;
    free(stamps);
    return HVD_OK;
}

static int find_source(const struct hvd_elastic_state *state, enum elastic_source *source,
                       int *root, struct err *err)
{
    const struct elastic_card mine = { state->stamp, file_exists(state->checkpoint) };
    struct hvd_result all = { 0 };
    int rc = call_gather_bytes("hvd.elastic.cards", 0, &mine, sizeof mine, &all, err);
    if (rc < 0)
        return rc;
    if (all.size != (size_t)all.nrows * sizeof mine)
        rc = fail(err, HVD_ERR_PROTOCOL, "%zu bytes from %d ranks", all.size, all.nrows);
    else
        rc = choose_source(all.data, all.nrows, source, root, err);
    hvd_result_free(&all);
    return rc;
}

/* ---- sending it ---- */

/* A few pieces are in flight at once; the next is begun when the oldest has arrived, so that little
 * is in flight when a rank is lost, whatever the size of the state. */
enum { PIECE_SIZE = 4 << 20, PIECES_IN_FLIGHT = 4 };

struct elastic_transfer {
    int root;
    int64_t handles[PIECES_IN_FLIGHT];
    uint64_t begun, ended; /* pieces */
    struct err first;      /* failure */
};

static void transfer_note(struct elastic_transfer *transfer, int rc)
{
    if (rc < 0 && transfer->first.code == HVD_OK)
        call_answer(rc, &transfer->first);
}

static void transfer_wait(struct elastic_transfer *transfer)
{
    transfer_note(transfer, hvd_wait(transfer->handles[transfer->ended++ % PIECES_IN_FLIGHT]));
}

static void transfer_piece(struct elastic_transfer *transfer, void *data, size_t nbytes, int device)
{
    char name[HVD_NAME_MAX + 1];
    int64_t dim = (int64_t)nbytes;
    unsigned slot = (unsigned)(transfer->begun % PIECES_IN_FLIGHT);
    const struct hvd_tensor tensor = {
        .name = name, .output = data, .dtype = HVD_UINT8, .ndims = 1, .dims = &dim, .device = device
    };
    if (transfer->begun - transfer->ended == PIECES_IN_FLIGHT)
        transfer_wait(transfer);
    if (transfer->first.code < 0)
        return;
    snprintf(name, sizeof name, "hvd.elastic.piece.%u", slot);
    int rc = hvd_broadcast_async(&tensor, transfer->root, NULL, &transfer->handles[slot]);
    transfer->begun += rc == HVD_OK;
    transfer_note(transfer, rc);
}

static void transfer_tensor(struct elastic_transfer *transfer, const struct hvd_parameter *tensor)
{
    size_t nbytes = parameter_bytes(tensor);
    for (size_t at = 0; at < nbytes; at += PIECE_SIZE)
        transfer_piece(transfer, (char *)tensor->data + at,
                       nbytes - at < PIECE_SIZE ? nbytes - at : PIECE_SIZE, tensor->device);
}

static int elastic_transfer(const struct hvd_elastic_state *state, int root, struct err *err)
{
    const struct elastic_lists *lists = &state->store.lists;
    size_t size = state->store.values_size;
    struct elastic_transfer transfer = { .root = root };
    void *values = malloc(size + 1);
    if (!values)
        return fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of values", size);
    elastic_values_pack(lists, values);
    transfer_piece(&transfer, values, size, 0);
    for (int i = 0; i < state->ntensors; i++)
        transfer_tensor(&transfer, &state->tensors[i]);
    while (transfer.ended < transfer.begun)
        transfer_wait(&transfer);
    if (transfer.first.code == HVD_OK)
        elastic_values_unpack(lists, values);
    free(values);
    *err = transfer.first;
    return err->code;
}

static int restore_file(const struct hvd_elastic_state *state, struct err *err)
{
    const struct hvd_checkpoint checkpoint = elastic_checkpoint(state);
    return call_answer(hvd_checkpoint_restore(state->checkpoint, &checkpoint, 0), err);
}

/* ---- the world is ready ---- */

static int place_samplers(struct hvd_elastic_state *state, struct err *err)
{
    int rc = elastic_tell_samplers(state, err);
    for (int i = 0; i < state->nsamplers && rc == HVD_OK; i++)
        rc = call_answer(hvd_sampler_place(state->samplers[i]->sampler, hvd_rank(), hvd_size()),
                         err);
    return rc;
}

static int create_optimizers(struct hvd_elastic_state *state, struct err *err)
{
    int rc = HVD_OK;
    for (int i = 0; i < state->noptimizers && rc == HVD_OK; i++) {
        struct elastic_optimizer *one = &state->optimizers[i];
        rc = call_answer(hvd_optimizer_create(one->parameters, one->count, &one->options,
                                              one->update, one->arg, one->optimizer),
                         err);
    }
    return rc;
}

static int call_back(const struct hvd_elastic_state *state, struct err *err)
{
    const struct hvd_elastic_reset reset = { .epoch = state->epoch,
                                             .size = hvd_size(),
                                             .previous_size = (int)state->size };
    for (int i = 0; i < state->ncallbacks; i++) {
        int rc = state->callbacks[i].function(&reset, state->callbacks[i].arg);
        if (rc != HVD_OK)
            return call_answer(rc, err);
    }
    return HVD_OK;
}

/* ---- all of it ---- */

static int take_state(struct hvd_elastic_state *state, enum elastic_source *source, struct err *err)
{
    int root = 0, rc = find_source(state, source, &root, err);
    if (rc < 0 || *source == FROM_ALL)
        return rc;
    if (*source == FROM_FILE)
        return restore_file(state, err);
    if (*source == FROM_START) {
        root = 0;
        state->size = hvd_size();
    }
    return elastic_transfer(state, root, err);
}

int elastic_sync(struct hvd_elastic_state *state, struct err *err)
{
    struct err own = { .code = HVD_OK };
    enum elastic_source source = FROM_START;
    int epoch = call_answer(hvd_epoch(), err);
    if (epoch < 0)
        return epoch;
    elastic_drop_optimizers(state);
    elastic_fix(state, &own);
    int rc = compare_elastic_lists(state, &own, err);
    if (rc == HVD_OK)
        rc = take_state(state, &source, err);
    if (rc == HVD_OK)
        rc = place_samplers(state, err);
    if (rc == HVD_OK)
        rc = elastic_save(state, &(struct elastic_stamp){ epoch, 0 }, err);
    if (rc < 0)
        return rc;
    state->epoch = epoch;
    rc = create_optimizers(state, err);
    return rc == HVD_OK && source != FROM_START ? call_back(state, err) : rc;
}
