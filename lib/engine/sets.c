/* SPDX-License-Identifier: Apache-2.0 */
/* Adding and removing process sets. Both are collectives of the world, so that every rank makes the
 * change at the same place in the order of decisions and gives a set the same number.
 *
 *   add: all ranks submit the same list of ranks, and their addresses -> the members link up
 *   remove: wait for the own tensors of the set, all ranks submit -> the set is removed
 * Fails when the list of ranks is not acceptable or a set with these ranks exists, when ranks
 * disagree (HVD_ERR_MISMATCH), and when the set to remove does not exist or is the world. */
#include "lib/engine/engine_impl.h"

#include <stdlib.h>
#include <string.h>

void sets_init(struct engine *engine)
{
    pthread_mutex_init(&engine->sets.adding, NULL);
}

void sets_fini(struct engine *engine)
{
    free(engine->sets.at);
    free(engine->sets.free_ids);
    pthread_mutex_destroy(&engine->sets.adding);
}

/* ---- numbers ---- */

/* The number that was freed first, or a new one. */
static int next_id(struct engine *engine)
{
    if (engine->sets.free_count == 0)
        return engine->sets.count;
    int id = engine->sets.free_ids[0];
    engine->sets.free_count--;
    memmove(engine->sets.free_ids, engine->sets.free_ids + 1,
            (size_t)engine->sets.free_count * sizeof *engine->sets.free_ids);
    return id;
}

bool sets_put(struct engine *engine, struct process_set *set)
{
    if (set->id < engine->sets.count) {
        engine->sets.at[set->id] = set;
        return true;
    }
    size_t count = (size_t)engine->sets.count + 1;
    struct process_set **sets = reallocarray(engine->sets.at, count, sizeof(struct process_set *));
    int *free_ids = reallocarray(engine->sets.free_ids, count, sizeof *free_ids);
    if (sets)
        engine->sets.at = sets;
    if (free_ids)
        engine->sets.free_ids = free_ids;
    if (!sets || !free_ids)
        return false;
    engine->sets.at[engine->sets.count++] = set;
    return true;
}

/* ---- carrying out decisions ---- */

int sets_added(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    struct engine *engine = tensor->set->engine;
    int rc = address_exchange_learn(engine, agreed->data, agreed->nbytes, err);
    if (rc < 0)
        return rc;
    int size = (int)tensor->description.shape.dims[0];
    struct process_set *set = set_create(engine, next_id(engine), tensor->ranks, size, err);
    if (!set)
        return err->code;
    if (!sets_put(engine, set)) {
        set_destroy(set);
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    tensor->result->dim0 = set->id;
    if (set->rank < 0) {
        complete_tensor(tensor, &(struct err){ .code = HVD_OK });
        return HVD_OK;
    }
    set->adding = tensor;
    tensor->decided = true;
    return set_want_links(set, err);
}

int sets_removed(struct tensor *tensor, struct err *err)
{
    struct err reason;
    struct engine *engine = tensor->set->engine;
    int id = (int)tensor->description.tag;
    if (id <= 0 || id >= engine->sets.count || !engine->sets.at[id])
        return fail(err, HVD_ERR_PROTOCOL, "process set %d is removed twice", id);
    fail(&reason, HVD_ERR_INVALID, "process set %d has been removed", id);
    set_fail_all(engine->sets.at[id], &reason);
    set_destroy(engine->sets.at[id]);
    engine->sets.at[id] = NULL;
    engine->sets.free_ids[engine->sets.free_count++] = id;
    complete_tensor(tensor, &(struct err){ .code = HVD_OK });
    return HVD_OK;
}

/* ---- the calls ---- */

static uint64_t hash_ranks(const int *ranks, int count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)ranks[i]) * 0x100000001b3u;
    return hash;
}

static int existing_set(const struct engine *engine, const int *ranks, int count)
{
    for (int id = 0; id < engine->sets.count; id++) {
        const struct process_set *set = engine->sets.at[id];
        if (set && set->size == count &&
            memcmp(set->ranks, ranks, (size_t)count * sizeof *ranks) == 0)
            return id;
    }
    return -1;
}

static void describe_ranks(struct description *description, const int *ranks, int count)
{
    *description = (struct description){
        .kind = COLLECTIVE_ADD_SET,
        .prescale = 1,
        .postscale = 1,
        .shape.ndims = 1 + (count < HVD_DIMS_MAX - 1 ? count : HVD_DIMS_MAX - 1),
        .shape.dims[0] = count,
        .tag = hash_ranks(ranks, count),
    };
    for (int i = 1; i < description->shape.ndims; i++)
        description->shape.dims[i] = ranks[i - 1];
}

static int submit_change(struct engine *engine, const struct description *description,
                         const int *ranks, int64_t *handle, struct err *err)
{
    engine_lock(engine);
    int rc = HVD_OK;
    int existing = ranks ? existing_set(engine, ranks, (int)description->shape.dims[0]) : -1;
    if (existing >= 0)
        rc = fail(err, HVD_ERR_INVALID, "process set %d has these ranks already", existing);
    else
        rc = submit_to_world(engine, description, ranks, handle, err);
    if (rc == HVD_OK) {
        engine_move(engine);
        progress_wake(engine);
    }
    engine_unlock(engine);
    return rc;
}

/* One call at a time on this rank: under engine->sets.adding. */
static int change(struct engine *engine, const struct description *description, const int *ranks,
                  struct err *err)
{
    int64_t handle;
    struct hvd_result result;
    int rc = submit_change(engine, description, ranks, &handle, err);
    if (rc == HVD_OK)
        rc = engine_wait(engine, handle, ENGINE_FOR_EVER, &result, err);
    return rc < 0 ? rc : (int)result.dim0;
}

int engine_add_set(struct engine *engine, const int *ranks, int count, struct err *err)
{
    struct description description;
    int *sorted = count > 0 ? calloc((size_t)count, sizeof *sorted) : NULL;
    if (count > 0 && !sorted)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = request_ranks(sorted, ranks, count, engine->size, err);
    if (rc == HVD_OK) {
        describe_ranks(&description, sorted, count);
        pthread_mutex_lock(&engine->sets.adding);
        rc = change(engine, &description, sorted, err);
        pthread_mutex_unlock(&engine->sets.adding);
    }
    free(sorted);
    return rc;
}

static bool is_quiet(const void *arg)
{
    const struct process_set *set = arg;
    return set->in_flight == 0;
}

/* Waits until this rank's collectives in the set are done. */
static int await_set(struct engine *engine, int id, struct err *err)
{
    engine_lock(engine);
    struct process_set *set = engine_find_set(engine, id, "remove process set", err);
    if (set) {
        set->removing = true;
        progress_until(engine, is_quiet, set, UINT64_MAX);
    }
    engine_unlock(engine);
    return set ? HVD_OK : err->code;
}

/* The ranks did not agree. */
static void keep_set(struct engine *engine, int id)
{
    engine_lock(engine);
    if (engine->sets.at[id])
        engine->sets.at[id]->removing = false;
    engine_unlock(engine);
}

int engine_remove_set(struct engine *engine, int id, struct err *err)
{
    if (id == 0)
        return fail(err, HVD_ERR_INVALID, "process set 0 is the world, it cannot be removed");
    const struct description description = {
        .kind = COLLECTIVE_REMOVE_SET, .prescale = 1, .postscale = 1, .tag = (uint64_t)id
    };
    pthread_mutex_lock(&engine->sets.adding);
    int rc = await_set(engine, id, err);
    if (rc == HVD_OK && (rc = change(engine, &description, NULL, err)) < 0)
        keep_set(engine, id);
    pthread_mutex_unlock(&engine->sets.adding);
    return rc;
}

int engine_set_rank(struct engine *engine, int id, struct err *err)
{
    engine_lock(engine);
    const struct process_set *set = engine_find_set(engine, id, "process set", err);
    int rank = set ? set->rank : err->code;
    engine_unlock(engine);
    if (set && rank < 0)
        return fail(err, HVD_ERR_INVALID, "rank %d is not a member of process set %d", engine->rank,
                    id);
    return rank;
}

int engine_set_included(struct engine *engine, int id, struct err *err)
{
    engine_lock(engine);
    const struct process_set *set = engine_find_set(engine, id, "process set", err);
    int included = set ? set->rank >= 0 : err->code;
    engine_unlock(engine);
    return included;
}

int engine_set_serial(struct engine *engine, int id, struct err *err)
{
    engine_lock(engine);
    const struct process_set *set = engine_find_set(engine, id, "process set", err);
    int serial = set ? (int)set->serial : err->code;
    engine_unlock(engine);
    return serial;
}

bool engine_set_has_ended(struct engine *engine, int id, int serial)
{
    struct err err;
    if (!atomic_load(&engine->sets.any_has_ended))
        return false;
    engine_lock(engine);
    const struct process_set *set = engine_find_set(engine, id, "process set", &err);
    bool ended = set && (int)set->serial == serial && set->ended.code != HVD_OK;
    engine_unlock(engine);
    return ended;
}

int engine_set_size(struct engine *engine, int id, struct err *err)
{
    return engine_set_ranks(engine, id, NULL, 0, err);
}

int engine_set_ranks(struct engine *engine, int id, int *ranks, int capacity, struct err *err)
{
    engine_lock(engine);
    const struct process_set *set = engine_find_set(engine, id, "process set", err);
    int size = set ? set->size : err->code;
    for (int i = 0; i < size && i < capacity; i++)
        ranks[i] = set->ranks[i];
    engine_unlock(engine);
    return size;
}

int engine_set_ids(struct engine *engine, int *ids, int capacity)
{
    int count = 0;
    engine_lock(engine);
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && count++ < capacity)
            ids[count - 1] = id;
    engine_unlock(engine);
    return count;
}
