/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane of a large job in virtual time: how long it takes to start, to meet, to hear of
 * a death, and to end.
 *
 *   scale [--latency-ms MS] [--mbit N] [--message-us US] [--frame-us US] [--connect-ms MS]
 *         [--width W] [HOSTS RANKS_PER_HOST]...
 *
 * Prints a TSV line for each size and for each of two ways:
 *
 *   flat    hvdrun has a connection to every agent
 *   tree    an agent starts at most W others; hvdrun speaks to each through those above it, and what
 *           is the same for all goes once over each link: the description of the job, START and STOP
 *
 * In both what a host says or gets at one time is one message (scale_net.h).
 *
 * Decided by the real code: when the job starts, stops and ends (launcher/verdict/job_state.h), who
 * is told what (rendezvous/world/membership.h); lengths are those of the protocols' encoders
 * (scale_sizes.h). Links and the work of the programs are scale_net.h's. doc/scale.md has the
 * assumptions and results.
 *
 * Without sizes: the test of the check, TAP: small jobs, and how they grow. */
#include "launcher/tree/host_tree.h"
#include "launcher/verdict/job_state.h"
#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/world/membership.h"
#include "tests/simulator/scale_net.h"
#include "tests/simulator/scale_sizes.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { FLAT, TREE, MODES };
static const char *const mode_names[MODES] = { "flat", "tree" };

/* CONNECT_AT_ONCE of launcher/connect/host_connect_impl.h. */
enum { AT_ONCE = 64, ENVIRONMENT = 6 * 1024 };

struct settings {
    double latency_ms, mbit, message_us, frame_us, connect_ms, connect_work_ms, spawn_ms;
    double heartbeat_timeout_ms;
    int width;
};

struct scale {
    const struct settings *settings;
    enum mode mode;
    int nhosts, local_size, nranks;
    struct scale_net net;
    struct scale_sizes sizes;
    struct job_state state;
    struct membership membership;
    struct rendezvous_slot *slots;
    int *asked;      /* by node: children to which hvdrun has asked it to connect */
    int *connecting; /* by node: children that it is connecting, or has connected */
    void (*on_arrived)(struct scale *scale, int node); /* what all are told comes to a node */
    size_t told;                                       /* its bytes */
    bool *knows;                                       /* by node: that the job has failed */
    int nknow;
    uint64_t last_ns; /* the last host has learnt it, or hvdrun the last thing */
};

/* Milliseconds. */
struct times {
    double start, join, death, agent, host, end;

    uint64_t root_messages;
};

static void scale_must(bool fine, const char *what)
{
    if (!fine)
        errx(1, "%s", what);
}

static void *scale_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    scale_must(memory, "out of memory");
    return memory;
}

static void note_time(struct scale *scale)
{
    scale->last_ns = scale->net.queue.now_ns;
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
static void tell_all(struct scale *scale, size_t nbytes,
                     void (*on_arrived)(struct scale *scale, int node))
{
    scale->on_arrived = on_arrived;
    scale->told =
        nbytes + (scale->mode == TREE ? sizeof(uint16_t) : 0); /* MULTICAST has the type */
    tell_children(scale, 0);
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
    note_time(scale);
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
        tell_all(scale, scale->sizes.start, on_start);
}

static void on_described(void *context, int node)
{
    struct scale *scale = context;
    for (int i = 0; i < AT_ONCE; i++)
        connect_next(scale, node);
    scale_net_send(&scale->net, node, 0, scale->sizes.ready, on_ready, scale);
}

static void on_nothing(void *context, int node)
{
    (void)context, (void)node;
}

/* The agent above sends what is the same for all hosts. */
static void on_describe(void *context, int node)
{
    struct connecting *connecting = context;
    struct scale *scale = connecting->scale;
    scale_net_send(&scale->net, node, connecting->child, scale->sizes.common, on_nothing, scale);
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
                   on_nothing, scale);
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

static double begin_phase(struct scale *scale)
{
    return (double)scale->net.queue.now_ns;
}

/* Milliseconds from the beginning of a phase to the last thing that was noted. */
static double end_phase(struct scale *scale, double began_ns)
{
    scale_net_run(&scale->net);
    return ((double)scale->last_ns - began_ns) / 1e6;
}

static double run_start(struct scale *scale)
{
    double began_ns = begin_phase(scale);
    for (int i = 0; i < AT_ONCE; i++)
        connect_next(scale, 0);
    double ms = end_phase(scale, began_ns);
    scale_must(scale->state.phase == JOB_RUNNING && scale->state.ranks_running == scale->nranks,
               "the job has not started");
    return ms;
}

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
    note_time(context);
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
                       scale->sizes.relay + scale->sizes.waiting, on_nothing, scale);
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

static double run_join(struct scale *scale)
{
    double began_ns = begin_phase(scale);
    for (int rank = 0; rank < scale->nranks; rank++) {
        struct rank_frame *frame = scale_alloc(1, sizeof *frame);
        *frame = (struct rank_frame){ scale, rank };
        scale_net_send(&scale->net, node_of(scale, rank), 0, scale->sizes.relay + scale->sizes.open,
                       on_open, frame);
    }
    double ms = end_phase(scale, began_ns);
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
    note_time(scale);
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
    tell_all(scale, scale->sizes.stop, know);
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
static double run_death(struct scale *scale)
{
    double began_ns = begin_phase(scale);
    know(scale, scale->nhosts);
    scale_net_send(&scale->net, scale->nhosts, 0, scale->sizes.exited, on_killed, scale);
    double ms = end_phase(scale, began_ns);
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

/* An agent sees the end of its link to the agent above, and passes it on by ending its own links. */
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
static double run_lost_host(struct scale *scale, double ms)
{
    struct event_queue *queue = &scale->net.queue;
    double began_ns = begin_phase(scale);
    uint64_t seen_ns = queue->now_ns + (uint64_t)(1e6 * (ms + scale->settings->latency_ms));
    int first, count = scale_net_children(&scale->net, 1, &first);
    scale->net.lost[1] = true;
    event_queue_add(queue, seen_ns, on_link_end, scale);
    for (int i = 0; i < count; i++) {
        struct orphaning *orphaning = scale_alloc(1, sizeof *orphaning);
        *orphaning = (struct orphaning){ scale, first + i };
        event_queue_add(queue, seen_ns, on_parent_silent, orphaning);
    }
    double took_ms = end_phase(scale, began_ns);
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
        note_time(scale);
}

/* All ranks end well at the same time. */
static double run_end(struct scale *scale)
{
    double began_ns = begin_phase(scale);
    const struct scale_sizes *sizes = &scale->sizes;
    for (int node = 1; node <= scale->nhosts; node++) {
        for (int i = 0; i < scale->local_size; i++) {
            struct rank_frame *frame = scale_alloc(1, sizeof *frame);
            *frame = (struct rank_frame){ scale, (node - 1) * scale->local_size + i };
            scale_net_send(&scale->net, node, 0, sizes->relay + sizes->goodbye, on_nothing, scale);
            scale_net_send(&scale->net, node, 0, sizes->exited, on_exited, frame);
        }
        scale_net_send(&scale->net, node, 0, sizes->done, on_done, scale);
    }
    double ms = end_phase(scale, began_ns);
    scale_must(scale->state.phase == JOB_FINISHED, "the job has not ended");
    return ms;
}

/* ---- a job ---- */

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

static void scale_init(struct scale *scale, const struct settings *settings, enum mode mode,
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

static void scale_fini(struct scale *scale)
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

enum scenario { DEATH, LOST_AGENT, LOST_HOST, END, SCENARIOS };

static double run_scenario(struct scale *scale, enum scenario scenario)
{
    switch (scenario) {
    case DEATH:
        return run_death(scale);
    case LOST_AGENT:
        return run_lost_host(scale, 0);
    case LOST_HOST:
        return run_lost_host(scale, scale->settings->heartbeat_timeout_ms);
    default:
        return run_end(scale);
    }
}

/* A job for each scenario: none goes on after one. */
static struct times measure(const struct settings *settings, enum mode mode, int nhosts,
                            int local_size)
{
    struct times times = { 0 };
    double *const of[SCENARIOS] = { &times.death, &times.agent, &times.host, &times.end };
    for (int scenario = 0; scenario < SCENARIOS; scenario++) {
        struct scale scale;
        scale_init(&scale, settings, mode, nhosts, local_size);
        times.start = run_start(&scale);
        times.join = run_join(&scale);
        *of[scenario] = run_scenario(&scale, (enum scenario)scenario);
        times.root_messages = scale.net.root_messages;
        scale_fini(&scale);
    }
    return times;
}

static void print_row(enum mode mode, int nhosts, int local_size, const struct times *times)
{
    printf("%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%llu\n", mode_names[mode], nhosts,
           local_size, times->start, times->join, times->death, times->agent, times->host,
           times->end, (unsigned long long)times->root_messages);
    fflush(stdout);
}

/* ---- the check ---- */

static int test_number, tests_failed;

static void tell(bool fine, const char *sentence)
{
    printf("%sok %d - %s\n", fine ? "" : "not ", ++test_number, sentence);
    tests_failed += !fine;
}

/* 64 times as many hosts are two and a half times as many levels. */
static int check(const struct settings *settings)
{
    static const int sizes[] = { 16, 1024 };
    struct settings narrow = *settings;
    struct times times[MODES][2];
    narrow.width = 4;
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < 2; i++)
            times[mode][i] = measure(&narrow, (enum mode)mode, sizes[i], 2);
    const struct times *tree = times[TREE], *flat = times[FLAT];
    tell(true, "flat and tree jobs start, meet, fail and end"); /* or scale_must() ends */
    tell(tree[1].start < 4 * tree[0].start, "the start of a tree grows with the levels");
    tell(flat[1].start > 10 * flat[0].start, "that of a flat job grows with the hosts");
    tell(tree[1].death < 4 * tree[0].death, "and so does the time until all know of a death");
    tell(flat[1].end > 10 * flat[0].end, "an end grows with the ranks");
    tell(tree[1].host >= narrow.heartbeat_timeout_ms,
         "a silent host is known after the heartbeat timeout");
    struct times one = measure(&narrow, FLAT, sizes[0], 1),
                 eight = measure(&narrow, FLAT, sizes[0], 8);
    tell(eight.root_messages <= one.root_messages + 1, /* the last rank need not wait */
         "a host takes as many messages, however many ranks it has");
    struct times again = measure(&narrow, TREE, sizes[0], 2);
    tell(memcmp(&again, &tree[0], sizeof again) == 0, "a job takes the same time each time");
    printf("1..%d\n", test_number);
    return tests_failed > 0;
}

static void __attribute__((noreturn)) usage(void)
{
    fputs("usage: scale [--latency-ms MS] [--mbit N] [--message-us US] [--frame-us US] "
          "[--connect-ms MS] [--width W] [HOSTS RANKS_PER_HOST]...\n",
          stderr);
    exit(2);
}

static double number(const char *text, double least, double most)
{
    char *end;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(value >= least && value <= most))
        usage();
    return value;
}

/* Returns the index of the first argument that is no option. */
static int read_options(struct settings *settings, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--latency-ms") == 0)
            settings->latency_ms = number(argv[i + 1], 0, 1000);
        else if (strcmp(argv[i], "--mbit") == 0)
            settings->mbit = number(argv[i + 1], 1, 1e6);
        else if (strcmp(argv[i], "--message-us") == 0)
            settings->message_us = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--frame-us") == 0)
            settings->frame_us = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--connect-ms") == 0)
            settings->connect_ms = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--width") == 0)
            settings->width = (int)number(argv[i + 1], 2, 1e6);
        else
            usage();
    }
    return i;
}

int main(int argc, char **argv)
{
    struct settings settings = { .latency_ms = 1,
                                 .mbit = 100,
                                 .message_us = 10,
                                 .frame_us = 5,
                                 .connect_ms = 200,
                                 .connect_work_ms = 2,
                                 .spawn_ms = 1,
                                 .heartbeat_timeout_ms = 5000,
                                 .width = HOST_TREE_WIDTH };
    int i = read_options(&settings, argc, argv);
    if (i == argc)
        return check(&settings);
    if ((argc - i) % 2 != 0)
        usage();
    puts("way\thosts\tranks_per_host\tstart_ms\tjoin_ms\tdeath_ms\tlost_agent_ms\tlost_host_ms\t"
         "end_ms\troot_messages");
    for (; i < argc; i += 2) {
        int nhosts = (int)number(argv[i], 1, 100000), each = (int)number(argv[i + 1], 1, 1000);
        for (int mode = 0; mode < MODES; mode++) {
            struct times times = measure(&settings, (enum mode)mode, nhosts, each);
            print_row((enum mode)mode, nhosts, each, &times);
        }
    }
    return 0;
}
