/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce in two levels; see two_level.h.
 *
 * A rank has one flow inside its host, unless it is the only rank there, and one flow between hosts
 * for each segment of its share. Two ranks of different hosts may carry several segments together:
 * on their link all data of a segment come before any data of the next. */
#include "lib/collective/two_level.h"

#include "lib/base/min.h"
#include "lib/collective/direct_flow.h"
#include "lib/collective/ring_schedule.h"

#include <string.h>

/* An exchange with a peer: number `exchange` of a flow. If there are several with the same peer,
 * `next` is the next one, -1 behind the last. */
struct route {
    int flow, exchange, next;
};

/* A flow, and the length of its part of the vector. */
struct level {
    struct direct_flow direct;
    size_t nbytes;
};

struct two_level {
    struct operation operation;
    struct operation_store *store;
    void *scratch; /* of the store, or NULL */
    bool inside;   /* flow 0 is inside the host; those between hosts come behind it */
    int nflows, nroutes;
    struct level *flows;
    struct exchange *exchanges; /* of all flows, in their order */
    struct route *routes;       /* likewise */
    int *peer_routes;           /* the first of each rank, or -1 */

    /* Used only for planning. */
    size_t *bounds;
    int *ranks;
};

static struct two_level *two_level_of(const struct operation *operation)
{
    return (struct two_level *)(void *)operation;
}

/* ---- progress ---- */

/* Feeds data that has been reduced inside the host to the flows between hosts, or all data where
 * this rank is alone; and releases what these flows have finished to the ranks of the host. */
static void two_level_pass_on(struct two_level *two_level)
{
    struct direct_flow *inside = two_level->inside ? &two_level->flows[0].direct : NULL;
    size_t reduced = inside ? direct_flow_reduced(inside) : SIZE_MAX, start = 0, finished = 0;
    for (int i = inside ? 1 : 0; i < two_level->nflows; i++) {
        struct direct_flow *between = &two_level->flows[i].direct;
        size_t size = two_level->flows[i].nbytes;
        if (reduced > start)
            direct_flow_feed(between, size_min(reduced - start, size));
        if (finished == start)
            finished += direct_flow_finished(between);
        start += size;
    }
    if (inside && two_level->nflows > 1)
        direct_flow_release(inside, finished);
}

static struct exchange_flow *flow_at(const struct two_level *two_level, const struct route *route)
{
    return &two_level->flows[route->flow].direct.flow;
}

static const struct route *next_route(const struct two_level *two_level, const struct route *route)
{
    return route->next < 0 ? NULL : &two_level->routes[route->next];
}

static const struct route *first_route(const struct two_level *two_level, int peer)
{
    int first = two_level->peer_routes[peer];
    return first < 0 ? NULL : &two_level->routes[first];
}

static struct exchange *exchange_at(const struct two_level *two_level, const struct route *route)
{
    return &flow_at(two_level, route)->exchanges[route->exchange];
}

static size_t unsent(const struct exchange *exchange)
{
    return exchange->operands_size + exchange->results_size - exchange->sent;
}

static const void *two_level_output(struct operation *operation, int peer, size_t ahead,
                                    size_t *nbytes)
{
    const struct two_level *two_level = two_level_of(operation);
    const struct route *route = first_route(two_level, peer);
    for (; route; route = next_route(two_level, route)) {
        size_t left = unsent(exchange_at(two_level, route));
        if (ahead < left)
            return exchange_flow_output(flow_at(two_level, route), route->exchange, ahead, nbytes);
        ahead -= left;
    }
    *nbytes = 0;
    return NULL;
}

static void two_level_sent(struct operation *operation, int peer, size_t nbytes)
{
    struct two_level *two_level = two_level_of(operation);
    const struct route *route = first_route(two_level, peer);
    for (; route && nbytes > 0; route = next_route(two_level, route)) {
        size_t part = size_min(nbytes, unsent(exchange_at(two_level, route)));
        if (part > 0)
            exchange_flow_sent(flow_at(two_level, route), route->exchange, part);
        nbytes -= part;
    }
    two_level_pass_on(two_level);
}

/* The place of the next data from a peer; NULL when everything has come. */
static const struct route *incoming(const struct two_level *two_level, int peer)
{
    const struct route *route = first_route(two_level, peer);
    for (; route; route = next_route(two_level, route)) {
        const struct exchange *exchange = exchange_at(two_level, route);
        if (exchange->have < exchange->awaited || exchange->placed < exchange->place_size)
            return route;
    }
    return NULL;
}

static void *two_level_space(struct operation *operation, int peer, size_t *nbytes)
{
    const struct two_level *two_level = two_level_of(operation);
    const struct route *route = incoming(two_level, peer);
    *nbytes = 0;
    return route ? exchange_flow_space(flow_at(two_level, route), route->exchange, nbytes) : NULL;
}

static int two_level_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct two_level *two_level = two_level_of(operation);
    const struct route *route = incoming(two_level, peer);
    if (!route)
        return fail(err, HVD_ERR_PROTOCOL, "nothing is awaited from rank %d of the set", peer);
    int rc = exchange_flow_received(flow_at(two_level, route), route->exchange, nbytes, err);
    two_level_pass_on(two_level);
    return rc;
}

static ssize_t two_level_take(struct operation *operation, int peer, const void *data,
                              size_t nbytes, struct err *err)
{
    struct two_level *two_level = two_level_of(operation);
    const struct route *route = incoming(two_level, peer);
    (void)err;
    if (!route)
        return 0;
    size_t taken = exchange_flow_take(flow_at(two_level, route), route->exchange, data, nbytes);
    two_level_pass_on(two_level);
    return (ssize_t)taken;
}

static bool two_level_done(const struct operation *operation)
{
    const struct two_level *two_level = two_level_of(operation);
    for (int i = 0; i < two_level->nflows; i++)
        if (!exchange_flow_done(&two_level->flows[i].direct.flow))
            return false;
    return true;
}

static void two_level_fini(struct operation *operation)
{
    operation_free(two_level_of(operation)->store, two_level_of(operation)->scratch);
}

static const struct operation_type type = {
    .algorithm = "two-level",
    .output = two_level_output,
    .sent = two_level_sent,
    .space = two_level_space,
    .received = two_level_received,
    .take = two_level_take,
    .done = two_level_done,
    .fini = two_level_fini,
};

/* ---- planning ---- */

/* The flow that is being planned: where its part of the vector begins. */
struct planning {
    const struct operation_task *task;
    struct two_level *two_level;
    struct cut cut; /* of the next flow between hosts */
};

static size_t byte_at(const struct operation_task *task, struct cut cut)
{
    return two_level_position(cut, task->count) * dtype_size((int)task->dtype);
}

static unsigned char *at(void *data, size_t offset)
{
    return data ? (unsigned char *)data + offset : NULL;
}

static struct direct_plan plan_inside(const struct planning *planning)
{
    const struct operation_task *task = planning->task;
    const struct placing *placing = task->placing;
    const struct two_level *two_level = planning->two_level;
    int self = placing->index[task->rank], host = placing->host[task->rank];
    struct direct_plan plan = {
        .self = self,
        .members = placing_count(placing, host),
        .ranks = placing->members + placing->first[host],
        .bounds = two_level->bounds,
        .combiner = combiner_of(task),
        .staging = task->staging,
        .piece = task->piece,
        .input = task->input,
        .output = task->output,
        .held = placing->nhosts > 1,
    };
    for (int i = 0; i <= plan.members; i++)
        two_level->bounds[i] = byte_at(task, (struct cut){ i, plan.members });
    plan.result = at(task->output, two_level->bounds[self]);
    if (plan.held) /* an average is divided between hosts */
        plan.combiner.divide = NULL;
    return plan;
}

/* Goes on to the next flow. */
static struct direct_plan plan_between(struct planning *planning)
{
    const struct operation_task *task = planning->task;
    const struct placing *placing = task->placing;
    const struct two_level *two_level = planning->two_level;
    struct cut end = two_level_next_cut(placing, planning->cut);
    size_t element_size = dtype_size((int)task->dtype);
    size_t start = two_level_position(planning->cut, task->count);
    size_t count = two_level_position(end, task->count) - start;
    struct direct_plan plan = {
        .self = placing->host[task->rank],
        .members = placing->nhosts,
        .ranks = two_level->ranks,
        .bounds = two_level->bounds,
        .combiner = combiner_of(task),
        .staging = task->staging,
        .piece = task->piece,
        .input = two_level->inside ? task->output : task->input,
        .output = task->output,
        .fed = true, /* on all members, so that the order on their links is the same */
    };
    for (int host = 0; host < placing->nhosts; host++)
        two_level->ranks[host] = two_level_carrier(placing, host, planning->cut);
    for (int host = 0; host <= placing->nhosts; host++)
        two_level->bounds[host] =
            (start + chunk_start(count, placing->nhosts, host)) * element_size;
    plan.result = at(task->output, two_level->bounds[plan.self]);
    planning->cut = end;
    return plan;
}

static struct direct_plan plan_flow(struct planning *planning, int flow)
{
    return planning->two_level->inside && flow == 0 ? plan_inside(planning)
                                                    : plan_between(planning);
}

static struct planning begin_planning(const struct operation_task *task,
                                      struct two_level *two_level)
{
    return (struct planning){ task, two_level, two_level_begin(task->placing, task->rank) };
}

/* Appended behind the exchanges with the same peer. */
static void add_route(struct two_level *two_level, int peer, int flow, int exchange)
{
    int *link = &two_level->peer_routes[peer];
    while (*link >= 0)
        link = &two_level->routes[*link].next;
    *link = two_level->nroutes;
    two_level->routes[two_level->nroutes++] = (struct route){ flow, exchange, -1 };
}

static void begin_flow(struct two_level *two_level, int number, const struct direct_plan *plan,
                       unsigned char *scratch)
{
    struct direct_flow *flow = &two_level->flows[number].direct;
    two_level->flows[number].nbytes = plan->bounds[plan->members] - plan->bounds[0];
    direct_flow_begin(flow, plan, two_level->exchanges + two_level->nroutes, scratch);
    for (int i = 0; i < flow->flow.count; i++)
        add_route(two_level, flow->flow.exchanges[i].peer, number, i);
}

static size_t scratch_size(const struct operation_task *task, struct two_level *two_level)
{
    size_t nbytes = 0;
    struct planning planning = begin_planning(task, two_level);
    for (int i = 0; i < two_level->nflows; i++) {
        struct direct_plan plan = plan_flow(&planning, i);
        nbytes += operation_align(direct_flow_scratch(&plan));
    }
    return nbytes;
}

static void begin_flows(const struct operation_task *task, struct two_level *two_level)
{
    unsigned char *scratch = two_level->scratch;
    struct planning planning = begin_planning(task, two_level);
    for (int i = 0; i < two_level->nflows; i++) {
        struct direct_plan plan = plan_flow(&planning, i);
        begin_flow(two_level, i, &plan, scratch);
        scratch = scratch ? scratch + operation_align(direct_flow_scratch(&plan)) : NULL;
    }
}

/* ---- memory ---- */

/* The sizes of all tables. */
struct counts {
    size_t flows, exchanges, bounds, ranks;
};

static struct counts count_all(const struct operation_task *task, bool inside)
{
    const struct placing *placing = task->placing;
    size_t nhosts = (size_t)placing->nhosts;
    size_t locals = (size_t)placing_count(placing, placing->host[task->rank]);
    size_t segments = nhosts > 1 ? (size_t)two_level_segments(placing, task->rank) : 0;
    return (struct counts){ .flows = segments + inside,
                            .exchanges = locals - 1 + segments * (nhosts - 1),
                            .bounds = (nhosts > locals ? nhosts : locals) + 1,
                            .ranks = nhosts };
}

static struct two_level *two_level_create(struct operation_store *store,
                                          const struct operation_task *task)
{
    const struct placing *placing = task->placing;
    bool inside = placing_count(placing, placing->host[task->rank]) > 1;
    struct counts counts = count_all(task, inside);
    struct two_level *own;
    own = operation_alloc(store, sizeof *own + counts.flows * sizeof *own->flows +
                                     counts.exchanges * sizeof *own->exchanges +
                                     counts.bounds * sizeof *own->bounds +
                                     counts.exchanges * sizeof *own->routes +
                                     ((size_t)task->size + counts.ranks) * sizeof(int));
    if (!own)
        return NULL;
    *own = (struct two_level){
        .operation.type = &type, .store = store, .inside = inside, .nflows = (int)counts.flows
    };
    own->flows = (struct level *)(void *)(own + 1);
    own->exchanges = (struct exchange *)(void *)(own->flows + counts.flows);
    own->bounds = (size_t *)(void *)(own->exchanges + counts.exchanges);
    own->routes = (struct route *)(void *)(own->bounds + counts.bounds);
    own->peer_routes = (int *)(void *)(own->routes + counts.exchanges);
    own->ranks = own->peer_routes + task->size;
    for (int rank = 0; rank < task->size; rank++)
        own->peer_routes[rank] = -1;
    return own;
}

struct operation *allreduce_two_level_start(struct operation_store *store,
                                            const struct operation_task *task, struct err *err)
{
    struct two_level *two_level = two_level_create(store, task);
    if (!two_level) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    size_t scratch = scratch_size(task, two_level);
    if (scratch > 0 && !(two_level->scratch = operation_alloc(store, scratch))) {
        operation_free(store, two_level);
        fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of what may come early", scratch);
        return NULL;
    }
    begin_flows(task, two_level);
    two_level_pass_on(two_level);
    return &two_level->operation;
}
