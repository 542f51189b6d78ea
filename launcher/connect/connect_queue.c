/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a job that are being connected: which hosts are local, and which host is next. A
 * host gets a turn when fewer than CONNECT_AT_ONCE hosts have one, in the order in which the hosts
 * were added. A turn ends when the host is connected, has failed, or is given up. Nothing fails
 * here. A host that another host's agent connects to needs no turn. */
#include "launcher/connect/host_connect_impl.h"

#include "launcher/base/xalloc.h"

#include <assert.h>
#include <stdlib.h>

struct connect_queue *connect_queue_create(uv_loop_t *loop, const struct connect_settings *settings,
                                           struct children *children)
{
    struct connect_queue *pool = xcalloc(1, sizeof *pool);
    pool->loop = loop;
    pool->settings = settings;
    pool->children = children;
    pool->end_of_waiting = &pool->first_waiting;
    local_host_init(&pool->self);
    return pool;
}

void connect_queue_destroy(struct connect_queue *pool)
{
    if (!pool)
        return;
    assert(pool->nopen == 0);
    local_host_fini(&pool->self);
    free(pool->shared);
    free(pool);
}

bool connect_queue_is_local(struct connect_queue *pool, const struct connect_target *target)
{
    return !target->user && local_host_is(&pool->self, target->host);
}

const struct host_transport *connect_queue_choose(struct connect_queue *pool,
                                                  const struct connect_target *target)
{
    if (target->tunnels)
        return &transport_tunnel;
    if (connect_queue_is_local(pool, target))
        return &transport_local;
    if (pool->settings->srun)
        return &transport_srun;
    return pool->settings->remote_shell ? &transport_command : pool->settings->ssh;
}

static void give_turn(struct connect_queue *pool, struct host_connect *connect)
{
    pool->nturns++;
    connect->has_turn = true;
    host_connect_begin(connect);
}

static void unlink_waiting(struct connect_queue *pool, struct host_connect *connect)
{
    struct host_connect *next = connect->next_waiting;
    *connect->waiting_at = next;
    if (next)
        next->waiting_at = connect->waiting_at;
    else
        pool->end_of_waiting = connect->waiting_at;
    connect->next_waiting = NULL;
    connect->waiting_at = NULL;
}

void connect_queue_add(struct connect_queue *pool, struct host_connect *connect)
{
    if (pool->nturns < CONNECT_AT_ONCE || pool->settings->srun) { /* one srun reaches all hosts */
        give_turn(pool, connect);
        return;
    }
    connect->waiting_at = pool->end_of_waiting;
    *pool->end_of_waiting = connect;
    pool->end_of_waiting = &connect->next_waiting;
}

void connect_queue_turn_over(struct connect_queue *pool, struct host_connect *connect)
{
    if (!connect->has_turn) {
        if (connect->waiting_at)
            unlink_waiting(pool, connect);
        return;
    }
    connect->has_turn = false;
    pool->nturns--;
    struct host_connect *next = pool->first_waiting;
    if (!next)
        return;
    unlink_waiting(pool, next);
    give_turn(pool, next);
}
