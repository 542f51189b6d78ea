/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: whole worlds in one thread, whose ranks run the same random list of operations at
 * their own pace over links that move random pieces (the seed is printed); and single channels with
 * a peer that sends what it should not. */
#include "lib/collective/ring_schedule.h"
#include "lib/engine/channel.h"

#include "lib/collective/algorithm.h"
#include "tests/support/link_memory.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 8, OPERATIONS = 24, KINDS = 6, PATIENCE = 300 };

static uint64_t seed, random_state;
static struct err err;

static uint32_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static int random_less_than(int bound)
{
    return (int)(next_random() % (uint32_t)bound);
}

/* One operation of all ranks, on int32; Adasum on float32. */
struct job {
    enum operation_kind kind;
    size_t rows, row; /* of each rank's input */
    int root;
    int64_t splits[RANKS_MAX][RANKS_MAX]; /* alltoall: from, to; allgather: in each line */
};

struct rank {
    struct channel channels[RANKS_MAX];
    struct operation_store *store;
    struct operation_window window;
    int started;
    int32_t *inputs[OPERATIONS], *outputs[OPERATIONS];
    size_t counts[OPERATIONS]; /* of the outputs */
    struct operation_task tasks[OPERATIONS];
};

static int world_size;
static uint32_t first_number;
static bool shares; /* links accept offers */
static struct job jobs[OPERATIONS];
static struct rank ranks[RANKS_MAX];
static _Alignas(64) unsigned char staging[RANKS_MAX][WINDOW_SIZE][OPERATION_STAGING];

/* What rank `rank` puts in at `index`, of job `job`. The Adasum of equal vectors is the vector. */
static int32_t value_of(int job, int rank, size_t index)
{
    if (jobs[job].kind == OPERATION_ADASUM) {
        float value = (float)(job + (int)(index % 97));
        int32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    return (int32_t)((uint32_t)job * 1000003 + (uint32_t)rank * 7919 + (uint32_t)index * 31);
}

static int64_t rows_of(const struct job *job, int rank)
{
    if (job->kind == OPERATION_ALLGATHER)
        return job->splits[0][rank];
    int64_t rows = 0;
    for (int to = 0; to < world_size && job->kind == OPERATION_ALLTOALL; to++)
        rows += job->splits[rank][to];
    return job->kind == OPERATION_ALLTOALL ? rows : (int64_t)job->rows;
}

static void make_job(struct job *job, int rows_max)
{
    job->kind = (enum operation_kind)random_less_than(KINDS);
    job->rows = (size_t)random_less_than(rows_max + 1);
    job->row = (size_t)random_less_than(4);
    job->root = random_less_than(world_size);
    for (int from = 0; from < world_size; from++)
        for (int to = 0; to < world_size; to++)
            job->splits[from][to] = random_less_than(rows_max / world_size + 2);
    for (int from = 1; from < world_size && job->kind == OPERATION_ALLGATHER; from++)
        memcpy(job->splits[from], job->splits[0], sizeof job->splits[0]);
}

static void open_world(int size, size_t step, size_t capacity)
{
    world_size = size;
    for (int rank = 0; rank < size; rank++) {
        ranks[rank] = (struct rank){ .store = operation_store_create(),
                                     .window = { first_number, first_number, { NULL } } };
        for (int peer = 0; peer < rank; peer++) {
            struct link *ends[2];
            link_memory_pair(ends, step, capacity);
            link_memory_shake(ends[0], next_random());
            if (shares)
                link_memory_share(ends[0]);
            channel_init(&ranks[rank].channels[peer], ends[0], peer);
            channel_init(&ranks[peer].channels[rank], ends[1], rank);
        }
    }
}

static void close_world(void)
{
    for (int rank = 0; rank < world_size; rank++) {
        for (int peer = 0; peer < world_size; peer++)
            link_close(ranks[rank].channels[peer].link);
        for (int job = 0; job < OPERATIONS; job++) {
            free(ranks[rank].inputs[job]);
            free(ranks[rank].outputs[job]);
        }
        operation_store_destroy(ranks[rank].store);
    }
}

/* Of an alltoall: the numbers are as they must be. */
static void *place_rows(void *arg, const int64_t *rows)
{
    const struct operation_task *task = arg;
    struct rank *own = &ranks[task->rank];
    int number = (int)(task - own->tasks);
    size_t count = 0;
    for (int from = 0; from < world_size; from++) {
        ck_assert_int_eq(rows[from], jobs[number].splits[from][task->rank]);
        count += (size_t)rows[from] * jobs[number].row;
    }
    own->counts[number] = count;
    return own->outputs[number] = malloc(count * sizeof(int32_t));
}

static void make_memory(int rank, int number)
{
    const struct job *job = &jobs[number];
    struct rank *own = &ranks[rank];
    size_t count = (size_t)rows_of(job, rank) * job->row, output = count;
    own->inputs[number] = malloc(count * sizeof(int32_t));
    for (size_t i = 0; i < count; i++)
        own->inputs[number][i] = value_of(number, rank, i);
    if (job->kind == OPERATION_ALLTOALL)
        return;
    if (job->kind == OPERATION_REDUCESCATTER)
        output = chunk_count(job->rows, world_size, rank) * job->row;
    if (job->kind == OPERATION_ALLGATHER)
        output = 0;
    for (int from = 0; from < world_size && job->kind == OPERATION_ALLGATHER; from++)
        output += (size_t)job->splits[0][from] * job->row;
    own->counts[number] = output;
    own->outputs[number] = malloc(output * sizeof(int32_t));
    if (job->kind == OPERATION_BROADCAST)
        memcpy(own->outputs[number], own->inputs[number], count * sizeof(int32_t));
}

static void start_next(int rank)
{
    struct rank *own = &ranks[rank];
    int number = own->started++;
    const struct job *job = &jobs[number];
    make_memory(rank, number);
    own->tasks[number] = (struct operation_task){
        .kind = job->kind,
        .algorithm =
            (int)algorithm_choose(&(struct algorithm_case){ .kind = job->kind, .size = world_size },
                                  &algorithm_defaults, -1),
        .rank = rank,
        .size = world_size,
        .root = job->root,
        .dtype = job->kind == OPERATION_ADASUM ? HVD_FLOAT32 : HVD_INT32,
        .op = HVD_SUM,
        .input = own->inputs[number],
        .output = own->outputs[number],
        .count = job->rows * job->row,
        .row_count = job->row,
        .rows = (int64_t)job->rows,
        .splits = job->splits[rank],
        .staging = staging[rank][own->window.end % WINDOW_SIZE],
        .place = place_rows,
        .place_arg = &own->tasks[number],
    };
    struct operation *operation = operation_start(own->store, &own->tasks[number], &err);
    ck_assert_msg(operation, "%s", err.text);
    own->window.at[own->window.end++ % WINDOW_SIZE] = operation;
}

static bool finish_some(struct rank *own)
{
    struct operation_window *window = &own->window;
    bool finished = false;
    for (uint32_t n = window->first; n != window->end; n++) {
        struct operation **operation = &window->at[n % WINDOW_SIZE];
        if (!*operation || !(*operation)->type->done(*operation))
            continue;
        operation_fini(own->store, *operation);
        *operation = NULL;
        finished = true;
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
    return finished;
}

/* An assertion for each move would take most of the time. */
static bool move_rank(int rank)
{
    struct rank *own = &ranks[rank];
    bool moved = false;
    if (own->started < OPERATIONS && own->window.end - own->window.first < WINDOW_SIZE &&
        random_less_than(4) == 0) {
        start_next(rank);
        moved = true;
    }
    for (int peer = 0; peer < world_size; peer++) {
        if (peer == rank || random_less_than(3) == 0)
            continue;
        short events = channel_events(&own->channels[peer], &own->window);
        int rc = channel_move(&own->channels[peer], &own->window, &err);
        if (rc < 0)
            ck_abort_msg("rank %d, peer %d: %s", rank, peer, err.text);
        if (rc > 0 && events == 0)
            ck_abort_msg("rank %d did not wait for peer %d", rank, peer);
        moved |= rc;
    }
    return finish_some(own) || moved;
}

/* Everything is done, and nobody waits for more than the next frame. */
static void check_quiet(void)
{
    for (int rank = 0; rank < world_size; rank++) {
        ck_assert_msg(ranks[rank].window.first == ranks[rank].window.end &&
                          ranks[rank].started == OPERATIONS,
                      "rank %d of %d is stuck", rank, world_size);
        for (int peer = 0; peer < world_size; peer++) {
            const struct channel *channel = &ranks[rank].channels[peer];
            ck_assert(peer == rank || channel_is_flushed(channel));
            ck_assert(peer == rank || channel_events(channel, &ranks[rank].window) == POLLIN);
        }
    }
}

static int32_t expected_of(int number, int rank, size_t index)
{
    const struct job *job = &jobs[number];
    if (job->kind == OPERATION_BROADCAST)
        return value_of(number, job->root, index);
    if (job->kind == OPERATION_ADASUM)
        return value_of(number, rank, index);
    if (job->kind == OPERATION_REDUCESCATTER)
        index += chunk_start(job->rows, world_size, rank) * job->row;
    if (job->kind == OPERATION_ALLREDUCE || job->kind == OPERATION_REDUCESCATTER) {
        uint32_t sum = 0;
        for (int from = 0; from < world_size; from++)
            sum += (uint32_t)value_of(number, from, index);
        return (int32_t)sum;
    }
    bool gather = job->kind == OPERATION_ALLGATHER;
    for (int from = 0;; from++) {
        size_t count = (size_t)job->splits[gather ? 0 : from][gather ? from : rank] * job->row;
        if (index >= count) {
            index -= count;
            continue;
        }
        for (int to = 0; to < rank && !gather; to++)
            index += (size_t)job->splits[from][to] * job->row;
        return value_of(number, from, index);
    }
}

static void check_outputs(void)
{
    for (int rank = 0; rank < world_size; rank++)
        for (int job = 0; job < OPERATIONS; job++)
            for (size_t i = 0; i < ranks[rank].counts[job]; i++)
                if (ranks[rank].outputs[job][i] != expected_of(job, rank, i))
                    ck_abort_msg("kind %d: element %zu of rank %d of %d is wrong",
                                 (int)jobs[job].kind, i, rank, world_size);
}

static void run_world(int size, size_t step, size_t capacity, int rows_max)
{
    open_world(size, step, capacity);
    for (int i = 0; i < OPERATIONS; i++)
        make_job(&jobs[i], rows_max);
    for (int idle = 0; idle < PATIENCE;) {
        bool moved = false;
        for (int i = 0; i < size; i++)
            moved |= move_rank(random_less_than(size));
        idle = moved ? 0 : idle + 1;
    }
    check_quiet();
    check_outputs();
    close_world();
}

/* How links move: bytes per call, bytes that fit in one, rows at most. */
static const struct {
    size_t step, capacity;
    int rows_max;
} links[] = {
    { 1, 1, 5 },
    { 9, 20, 30 },
    { 100, 70, 300 },
    { 5000, 3000, 2000 },
    { 1 << 20, 1 << 20, 2000 },
    { 300000, 70000, 60000 },
};
enum { LINKS = sizeof links / sizeof *links };

START_TEST(operations_of_all_kinds_share_links)
{
    random_state = seed + (uint64_t)_i;
    for (int size = 2; size <= 5; size++)
        run_world(size, links[_i].step, links[_i].capacity, links[_i].rows_max);
}
END_TEST

START_TEST(what_is_large_is_fetched_from_where_it_lies)
{
    static const size_t steps[] = { 5000, 100000, 1 << 20 };
    random_state = seed + (uint64_t)_i;
    shares = true;
    for (int size = 2; size <= 5; size++)
        run_world(size, steps[_i], 30000, 60000);
    shares = false;
}
END_TEST

START_TEST(numbers_wrap_around)
{
    random_state = seed;
    first_number = UINT32_MAX - 10;
    for (int size = 2; size <= RANKS_MAX; size++)
        run_world(size, 100, 1000, 100);
}
END_TEST

/* A channel of rank 1 of 2, and the bare end of the link to its peer. */
static struct channel channel;
static struct operation_window window;
static struct operation_store *store;
static struct link *peer;
static unsigned char received[WINDOW_SIZE][8], sent[WINDOW_SIZE][8];

static void setup(void)
{
    struct link *ends[2];
    link_memory_pair(ends, 1 << 20, 1000);
    channel_init(&channel, ends[0], 0);
    peer = ends[1];
    store = operation_store_create();
    window = (struct operation_window){ .first = 7, .end = 7 };
    memset(received, 0, sizeof received);
    for (int i = 0; i < WINDOW_SIZE; i++)
        memcpy(sent[i], "abcdefgh", 8);
}

static void teardown(void)
{
    for (int i = 0; i < WINDOW_SIZE; i++)
        operation_fini(store, window.at[i]);
    operation_store_destroy(store);
    link_close(channel.link);
    link_close(peer);
}

/* Starts the next operation: a broadcast of `nbytes` to this rank, or from it. */
static void start_broadcast(int root, size_t nbytes)
{
    uint32_t place = window.end++ % WINDOW_SIZE;
    struct operation_task task = { .kind = OPERATION_BROADCAST,
                                   .rank = 1,
                                   .size = 2,
                                   .root = root,
                                   .dtype = HVD_UINT8,
                                   .output = root == 0 ? received[place] : sent[place],
                                   .count = nbytes };
    ck_assert_ptr_nonnull(window.at[place] = operation_start(store, &task, &err));
}

static void finish(uint32_t number)
{
    ck_assert(window.at[number % WINDOW_SIZE]->type->done(window.at[number % WINDOW_SIZE]));
    operation_fini(store, window.at[number % WINDOW_SIZE]);
    window.at[number % WINDOW_SIZE] = NULL;
}

static void peer_sends(const void *data, size_t nbytes)
{
    struct iovec part = { (void *)data, nbytes };
    ck_assert_int_eq(link_try_send(peer, &part, 1, &err), (ssize_t)nbytes);
}

static void peer_sends_frame(uint32_t number, uint32_t length, const char *data)
{
    unsigned char header[CHANNEL_HEADER];
    channel_header_encode(header, number, length);
    peer_sends(header, sizeof header);
    if (*data)
        peer_sends(data, strlen(data));
}

/* Until nothing moves. */
static int move(void)
{
    int rc;
    while ((rc = channel_move(&channel, &window, &err)) > 0)
        ;
    return rc;
}

START_TEST(frames_come_whole_and_in_pieces)
{
    unsigned char header[CHANNEL_HEADER];
    start_broadcast(0, 5);
    peer_sends_frame(7, 2, "ab");
    ck_assert_int_eq(move(), 0);
    channel_header_encode(header, 7, 3);
    peer_sends(header, 3);
    ck_assert_int_eq(move(), 0);
    peer_sends(header + 3, sizeof header - 3);
    ck_assert_int_eq(move(), 0);
    peer_sends("c", 1);
    ck_assert_int_eq(move(), 0);
    peer_sends("de", 2);
    ck_assert_int_eq(move(), 0);
    ck_assert_mem_eq(received[7 % WINDOW_SIZE], "abcde", 5);
    finish(7);
}
END_TEST

START_TEST(a_frame_waits_for_its_operation)
{
    start_broadcast(0, 1);
    peer_sends_frame(8, 2, "xy");
    peer_sends_frame(7, 1, "a");
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN);
    ck_assert_int_eq(move(), 0);
    ck_assert_int_eq(channel_events(&channel, &window), 0);
    start_broadcast(0, 2);
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN);
    ck_assert_int_eq(move(), 0);
    ck_assert_mem_eq(received[8 % WINDOW_SIZE], "xy", 2);
    finish(7);
    finish(8);
}
END_TEST

START_TEST(what_was_used_and_must_not_be_believed_spoils_its_operation)
{
    uint32_t place = window.end++ % WINDOW_SIZE;
    struct operation_task task = { .kind = OPERATION_ALLREDUCE,
                                   .rank = 1,
                                   .size = 2,
                                   .dtype = HVD_UINT8,
                                   .input = sent[place],
                                   .output = sent[place],
                                   .count = 8,
                                   .staging = staging[0][0] };
    ck_assert_ptr_nonnull(window.at[place] = operation_start(store, &task, &err));
    link_memory_share(peer);
    peer_sends_frame(7, 4, "abcd");
    link_memory_revoke(peer);
    ck_assert_int_eq(move(), HVD_ERR_PEER_LOST);
    ck_assert(window.at[place]->spoiled);
}
END_TEST

START_TEST(a_frame_far_ahead_waits_too)
{
    peer_sends_frame(7 + 1000000, 2, "xy");
    ck_assert_int_eq(move(), 0);
    ck_assert_int_eq(channel_events(&channel, &window), 0);
}
END_TEST

START_TEST(the_lowest_operation_sends_first_and_a_frame_is_not_interrupted)
{
    unsigned char bytes[100], expected[] = "........abc........ab";
    channel_header_encode(expected, 7, 3);
    channel_header_encode(expected + CHANNEL_HEADER + 3, 8, 2);
    start_broadcast(1, 3);
    start_broadcast(1, 2);
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN | POLLOUT);
    ck_assert_int_eq(move(), 0);
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN);
    ck_assert_int_eq(link_try_receive(peer, bytes, sizeof bytes, &err), 8 + 3 + 8 + 2);
    ck_assert_mem_eq(bytes, expected, 8 + 3 + 8 + 2);
    finish(7);
    finish(8);
}
END_TEST

START_TEST(a_frame_that_was_begun_is_to_be_flushed)
{
    struct link *ends[2];
    unsigned char bytes[100];
    link_close(channel.link);
    link_close(peer);
    link_memory_pair(ends, 100, 10);
    channel_init(&channel, ends[0], 0);
    peer = ends[1];
    start_broadcast(1, 8);
    ck_assert(channel_is_flushed(&channel));
    ck_assert_int_eq(move(), 0);
    ck_assert(!channel_is_flushed(&channel));
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN | POLLOUT);
    ck_assert_int_eq(link_try_receive(peer, bytes, sizeof bytes, &err), 10);
    ck_assert_int_eq(move(), 0);
    ck_assert(channel_is_flushed(&channel));
    ck_assert_int_eq(link_try_receive(peer, bytes + 10, sizeof bytes - 10, &err), 6);
    ck_assert_mem_eq(bytes + 8, "abcdefgh", 8);
    finish(7);
}
END_TEST

START_TEST(a_frame_that_could_not_be_begun_is_not)
{
    unsigned char waste[1000] = { 0 };
    struct iovec full = { waste, sizeof waste };
    ck_assert_int_eq(link_try_send(channel.link, &full, 1, &err), sizeof waste);
    start_broadcast(1, 8);
    ck_assert_int_eq(move(), 0);
    ck_assert(channel_is_flushed(&channel));
    ck_assert_int_eq(channel_events(&channel, &window), POLLIN | POLLOUT);
}
END_TEST

/* Operation 7 takes 4 bytes, 8 is done, 9 takes none. */
static const struct {
    uint32_t number, length;
    const char *data, *text;
} hostile[] = {
    { 7, 0, "", "operation 7: a frame of 0 bytes" },
    { 7, CHANNEL_FRAME_MAX + 1, "a", "operation 7: a frame of 524289 bytes" },
    { 7, (1 << CHANNEL_LENGTH_BITS) - 1, "abcd", "operation 7: a frame of 1048575 bytes" },
    { 7, 5, "abcde", "operation 7 is done, and 1 more bytes came" },
    { 8, 1, "a", "operation 8 is done, and 1 more bytes came" },
    { 6, 1, "a", "operation 6 is done, and 1 more bytes came" },
    { 4293967303, 1, "a", "operation 4293967303 is done, and 1 more bytes came" },
    { 9, 1, "a", "operation 9 is done, and 1 more bytes came" },
};

START_TEST(hostile_frames_are_refused)
{
    start_broadcast(0, 4);
    start_broadcast(0, 0);
    start_broadcast(0, 0);
    finish(8);
    peer_sends_frame(hostile[_i].number, hostile[_i].length, hostile[_i].data);
    ck_assert_int_eq(move(), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, hostile[_i].text);
}
END_TEST

START_TEST(a_header_of_which_any_bit_was_changed_is_refused)
{
    for (size_t bit = 0; bit < 8 * CHANNEL_HEADER; bit++) {
        unsigned char header[CHANNEL_HEADER];
        teardown();
        setup();
        start_broadcast(0, 4);
        channel_header_encode(header, 7, 4);
        header[bit / 8] ^= (unsigned char)(1u << bit % 8);
        peer_sends(header, sizeof header);
        ck_assert_int_eq(move(), HVD_ERR_PROTOCOL);
        ck_assert_str_eq(err.text, "the header of a frame has been changed on the way");
    }
}
END_TEST

START_TEST(what_an_operation_does_not_accept_is_an_error)
{
    static const int64_t splits[] = { 0, 0 };
    struct operation_task task = { .kind = OPERATION_ALLTOALL,
                                   .algorithm = ALGORITHM_PAIRWISE,
                                   .rank = 1,
                                   .size = 2,
                                   .dtype = HVD_UINT8,
                                   .row_count = 1,
                                   .splits = splits };
    window.at[window.end++ % WINDOW_SIZE] = operation_start(store, &task, &err);
    peer_sends_frame(7, 8, "\377\377\377\377\377\377\377\377");
    ck_assert_int_eq(move(), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "alltoall: rank 0 sends -1 rows of 1 bytes");
}
END_TEST

/* Else it would look again and again until somebody else tells. */
START_TEST(an_offer_that_nobody_will_take_is_known_to_who_waits_with_a_frame)
{
    static unsigned char large[2 * CHANNEL_OFFER_LEAST];
    struct operation_task task = { .kind = OPERATION_BROADCAST,
                                   .rank = 1,
                                   .size = 2,
                                   .root = 1,
                                   .dtype = HVD_UINT8,
                                   .output = large,
                                   .count = sizeof large };
    link_memory_share(peer);
    window.at[window.end++ % WINDOW_SIZE] = operation_start(store, &task, &err);
    peer_sends_frame(8, 2, "xy");
    ck_assert_int_eq(move(), 0);
    ck_assert_int_eq(channel_events(&channel, &window), POLLOUT);
    link_memory_cut(peer);
    ck_assert_int_eq(move(), HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(what_was_taken_before_the_link_ended_has_arrived)
{
    static unsigned char large[2 * CHANNEL_OFFER_LEAST];
    struct operation_task task = { .kind = OPERATION_BROADCAST,
                                   .rank = 1,
                                   .size = 2,
                                   .root = 1,
                                   .dtype = HVD_UINT8,
                                   .output = large,
                                   .count = sizeof large };
    link_memory_share(peer);
    struct operation *operation = operation_start(store, &task, &err);
    window.at[window.end++ % WINDOW_SIZE] = operation;
    while (move() > 0)
        ;
    ck_assert(!operation->type->done(operation));
    link_memory_take_and_leave(peer);
    ck_assert_int_eq(move(), HVD_ERR_PEER_LOST);
    ck_assert(operation->type->done(operation));
}
END_TEST

START_TEST(a_link_that_ends_is_a_lost_peer)
{
    start_broadcast(0, 4);
    peer_sends_frame(7, 4, "ab");
    ck_assert_int_eq(move(), 0);
    link_memory_cut(peer);
    ck_assert_int_eq(move(), HVD_ERR_PEER_LOST);
}
END_TEST

static void choose_seed(void)
{
    const char *given = getenv("CHANNEL_TEST_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("# CHANNEL_TEST_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}

int main(void)
{
    choose_seed();
    Suite *suite = suite_create("channel");
    TCase *worlds = tcase_create("worlds"), *single = tcase_create("single");
    suite_add_tcase(suite, worlds);
    tcase_set_timeout(worlds, 120);
    tcase_add_loop_test(worlds, operations_of_all_kinds_share_links, 0, LINKS);
    tcase_add_loop_test(worlds, what_is_large_is_fetched_from_where_it_lies, 0, 3);
    tcase_add_test(worlds, numbers_wrap_around);
    suite_add_tcase(suite, single);
    tcase_add_checked_fixture(single, setup, teardown);
    tcase_add_test(single, frames_come_whole_and_in_pieces);
    tcase_add_test(single, a_frame_waits_for_its_operation);
    tcase_add_test(single, a_frame_far_ahead_waits_too);
    tcase_add_test(single, what_was_used_and_must_not_be_believed_spoils_its_operation);
    tcase_add_test(single, the_lowest_operation_sends_first_and_a_frame_is_not_interrupted);
    tcase_add_test(single, a_frame_that_was_begun_is_to_be_flushed);
    tcase_add_test(single, a_frame_that_could_not_be_begun_is_not);
    tcase_add_loop_test(single, hostile_frames_are_refused, 0, sizeof hostile / sizeof *hostile);
    tcase_add_test(single, a_header_of_which_any_bit_was_changed_is_refused);
    tcase_add_test(single, what_an_operation_does_not_accept_is_an_error);
    tcase_add_test(single, an_offer_that_nobody_will_take_is_known_to_who_waits_with_a_frame);
    tcase_add_test(single, what_was_taken_before_the_link_ended_has_arrived);
    tcase_add_test(single, a_link_that_ends_is_a_lost_peer);
    return unit_run(suite);
}
