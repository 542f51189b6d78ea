/* SPDX-License-Identifier: Apache-2.0 */
/* The world, its steps, and the progress engine of a rank; see replay.h. */
#include "bench/prediction/replay_impl.h"

#include "lib/base/min.h"
#include "lib/collective/piece.h"

#include <err.h>
#include <stdlib.h>
#include <sys/mman.h>

void replay_must(int rc, const struct err *err)
{
    if (rc < 0)
        errx(1, "the library failed: %s", err->text);
}

void *replay_alloc(size_t nbytes)
{
    void *memory = calloc(1, nbytes);
    if (!memory)
        errx(1, "out of memory for %zu bytes", nbytes);
    return memory;
}

/* ---- a rank's progress engine ---- */

struct replay_frame *frame_list_take(struct frame_list *list)
{
    struct replay_frame *frame = list->first;
    if (frame && !(list->first = frame->next))
        list->last = NULL;
    return frame;
}

void frame_list_add(struct frame_list *list, struct replay_frame *frame)
{
    frame->next = NULL;
    if (list->last)
        list->last->next = frame;
    else
        list->first = frame;
    list->last = frame;
}

static void on_frame_delivered(void *arg)
{
    struct replay_frame *frame = arg;
    struct replay_rank *to = frame->to;
    frame_list_add(frame->kind == REPLAY_DATA ? &to->data : &to->agreement, frame);
    replay_rank_wake(to);
}

double replay_send(struct replay_frame *frame)
{
    struct cluster *cluster = &frame->from->replay->cluster;
    const struct link_speed *link = cluster_link(cluster, frame->from->host, frame->to->host);
    frame->packet.from_host = frame->from->host;
    frame->packet.to_host = frame->to->host;
    frame->packet.deliver = on_frame_delivered;
    frame->packet.arg = frame;
    frame_list_add(&frame->from->leaving, frame);
    return link->per_call + link->per_byte * (double)frame->packet.nbytes;
}

/* The order is that of set_move() (lib/engine/set.c); receiving and sending data take turns. */
static double replay_rank_work(struct replay_rank *rank)
{
    double ns = replay_agree(rank);
    if (ns < 0)
        ns = replay_start_batch(rank);
    for (int i = 0; i < 2 && ns < 0; i++) {
        rank->has_received = !rank->has_received;
        ns = rank->has_received ? replay_receive_data(rank) : replay_send_data(rank);
    }
    return ns;
}

static void rank_begin_work(struct replay_rank *rank);

static void on_work_done(void *arg)
{
    struct replay_rank *rank = arg;
    struct replay_frame *frame;
    while ((frame = frame_list_take(&rank->leaving)))
        cluster_send(&rank->replay->cluster, &frame->packet);
    replay_finish_operations(rank);
    rank_begin_work(rank);
}

static void rank_begin_work(struct replay_rank *rank)
{
    struct replay *replay = rank->replay;
    double ns = replay_rank_work(rank);
    rank->busy = ns >= 0;
    if (!rank->busy)
        return;
    ns += rank->extra_ns;
    rank->extra_ns = 0;
    event_queue_add(&replay->queue, cluster_work(&replay->cluster, rank->host, ns), on_work_done,
                    rank);
}

void replay_rank_wake(struct replay_rank *rank)
{
    if (!rank->busy)
        rank_begin_work(rank);
}

/* ---- a step ---- */

static void rank_end_step(struct replay_rank *rank)
{
    if (rank->tensors_left == 0 && rank->has_computed)
        rank->ended_ns = rank->replay->queue.now_ns + (uint64_t)rank->extra_ns;
}

void replay_tensors_done(struct replay_rank *rank, int count)
{
    rank->tensors_left -= count;
    rank_end_step(rank);
}

static void submit(struct replay_rank *rank, const struct replay_tensor *tensor)
{
    static const unsigned char zeros[INLINE_MAX];
    struct offer offer = { .name = tensor->name, .owner = rank };
    struct err err;
    description_init(&offer.description, COLLECTIVE_ALLREDUCE);
    offer.description.dtype = HVD_FLOAT32;
    offer.description.op = HVD_AVERAGE;
    offer.description.prescale = offer.description.postscale = 1;
    offer.description.shape = (struct shape){ 1, { (int64_t)tensor->count } };
    offer.complete = negotiation_is_inline(rank->negotiation, &offer.description);
    if (offer.complete) {
        offer.data = zeros;
        offer.nbytes = tensor->count * sizeof(float);
    }
    replay_must(negotiation_submit(rank->negotiation, &offer, rank->replay->queue.now_ns, &err),
                &err);
}

static void on_submission(void *arg)
{
    const struct submission *submission = arg;
    struct replay_rank *rank = submission->rank;
    if (submission->tensor) {
        submit(rank, submission->tensor);
        replay_rank_wake(rank);
        return;
    }
    rank->has_computed = true;
    rank_end_step(rank);
}

/* All tensors of all ranks share one memory, which is not touched, so it takes none. */
static void replay_reserve(struct replay *replay, size_t count)
{
    size_t nbytes = count * sizeof(float) + FUSION_BUFFER_MAX + OPERATION_STAGING;
    if (nbytes <= replay->memory_size)
        return;
    if (replay->memory)
        munmap(replay->memory, replay->memory_size);
    replay->memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (replay->memory == MAP_FAILED)
        err(1, "cannot reserve %zu bytes", nbytes);
    replay->memory_size = nbytes;
}

/* A sum of twelve uniform numbers, which is nearly normal: mean 0, standard deviation 1. */
static double replay_normal(struct replay *replay)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        replay->random = replay->random * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(replay->random >> 11) / (double)(1ull << 53);
    }
    return sum - 6;
}

static void rank_begin_step(struct replay_rank *rank, const struct replay_tensor *tensors,
                            int count, double compute_ns, struct submission *submissions)
{
    struct event_queue *queue = &rank->replay->queue;
    double spread = rank->replay->options.spread;
    double factor = spread > 0 ? 1 + spread * replay_normal(rank->replay) : 1;
    uint64_t began_ns = queue->now_ns;
    rank->tensors_left = count;
    rank->has_computed = false;
    for (int i = 0; i < count; i++) {
        submissions[i] = (struct submission){ rank, &tensors[i] };
        event_queue_add(queue, began_ns + (uint64_t)(factor * tensors[i].ready_ns), on_submission,
                        &submissions[i]);
    }
    submissions[count] = (struct submission){ rank, NULL };
    event_queue_add(queue, began_ns + (uint64_t)(factor * compute_ns), on_submission,
                    &submissions[count]);
}

static uint64_t replay_end_ns(const struct replay *replay)
{
    uint64_t end_ns = 0;
    for (int i = 0; i < replay->options.ranks; i++) {
        const struct replay_rank *rank = &replay->ranks[i];
        if (rank->tensors_left > 0 || !rank->has_computed)
            errx(1, "rank %d waits for %d tensors forever", i, rank->tensors_left);
        end_ns = rank->ended_ns > end_ns ? rank->ended_ns : end_ns;
    }
    return end_ns;
}

void replay_run(struct replay *replay, const struct replay_tensor *tensors, int count,
                double compute_ns, bool dry, struct replay_step *step)
{
    size_t most = 0, each = (size_t)count + 1;
    uint64_t sent = replay->cluster.bytes_between_hosts, began_ns = replay->queue.now_ns;
    for (int i = 0; i < count; i++)
        most = tensors[i].count > most ? tensors[i].count : most;
    replay_reserve(replay, most);
    replay->dry = dry;
    replay->step = (struct replay_step){ 0 };
    replay->submissions =
        replay_alloc((size_t)replay->options.ranks * each * sizeof *replay->submissions);
    for (int i = 0; i < replay->options.ranks; i++)
        rank_begin_step(&replay->ranks[i], tensors, count, compute_ns,
                        replay->submissions + (size_t)i * each);
    while (event_queue_run_next(&replay->queue))
        ;
    free(replay->submissions);
    *step = replay->step;
    step->ns = (double)(replay_end_ns(replay) - began_ns);
    step->host_bytes = replay->cluster.bytes_between_hosts - sent;
}

double replay_allreduce_ns(struct replay *replay, size_t count)
{
    struct description description;
    uint64_t began_ns = replay->queue.now_ns;
    description_init(&description, COLLECTIVE_ALLREDUCE);
    replay_reserve(replay, count);
    struct algorithm_choice choice = replay_choose(
        replay, &(struct negotiation_work){
                    .first = &description, .count = 1, .nbytes = count * sizeof(float) });
    for (int i = 0; i < replay->options.ranks; i++) {
        replay->ranks[i].tensors_left = 1;
        replay->ranks[i].has_computed = true;
        replay_queue(&replay->ranks[i], choice, count, 1);
    }
    for (int i = 0; i < replay->options.ranks; i++)
        replay_rank_wake(&replay->ranks[i]);
    while (event_queue_run_next(&replay->queue))
        ;
    return (double)(replay_end_ns(replay) - began_ns);
}

/* ---- the world ---- */

struct algorithm_choice replay_choose(void *arg, const struct negotiation_work *work)
{
    const struct replay *replay = arg;
    const struct algorithm_case what = { .kind = description_operation(work->first),
                                         .nbytes = work->nbytes,
                                         .size = replay->options.ranks,
                                         .hosts = replay->placing->nhosts,
                                         .slots = replay->placing->slots,
                                         .anywhere = true,
                                         .processors = replay->options.speed.processors };
    struct algorithm_thresholds thresholds = algorithm_defaults_for(what.size);
    const struct piece_case pieces = { .ranks = what.size };
    return (struct algorithm_choice){
        algorithm_choose(&what, &thresholds, replay->options.algorithm), piece_choose(&pieces)
    };
}

static int *replay_hosts(const struct replay_options *options)
{
    int *hosts = replay_alloc((size_t)options->ranks * sizeof *hosts);
    for (int i = 0; i < options->ranks; i++)
        hosts[i] = i / options->ranks_per_host;
    return hosts;
}

static int index_in_parent(const struct tree_position *parent, int rank)
{
    int index = 0;
    while (parent->children[index] != rank)
        index++;
    return index;
}

static void rank_init(struct replay *replay, int number, const int *hosts,
                      const struct negotiation_settings *settings, const int *numbers)
{
    int size = replay->options.ranks;
    struct replay_rank *rank = &replay->ranks[number];
    struct err err;
    *rank = (struct replay_rank){ .replay = replay, .number = number, .host = hosts[number] };
    rank->queue_end = &rank->queue;
    rank->in_flight = replay->in_flight + (size_t)number * (size_t)size;
    tree_position(&rank->tree, number, size, settings->star);
    if (number > 0)
        rank->child_index = index_in_parent(&replay->ranks[rank->tree.parent].tree, number);
    rank->negotiation = negotiation_create(number, size, numbers, settings, &err);
    if (!rank->negotiation)
        errx(1, "%s", err.text);
    negotiation_choose_with(rank->negotiation, replay_choose, replay);
}

static void rank_fini(struct replay_rank *rank)
{
    negotiation_destroy(rank->negotiation);
    for (int i = 0; i < WINDOW_SIZE; i++)
        free(rank->slots[i].peers);
}

static void replay_make_ranks(struct replay *replay, const int *hosts)
{
    const struct replay_options *options = &replay->options;
    int processors = options->speed.processors;
    bool crowded = processors > 0 && processors < replay->placing->slots;
    const struct negotiation_settings settings = {
        .fusion = { .together = size_min(options->fusion_threshold, FUSION_BUFFER_MAX),
                    .each = replay->placing->nhosts == 1 ? FUSED_MAX_ON_ONE_HOST : FUSED_MAX },
        .inline_max = INLINE_MAX,
        .cache_capacity = 1024,
        .group_fusion = true,
        .star = crowded ? tree_star(hosts, options->ranks) : 1,
    };
    int *numbers = replay_alloc((size_t)options->ranks * sizeof *numbers);
    for (int i = 0; i < options->ranks; i++)
        numbers[i] = i;
    for (int i = 0; i < options->ranks; i++)
        rank_init(replay, i, hosts, &settings, numbers);
    free(numbers);
}

struct replay *replay_create(const struct replay_options *options)
{
    size_t size = (size_t)options->ranks;
    struct replay *replay = replay_alloc(sizeof *replay);
    int *hosts = replay_hosts(options);
    replay->options = *options;
    replay->placing = placing_create(hosts, options->ranks, options->ranks);
    replay->store = operation_store_create();
    if (!replay->placing || !replay->store)
        errx(1, "out of memory for %d ranks", options->ranks);
    cluster_init(&replay->cluster, &replay->queue, replay->placing->nhosts, &options->speed);
    replay->ranks = replay_alloc(size * sizeof *replay->ranks);
    replay->in_flight = replay_alloc(size * size * sizeof *replay->in_flight);
    replay_make_ranks(replay, hosts);
    free(hosts);
    return replay;
}

void replay_destroy(struct replay *replay)
{
    if (!replay)
        return;
    for (int i = 0; i < replay->options.ranks; i++)
        rank_fini(&replay->ranks[i]);
    if (replay->memory)
        munmap(replay->memory, replay->memory_size);
    event_queue_fini(&replay->queue);
    cluster_fini(&replay->cluster);
    placing_destroy(replay->placing);
    operation_store_destroy(replay->store);
    free(replay->in_flight);
    free(replay->ranks);
    free(replay);
}
