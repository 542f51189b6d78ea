/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a job that are being reached: who is local, and whose turn it is. A turn begins when
 * fewer than REACH_AT_ONCE hosts have theirs, in the order in which hosts came, and ends when the
 * host is reached, has failed, or is given up. Nothing fails here. */
#include "launcher/connect/host_connect_impl.h"

#include "launcher/base/xalloc.h"

#include <assert.h>
#include <stdlib.h>

struct reach_pool *reach_pool_create(uv_loop_t *loop, const struct reach_settings *settings,
                                     struct children *children)
{
    struct reach_pool *pool = xcalloc(1, sizeof *pool);
    pool->loop = loop;
    pool->settings = settings;
    pool->children = children;
    pool->end_of_waiting = &pool->first_waiting;
    local_host_init(&pool->self);
    return pool;
}

void reach_pool_destroy(struct reach_pool *pool)
{
    if (!pool)
        return;
    assert(pool->nopen == 0);
    local_host_fini(&pool->self);
    free(pool);
}

const struct reach_way *reach_pool_choose(struct reach_pool *pool,
                                          const struct reach_target *target)
{
    if (!target->user && local_host_is(&pool->self, target->host))
        return &reach_local_way;
    return pool->settings->remote_shell ? &reach_command_way : pool->settings->ssh;
}

static void give_turn(struct reach_pool *pool, struct reach *reach)
{
    pool->nturns++;
    reach->has_turn = true;
    reach_begin(reach);
}

static void unlink_waiting(struct reach_pool *pool, struct reach *reach)
{
    for (struct reach **at = &pool->first_waiting; *at; at = &(*at)->next_waiting) {
        if (*at != reach)
            continue;
        *at = reach->next_waiting;
        if (!*at)
            pool->end_of_waiting = at;
        return;
    }
}

void reach_pool_add(struct reach_pool *pool, struct reach *reach)
{
    pool->nopen++;
    if (pool->nturns < REACH_AT_ONCE) {
        give_turn(pool, reach);
        return;
    }
    *pool->end_of_waiting = reach;
    pool->end_of_waiting = &reach->next_waiting;
}

void reach_pool_turn_over(struct reach_pool *pool, struct reach *reach)
{
    if (!reach->has_turn) {
        unlink_waiting(pool, reach);
        return;
    }
    reach->has_turn = false;
    pool->nturns--;
    struct reach *next = pool->first_waiting;
    if (!next)
        return;
    unlink_waiting(pool, next);
    give_turn(pool, next);
}
