/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks among themselves: each has a link to its parent in the tree, over which the real
 * negotiation (lib/negotiation) agrees on the order of the tensors and reduces the small ones.
 * Larger ones count as done when they are agreed on: how they are moved is tested with
 * tests/support/operation_net.h. A link that ends while something is in flight is a loss, which the
 * rendezvous explains, or not. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBT_MS = 1000, ELEMENTS_MAX = 6000 };

static void pump(struct sim_worker *worker);

/* ---- messages: a length, then the bytes ---- */

static void send_message(struct sim_link *link, const struct wire_writer *message)
{
    uint32_t length = (uint32_t)message->length;
    if (!link->end)
        return;
    sim_write(link->end, &length, sizeof length);
    sim_write(link->end, message->data, message->length);
}

static void take_decisions(struct sim_worker *worker);

static void apply(struct sim_worker *worker, const struct wire_writer *message)
{
    struct err err = { 0 };
    if (negotiation_apply(worker->negotiation, message->data, message->length, &err) < 0)
        sim_broken("rank %d cannot apply a decision: %s", worker->rank, err.text);
    for (int i = 0; i < worker->tree.nchildren; i++)
        send_message(&worker->children[i], message);
    take_decisions(worker);
}

static void on_message(struct sim_link *link, const unsigned char *bytes, size_t length)
{
    struct sim_worker *worker = link->worker;
    struct err err = { 0 };
    if (link->index < 0) {
        struct wire_writer message = { .data = (unsigned char *)bytes, .length = length };
        apply(worker, &message);
    } else if (negotiation_receive(worker->negotiation, link->index, bytes, length, 0, &err) < 0) {
        sim_broken("rank %d cannot take what rank %d says: %s", worker->rank, link->rank, err.text);
    }
}

static void append(struct sim_link *link, const char *bytes, size_t length)
{
    if (link->length + length > link->room) {
        size_t room = 2 * (link->length + length) + 256;
        unsigned char *grown = sim_room(room);
        if (link->length > 0)
            memcpy(grown, link->bytes, link->length);
        link->bytes = grown;
        link->room = room;
    }
    memcpy(link->bytes + link->length, bytes, length);
    link->length += length;
}

static void deliver(struct sim_link *link)
{
    size_t at = 0;
    uint32_t length;
    while (link->length - at >= sizeof length) {
        memcpy(&length, link->bytes + at, sizeof length);
        if (link->length - at < sizeof length + length)
            break;
        on_message(link, link->bytes + at + sizeof length, length);
        at += sizeof length + length;
    }
    link->length -= at;
    if (link->length > 0 && at > 0)
        memmove(link->bytes, link->bytes + at, link->length);
}

/* ---- losses ---- */

static void on_refused(void *context)
{
    struct sim_worker *worker = context;
    if (worker->nflying > 0 || worker->ndecided < work.nnames)
        sim_worker_fail_by(worker, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST,
                           "the link to a rank has ended");
}

/* As lib/engine/breakage.c: that somebody has left comes last, and does not explain a host that is
 * silent. */
static void on_unexplained(void *context)
{
    struct sim_worker *worker = context;
    worker->doubt = NULL;
    if (worker->state == WORKER_RUNNING && sim_faults_blamed_rank() >= 0 && !world.finished)
        sim_broken("rank %d is not told who was lost", worker->rank);
    if (worker->departure && !worker->host_is_silent &&
        (worker->nflying > 0 || worker->ndecided < work.nnames))
        sim_worker_fail(worker, worker->departure);
    on_refused(worker);
}

static void on_link_end(struct sim_link *link, int error)
{
    struct sim_worker *worker = link->worker;
    link->end->reader.process = NULL;
    worker->host_is_silent |= error == ETIMEDOUT;
    if (worker->state == WORKER_RUNNING && !worker->doubt && worker->ndecided < work.nnames)
        worker->doubt = sim_timer(worker->process, SIM_MS(DOUBT_MS), on_unexplained, worker);
}

static void on_readable(void *context)
{
    struct sim_link *link = context;
    char bytes[8192];
    int error;
    if (link->worker->state != WORKER_RUNNING) /* not yet, or not any more */
        return;
    long count = sim_read(link->end, bytes, sizeof bytes, &error);
    if (count > 0) {
        append(link, bytes, (size_t)count);
        deliver(link);
        pump(link->worker);
    } else if (count < 0) {
        on_link_end(link, error);
        return;
    }
    if (sim_readable(link->end))
        sim_tell(&link->end->reader);
}

/* ---- links ---- */

static void listen_to(struct sim_link *link, struct sim_end *end)
{
    link->end = end;
    end->reader = (struct sim_user){ link->worker->process, on_readable, link, false };
    if (sim_readable(end))
        sim_tell(&end->reader);
}

static int child_index(const struct sim_worker *parent, int rank)
{
    int index = 0;
    while (parent->tree.children[index] != rank)
        index++;
    return index;
}

struct arrival {
    struct sim_link *link;
    struct sim_end *end;
};

static void on_arrival(void *context)
{
    const struct arrival *arrival = context;
    listen_to(arrival->link, arrival->end);
    pump(arrival->link->worker);
}

static void dial_parent(struct sim_worker *worker)
{
    struct sim_worker *up = world.ranks[worker->tree.parent];
    struct sim_end *ends[2];
    sim_stream_make(ends, worker->process->host, up->process->host);
    sim_hold(worker->process, ends[0]);
    listen_to(&worker->parent, ends[0]);
    if (!up->process->alive) {
        sim_after(worker->process, sim_between(50, 500), on_refused, worker);
        return;
    }
    struct arrival *arrival = sim_new(sizeof *arrival);
    *arrival = (struct arrival){ &up->children[child_index(up, worker->rank)], ends[1] };
    sim_hold(up->process, ends[1]);
    sim_after(up->process, sim_between(50, 2000), on_arrival, arrival);
}

/* ---- tensors ---- */

static void give(struct offer *offer, const struct sim_worker *worker, int name)
{
    static float data[ELEMENTS_MAX];
    int64_t count = work.counts[name] + (name == work.wrong_name && worker->rank == work.odd_rank);
    offer->description = (struct description){ .kind = COLLECTIVE_ALLREDUCE,
                                               .dtype = HVD_FLOAT32,
                                               .op = HVD_SUM,
                                               .prescale = 1,
                                               .postscale = 1,
                                               .shape = { .ndims = 1, .dims = { count } } };
    offer->complete = negotiation_is_inline(worker->negotiation, &offer->description);
    offer->data = data;
    offer->nbytes = offer->complete ? (size_t)count * sizeof *data : 0;
    for (int64_t i = 0; i < count; i++)
        data[i] = (float)(worker->rank + name);
}

static void submit(struct sim_worker *worker)
{
    int name = worker->order[worker->nsubmitted++];
    struct offer offer = { .name = sim_format("tensor%d", name), .owner = &worker->flying[name] };
    struct err err = { 0 };
    if (name == worker->name_withheld)
        return;
    give(&offer, worker, name);
    if (negotiation_submit(worker->negotiation, &offer, 0, &err) < 0)
        sim_broken("rank %d cannot submit '%s': %s", worker->rank, offer.name, err.text);
    worker->flying[name] = true;
    worker->nflying++;
}

static void check_sum(const struct sim_worker *worker, const struct agreed *agreed, int name)
{
    float expected = 0, got;
    for (int rank = 0; rank < world.nranks; rank++)
        expected += (float)(rank + name);
    for (size_t at = 0; at + sizeof got <= agreed->nbytes; at += sizeof got) {
        memcpy(&got, agreed->data + at, sizeof got);
        if (got != expected) {
            sim_broken("rank %d: '%s' sums up to %g instead of %g", worker->rank, agreed->name,
                       (double)got, (double)expected);
            return;
        }
    }
}

static void on_agreed(struct sim_worker *worker, const struct decision *decision,
                      const struct agreed *agreed)
{
    int name = atoi(agreed->name + strlen("tensor"));
    bool fails = decision->kind == DECISION_FAILED;
    if (!worker->flying[name])
        sim_broken("rank %d: '%s' is decided on, and is not in flight", worker->rank, agreed->name);
    if (fails != (name == work.wrong_name))
        sim_broken("rank %d: '%s' %s: %s", worker->rank, agreed->name, fails ? "fails" : "is fine",
                   decision->text ? decision->text : "");
    if (decision->kind == DECISION_DONE)
        check_sum(worker, agreed, name);
    worker->flying[name] = false;
    worker->nflying--;
    worker->ndecided++;
}

static uint64_t digest(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static void take_decisions(struct sim_worker *worker)
{
    struct decision decision;
    struct err err = { 0 };
    int rc;
    while ((rc = negotiation_next(worker->negotiation, &decision, &err)) > 0) {
        uint64_t hash = (uint64_t)decision.kind + 31;
        for (int i = 0; i < decision.count; i++) {
            hash = digest(hash, decision.tensors[i].name);
            on_agreed(worker, &decision, &decision.tensors[i]);
        }
        if (worker->ndecisions < SIM_DECISIONS_MAX)
            worker->decisions[worker->ndecisions++] = hash;
    }
    if (rc < 0)
        sim_broken("rank %d cannot take a decision: %s", worker->rank, err.text);
}

/* ---- work ---- */

static void tell_parent(struct sim_worker *worker)
{
    struct wire_writer message = { 0 };
    while (worker->parent.end && negotiation_report(worker->negotiation, &message)) {
        send_message(&worker->parent, &message);
        message.length = 0;
    }
    wire_writer_fini(&message);
}

static bool children_are_there(const struct sim_worker *worker)
{
    for (int i = 0; i < worker->tree.nchildren; i++)
        if (!worker->children[i].end)
            return false;
    return true;
}

static void decide(struct sim_worker *worker)
{
    struct wire_writer message = { 0 };
    while (children_are_there(worker) && negotiation_decide(worker->negotiation, true, &message)) {
        apply(worker, &message);
        message.length = 0;
    }
    wire_writer_fini(&message);
}

static void pump(struct sim_worker *worker)
{
    if (worker->state != WORKER_RUNNING)
        return;
    if (worker->rank == 0)
        decide(worker);
    else
        tell_parent(worker);
    if (worker->ndecided == work.nnames)
        sim_worker_leave(worker, 0);
}

static void work_on(void *context)
{
    struct sim_worker *worker = context;
    if (worker->state != WORKER_RUNNING)
        return;
    while (worker->nsubmitted < work.nnames && !sim_once_in(3))
        submit(worker);
    pump(worker);
    sim_timer(worker->process, sim_between(100, SIM_MS(80)), work_on, worker);
}

void sim_links_init(struct sim_worker *worker)
{
    int ranks[SIM_RANKS_MAX];
    struct err err = { 0 };
    for (int i = 0; i < worker->size; i++)
        ranks[i] = i;
    tree_position(&worker->tree, worker->rank, worker->size, 1);
    worker->parent =
        (struct sim_link){ .worker = worker, .rank = worker->tree.parent, .index = -1 };
    for (int i = 0; i < worker->tree.nchildren; i++)
        worker->children[i] =
            (struct sim_link){ .worker = worker, .rank = worker->tree.children[i], .index = i };
    worker->negotiation =
        negotiation_create(worker->rank, worker->size, ranks, &work.settings, &err);
}

void sim_links_begin(struct sim_worker *worker)
{
    if (worker->rank > 0)
        dial_parent(worker);
    for (int i = 0; i < worker->tree.nchildren; i++)
        if (worker->children[i].end) /* it has come before we were told */
            sim_tell(&worker->children[i].end->reader);
    work_on(worker);
}

void sim_links_fini(struct sim_worker *worker)
{
    negotiation_destroy(worker->negotiation);
    worker->negotiation = NULL;
}
