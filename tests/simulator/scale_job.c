/* SPDX-License-Identifier: Apache-2.0 */
/* One job: how hvdrun and its agents reach each other, and its start; see scale_job.h. */
#include "tests/simulator/scale_job.h"

#include "rendezvous/base/rendezvous_options.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CONNECT_AT_ONCE of launcher/connect/host_connect_impl.h. */
enum { AT_ONCE = 64, ENVIRONMENT = 6 * 1024 };

void scale_must(bool fine, const char *what)
{
    if (!fine)
        errx(1, "%s", what);
}

void *scale_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    scale_must(memory, "out of memory");
    return memory;
}

void scale_note_time(struct scale *scale)
{
    scale->last_ns = scale->net.queue.now_ns;
}

static struct rendezvous_slot *make_slots(const struct scale *scale)
{
    struct rendezvous_slot *slots = scale_alloc((size_t)scale->nranks, sizeof *slots);
    for (int rank = 0; rank < scale->nranks; rank++) {
        int local = rank % scale->local_size, host = rank / scale->local_size;
        char name[16];
        snprintf(name, sizeof name, "node%d", host);
        char *owned = local == 0 ? strdup(name) : NULL;
        slots[rank] = (struct rendezvous_slot){ { rank, scale->nranks, local, scale->local_size,
                                                  host, scale->nhosts },
                                                local == 0 ? owned : slots[rank - 1].host };
        scale_must(slots[rank].host, "out of memory");
    }
    return slots;
}

void scale_init(struct scale *scale, const struct scale_settings *settings, enum scale_mode mode,
                int nhosts, int local_size)
{
    const struct cluster_speed speed = { .network = { .latency = 1e6 * settings->latency_ms },
                                         .adapter = settings->mbit / 8000,
                                         .processors = 1 };
    size_t nodes = (size_t)nhosts + 1;
    struct err err;
    *scale = (struct scale){ .settings = settings,
                             .mode = mode,
                             .nhosts = nhosts,
                             .local_size = local_size,
                             .nranks = nhosts * local_size };
    scale_net_init(&scale->net, nhosts, mode == FLAT ? nhosts : settings->width, &speed,
                   1e3 * settings->message_us, 1e3 * settings->frame_us);
    scale_sizes_measure(&scale->sizes, scale->nranks, ENVIRONMENT);
    job_state_init(&scale->state, nhosts, scale->nranks);
    scale->slots = make_slots(scale);
    scale_must(membership_init(&scale->membership, scale->slots, scale->nranks, 600000, &err) ==
                   HVD_OK,
               "out of memory");
    scale->connecting = scale_alloc(nodes, sizeof *scale->connecting);
    scale->asked = scale_alloc(nodes, sizeof *scale->asked);
    scale->knows = scale_alloc(nodes, sizeof *scale->knows);
}

void scale_fini(struct scale *scale)
{
    for (int rank = 0; rank < scale->nranks; rank += scale->local_size)
        free((char *)(uintptr_t)scale->slots[rank].host);
    membership_fini(&scale->membership);
    scale_net_fini(&scale->net);
    free(scale->slots);
    free(scale->connecting);
    free(scale->asked);
    free(scale->knows);
}

/* ---- messages ---- */

static void on_told(void *context, int node);

static void tell_children(struct scale *scale, int node)
{
    int first, count = scale_net_children(&scale->net, node, &first);
    for (int i = 0; i < count; i++)
        scale_net_send(&scale->net, node, first + i, scale->told, on_told, scale);
}

/* The agent passes it on first, as agent_on_multicast() does. */
static void on_told(void *context, int node)
{
    struct scale *scale = context;
    tell_children(scale, node);
    scale->on_arrived(scale, node);
}

/* hvdrun tells all hosts the same, by MULTICAST to those of the first level. */
void scale_tell_all(struct scale *scale, size_t nbytes,
                    void (*on_arrived)(struct scale *scale, int node))
{
    scale->on_arrived = on_arrived;
    scale->told =
        nbytes + (scale->mode == TREE ? sizeof(uint16_t) : 0); /* MULTICAST has the type */
    tell_children(scale, 0);
}

double scale_begin_phase(struct scale *scale)
{
    return (double)scale->net.queue.now_ns;
}

double scale_end_phase(struct scale *scale, double began_ns)
{
    scale_net_run(&scale->net);
    return ((double)scale->last_ns - began_ns) / 1e6;
}

/* ---- start ---- */

static void connect_next(struct scale *scale, int node);

struct connecting {
    struct scale *scale;
    int child;
};

static void on_rank_started(void *context, int node)
{
    struct scale *scale = context;
    (void)node;
    scale_must(job_state_on_rank_started(&scale->state) == JOB_WAIT, "a start stops the job");
    scale_note_time(scale);
}

struct spawning {
    struct scale *scale;
    int node;
};

static void on_spawned(void *arg)
{
    struct spawning *spawning = arg;
    struct scale *scale = spawning->scale;
    int node = spawning->node;
    free(spawning);
    for (int i = 0; i < scale->local_size; i++)
        scale_net_send(&scale->net, node, 0, scale->sizes.started, on_rank_started, scale);
}

static void on_start(struct scale *scale, int node)
{
    struct spawning *spawning = scale_alloc(1, sizeof *spawning);
    double ns = 1e6 * scale->settings->spawn_ms * scale->local_size;
    *spawning = (struct spawning){ scale, node };
    event_queue_add(&scale->net.queue, cluster_work(&scale->net.cluster, node, ns), on_spawned,
                    spawning);
}

static void on_ready(void *context, int node)
{
    struct scale *scale = context;
    (void)node;
    if (job_state_on_host_ready(&scale->state) == JOB_START)
        scale_tell_all(scale, scale->sizes.start, on_start);
}

static void on_described(void *context, int node)
{
    struct scale *scale = context;
    for (int i = 0; i < AT_ONCE; i++)
        connect_next(scale, node);
    scale_net_send(&scale->net, node, 0, scale->sizes.ready, on_ready, scale);
}

void scale_on_nothing(void *context, int node)
{
    (void)context, (void)node;
}

/* The agent above sends what is the same for all hosts. */
static void on_describe(void *context, int node)
{
    struct connecting *connecting = context;
    struct scale *scale = connecting->scale;
    scale_net_send(&scale->net, node, connecting->child, scale->sizes.common, scale_on_nothing,
                   scale);
    free(connecting);
}

/* hvdrun learns that hvdagent runs, and describes the job to it. What the agent above sends comes
 * first, as all of it passes that agent. */
static void on_answer(void *context, int node)
{
    struct connecting *connecting = context;
    struct scale *scale = connecting->scale;
    const struct scale_sizes *sizes = &scale->sizes;
    int child = connecting->child, parent = scale_net_parent(&scale->net, child);
    size_t own = sizes->host + (size_t)scale->local_size * sizes->rank;
    (void)node;
    if (parent == 0) {
        own += sizes->common;
        free(connecting);
    } else {
        scale_net_send(&scale->net, 0, parent, sizes->ask_describe, on_describe, connecting);
    }
    scale_net_send(&scale->net, 0, child, own, on_described, scale);
}

static void on_connected(void *arg)
{
    struct connecting *connecting = arg;
    struct scale *scale = connecting->scale;
    int child = connecting->child;
    scale_net_send(&scale->net, child, 0, scale->sizes.answer, on_answer, connecting);
    connect_next(scale, scale_net_parent(&scale->net, child));
}

static void on_connect_worked(void *arg)
{
    struct connecting *connecting = arg;
    struct scale *scale = connecting->scale;
    int child = connecting->child;
    scale_net_send(&scale->net, scale_net_parent(&scale->net, child), child, scale->sizes.script,
                   scale_on_nothing, scale);
    event_queue_add(&scale->net.queue,
                    scale->net.queue.now_ns + (uint64_t)(1e6 * scale->settings->connect_ms),
                    on_connected, connecting);
}

static void begin_connecting(struct scale *scale, int child)
{
    struct connecting *connecting = scale_alloc(1, sizeof *connecting);
    int parent = scale_net_parent(&scale->net, child);
    double ns = 1e6 * scale->settings->connect_work_ms;
    *connecting = (struct connecting){ scale, child };
    event_queue_add(&scale->net.queue, cluster_work(&scale->net.cluster, parent, ns),
                    on_connect_worked, connecting);
}

/* A tunnel has been asked for: it is the next of the agent's. */
static void on_tunnel_open(void *context, int node)
{
    struct scale *scale = context;
    int first;
    scale_net_children(&scale->net, node, &first);
    begin_connecting(scale, first + scale->connecting[node]++);
}

/* The node connects to the next host below it, if there is one. In the tree hvdrun asks it to. */
static void connect_next(struct scale *scale, int node)
{
    int first, count = scale_net_children(&scale->net, node, &first);
    int *asked = &scale->asked[node], *done = &scale->connecting[node];
    if (node > 0) {
        if (*asked < count) {
            (*asked)++;
            scale_net_send(&scale->net, 0, node, scale->sizes.open_tunnel, on_tunnel_open, scale);
        }
        return;
    }
    if (*done < count)
        begin_connecting(scale, first + (*done)++);
}

double scale_run_start(struct scale *scale)
{
    double began_ns = scale_begin_phase(scale);
    for (int i = 0; i < AT_ONCE; i++)
        connect_next(scale, 0);
    double ms = scale_end_phase(scale, began_ns);
    scale_must(scale->state.phase == JOB_RUNNING && scale->state.ranks_running == scale->nranks,
               "the job has not started");
    return ms;
}
