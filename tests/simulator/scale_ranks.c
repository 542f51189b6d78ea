/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls a job that runs: its ranks meet, one of them or a host is lost, or all end; see
 * scale_job.h. */
#include "tests/simulator/scale_job.h"

#include <stdlib.h>

/* ---- join ---- */

/* A frame of one rank, through the relay of its agent. */
struct rank_frame {
    struct scale *scale;
    int rank;
};

static int node_of(const struct scale *scale, int rank)
{
    return 1 + rank / scale->local_size;
}

static void join(struct scale *scale, int rank)
{
    static struct join_hello hello;
    struct err err;
    scale_hello(&hello, rank, scale->local_size, scale->nranks);
    scale_must(membership_join(&scale->membership, &hello, scale->net.queue.now_ns / 1000000,
                               &err) == HVD_OK,
               err.text);
}

static void on_welcome(void *context, int node)
{
    (void)node;
    scale_note_time(context);
}

static void send_welcomes(struct scale *scale)
{
    struct membership_action action;
    int told = 0;
    while (membership_next(&scale->membership, &action)) {
        if (action.act != MEMBERSHIP_WELCOME)
            continue;
        told++;
        size_t nbytes = scale_welcome_size(&scale->membership, action.rank);
        scale_net_send(&scale->net, 0, node_of(scale, action.rank), scale->sizes.relay + nbytes,
                       on_welcome, scale);
    }
    scale_must(told == 0 || told == scale->nranks, "a world without some of its ranks");
}

static void on_hello(void *context, int node)
{
    struct rank_frame *frame = context;
    struct scale *scale = frame->scale;
    (void)node;
    join(scale, frame->rank);
    if (!membership_was_complete(&scale->membership))
        scale_net_send(&scale->net, 0, node_of(scale, frame->rank),
                       scale->sizes.relay + scale->sizes.waiting, scale_on_nothing, scale);
    free(frame);
    send_welcomes(scale);
}

static void on_challenge(void *context, int node)
{
    struct rank_frame *frame = context;
    struct scale *scale = frame->scale;
    scale_net_send(&scale->net, node, 0, scale->sizes.relay + scale->sizes.hello, on_hello, frame);
}

static void on_open(void *context, int node)
{
    struct rank_frame *frame = context;
    struct scale *scale = frame->scale;
    (void)node;
    scale_net_send(&scale->net, 0, node_of(scale, frame->rank),
                   scale->sizes.relay + scale->sizes.challenge, on_challenge, frame);
}

double scale_run_join(struct scale *scale)
{
    double began_ns = scale_begin_phase(scale);
    for (int rank = 0; rank < scale->nranks; rank++) {
        struct rank_frame *frame = scale_alloc(1, sizeof *frame);
        *frame = (struct rank_frame){ scale, rank };
        scale_net_send(&scale->net, node_of(scale, rank), 0, scale->sizes.relay + scale->sizes.open,
                       on_open, frame);
    }
    double ms = scale_end_phase(scale, began_ns);
    scale_must(membership_was_complete(&scale->membership), "the world is not complete");
    return ms;
}

/* ---- death ---- */

static void know(struct scale *scale, int node)
{
    if (scale->knows[node] || scale->net.lost[node])
        return;
    scale->knows[node] = true;
    scale->nknow++;
    scale_note_time(scale);
}

static void on_news(void *context, int node)
{
    know(context, node);
}

/* STOP to every host, then NEWS to every rank. */
static void tell_of_failure(struct scale *scale)
{
    struct membership_action action;
    size_t news = 0;
    scale_tell_all(scale, scale->sizes.stop, know);
    while (membership_next(&scale->membership, &action)) {
        if (action.act != MEMBERSHIP_NEWS)
            continue;
        news = scale_news_size(action.cause);
        scale_net_send(&scale->net, 0, node_of(scale, action.rank), scale->sizes.relay + news,
                       on_news, scale);
    }
    scale_must(news > 0, "nobody is told of the failure");
}

/* The launcher has seen the end of a process, and its connection has ended, too. */
static void lose_rank(struct scale *scale, int rank, const struct rank_end_how *how)
{
    uint64_t now_ms = scale->net.queue.now_ns / 1000000;
    membership_ended(&scale->membership, rank, how, now_ms);
    membership_broke(&scale->membership, rank, now_ms);
}

static void on_killed(void *context, int node)
{
    struct scale *scale = context;
    const struct rank_end_how killed = { .kind = RANK_END_KILLED, .code = 9 };
    int rank = scale->nranks - 1;
    (void)node;
    scale_must(job_state_on_rank_exited(&scale->state, scale->nhosts - 1, rank, &killed, 1000) ==
                   JOB_STOP,
               "a death does not stop the job");
    lose_rank(scale, rank, &killed);
    tell_of_failure(scale);
}

/* A rank on the last host is killed. */
double scale_run_death(struct scale *scale)
{
    double began_ns = scale_begin_phase(scale);
    know(scale, scale->nhosts);
    scale_net_send(&scale->net, scale->nhosts, 0, scale->sizes.exited, on_killed, scale);
    double ms = scale_end_phase(scale, began_ns);
    scale_must(scale->nknow == scale->nhosts, "a host does not know of the death");
    return ms;
}

/* hvdrun learns that it has lost a host. */
static void on_host_lost(void *context, int node)
{
    struct scale *scale = context;
    const struct rank_end_how lost = { .kind = RANK_END_HOST_LOST };
    (void)node;
    scale_must(job_state_on_host_lost(&scale->state, 0, 1, "is lost", true) == JOB_STOP,
               "a lost host does not stop the job");
    for (int rank = 0; rank < scale->local_size; rank++)
        lose_rank(scale, rank, &lost);
    tell_of_failure(scale);
}

static void on_link_end(void *arg)
{
    on_host_lost(arg, 0);
}

/* An agent sees the end of its link to the agent above, and passes it on by ending its own
 * links. */
static void on_orphaned(void *context, int node)
{
    struct scale *scale = context;
    int first, count = scale_net_children(&scale->net, node, &first);
    know(scale, node);
    for (int i = 0; i < count; i++)
        scale_net_send(&scale->net, node, first + i, 0, on_orphaned, scale);
}

struct orphaning {
    struct scale *scale;
    int node;
};

static void on_parent_silent(void *arg)
{
    struct orphaning *orphaning = arg;
    on_orphaned(orphaning->scale, orphaning->node);
    free(orphaning);
}

/* The agent of the first host, which has others below it in a tree, ends after `ms` as its
 * neighbours see it. */
double scale_run_lost_host(struct scale *scale, double ms)
{
    struct event_queue *queue = &scale->net.queue;
    double began_ns = scale_begin_phase(scale);
    uint64_t seen_ns = queue->now_ns + (uint64_t)(1e6 * (ms + scale->settings->latency_ms));
    int first, count = scale_net_children(&scale->net, 1, &first);
    scale->net.lost[1] = true;
    event_queue_add(queue, seen_ns, on_link_end, scale);
    for (int i = 0; i < count; i++) {
        struct orphaning *orphaning = scale_alloc(1, sizeof *orphaning);
        *orphaning = (struct orphaning){ scale, first + i };
        event_queue_add(queue, seen_ns, on_parent_silent, orphaning);
    }
    double took_ms = scale_end_phase(scale, began_ns);
    scale_must(scale->nknow == scale->nhosts - 1, "a host does not know of the lost one");
    return took_ms;
}

/* ---- end ---- */

static void end_rank(struct scale *scale, int rank)
{
    const struct rank_end_how well = { .kind = RANK_END_EXITED };
    int host = rank / scale->local_size;
    job_state_on_rank_exited(&scale->state, host, rank, &well, 60000);
}

static void on_exited(void *context, int node)
{
    struct rank_frame *frame = context;
    (void)node;
    end_rank(frame->scale, frame->rank);
    free(frame);
}

static void on_done(void *context, int node)
{
    struct scale *scale = context;
    (void)node;
    if (job_state_on_host_done(&scale->state) == JOB_FINISH)
        scale_note_time(scale);
}

/* All ranks end well at the same time. */
double scale_run_end(struct scale *scale)
{
    double began_ns = scale_begin_phase(scale);
    const struct scale_sizes *sizes = &scale->sizes;
    for (int node = 1; node <= scale->nhosts; node++) {
        for (int i = 0; i < scale->local_size; i++) {
            struct rank_frame *frame = scale_alloc(1, sizeof *frame);
            *frame = (struct rank_frame){ scale, (node - 1) * scale->local_size + i };
            scale_net_send(&scale->net, node, 0, sizes->relay + sizes->goodbye, scale_on_nothing,
                           scale);
            scale_net_send(&scale->net, node, 0, sizes->exited, on_exited, frame);
        }
        scale_net_send(&scale->net, node, 0, sizes->done, on_done, scale);
    }
    double ms = scale_end_phase(scale, began_ns);
    scale_must(scale->state.phase == JOB_FINISHED, "the job has not ended");
    return ms;
}
