/* SPDX-License-Identifier: Apache-2.0 */
/* Workers without a planned place: who is let in, which place each is given, and how those that
 * wait are told that it comes to nothing. */
#include "rendezvous/world/pending_workers.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS = 30000, NOW_MS = 5000 };

static struct pending_workers pending;
static struct err err;

/* --- memory: from a certain allocation on there is none --- */

static int allocations_left = -1; /* without end */
static size_t nbytes_asked;

static bool may_allocate(size_t nbytes)
{
    nbytes_asked += nbytes;
    if (allocations_left == 0)
        return false;
    allocations_left -= allocations_left > 0;
    return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return may_allocate(size) ? __real_malloc(size) : NULL;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate(count * size) ? __real_calloc(count, size) : NULL;
}

void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return may_allocate(count * size) ? __real_reallocarray(old, count, size) : NULL;
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return may_allocate(strlen(text) + 1) ? __real_strdup(text) : NULL;
}

/* --- pending workers --- */

static void open_pending_workers(void)
{
    allocations_left = -1;
    err = (struct err){ 0 };
    pending_workers_init(&pending, "train", 0, TIMEOUT_MS);
}

static void close_pending_workers(void)
{
    pending_workers_fini(&pending);
}

static int try_to_come(const char *host, int wanted, int size, int *worker)
{
    struct join_hello hello = {
        .rank = wanted, .size = size, .pid = 100 + pending.count, .processors = 3
    };
    snprintf(hello.host, sizeof hello.host, "%s", host);
    hello.addresses.count = 1;
    snprintf(hello.addresses.text[0], JOIN_ADDRESS_MAX, "192.0.2.1:%d", pending.count + 1);
    return pending_workers_join(&pending, &hello, &pending, NOW_MS, worker, &err);
}

/* From `host`, in a job of `size`; the pid is 100 for the first and so on. */
static int come(const char *host, int wanted, int size)
{
    int before = pending.count, worker = -1;
    int rc = try_to_come(host, wanted, size, &worker);
    ck_assert_int_eq(pending.count, before + (rc == HVD_OK));
    ck_assert_int_eq(worker, rc == HVD_OK ? before : -1);
    ck_assert_int_eq(err.code, rc);
    return rc;
}

/* "a b=2 a": from host a, from b wanting rank 2, from a. All are let in. */
static int come_all(const char *workers, int size)
{
    char copy[512], *rest;
    int count = 0;
    snprintf(copy, sizeof copy, "%s", workers);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *wanted = strchr(word, '=');
        if (wanted)
            *wanted++ = '\0';
        int rc = come(word, wanted ? atoi(wanted) : -1, size);
        ck_assert_msg(rc == HVD_OK, "%s: %s", workers, err.text);
        count++;
    }
    return count;
}

static int words_in(const char *text)
{
    int count = *text != '\0';
    for (; *text; text++)
        count += *text == ' ';
    return count;
}

/* --- coming --- */

START_TEST(a_new_job_waits_for_ever)
{
    ck_assert_int_eq(pending.state, PENDING_WORKERS_OPEN);
    ck_assert_int_eq(pending.size, 0);
    ck_assert(pending.deadline_ms == PENDING_WORKERS_NEVER);
    ck_assert_int_eq(pending_workers_find(&pending, 0), -1);
    pending_workers_tick(&pending, PENDING_WORKERS_NEVER - 1);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_OPEN);
}
END_TEST

START_TEST(the_first_says_the_size_and_starts_the_clock)
{
    ck_assert_int_eq(come("a", -1, 3), HVD_OK);
    ck_assert_int_eq(pending.size, 3);
    ck_assert_uint_eq(pending.deadline_ms, NOW_MS + TIMEOUT_MS);
    ck_assert_int_eq(come("a", -1, 3), HVD_OK);
    ck_assert_uint_eq(pending.deadline_ms, NOW_MS + TIMEOUT_MS);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_OPEN);
}
END_TEST

START_TEST(the_last_fills_it)
{
    come_all("a b=1 a", 3);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_FULL);
    ck_assert(pending.deadline_ms == PENDING_WORKERS_NEVER);
    pending_workers_tick(&pending, PENDING_WORKERS_NEVER - 1);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_FULL);
}
END_TEST

START_TEST(what_a_pending_worker_says_is_kept)
{
    come_all("a b=1", 3);
    const struct pending_worker *worker = &pending.workers[1];
    ck_assert_str_eq(worker->host, "b");
    ck_assert_int_eq(worker->wanted, 1);
    ck_assert_int_eq(worker->rank, -1);
    ck_assert_int_eq(worker->pid, 101);
    ck_assert_uint_eq(worker->came_ms, NOW_MS);
    ck_assert_str_eq(worker->addresses.text[0], "192.0.2.1:2");
    ck_assert_int_eq(worker->processors, 3);
    ck_assert_ptr_eq(worker->owner, &pending);
    ck_assert_int_eq(pending_workers_find(&pending, 1), 1);
    ck_assert_int_eq(pending_workers_find(&pending, 0), -1);
}
END_TEST

START_TEST(a_host_is_a_name_that_a_terminal_shows)
{
    come_all("a\x1b[2J\xff", 2);
    ck_assert_str_eq(pending.workers[0].host, "a?[2J?");
}
END_TEST

START_TEST(a_start_timeout_may_be_without_end)
{
    pending_workers_init(&pending, "train", 0, PENDING_WORKERS_NEVER);
    come_all("a", 2);
    ck_assert(pending.deadline_ms == PENDING_WORKERS_NEVER);
}
END_TEST

/* --- being refused --- */

static const struct {
    int declared;
    const char *workers; /* in a job of 4 */
    int wanted, size;    /* of the next one, from host c */
    const char *text;    /* NULL: welcome */
} newcomers[] = {
    { 0, "a b=2", -1, 4, NULL },
    { 0, "a b=2", 0, 4, NULL },
    { 4, "", -1, 4, NULL },
    { 4, "", -1, 8, "this worker says a size of 8, but job train has 4" },
    { 4, "", 4, 4, "there is no rank 4 in job train, which has 4" },
    { 0, "a", -1, 8, "this worker says a size of 8, but job train has 4" },
    { 0, "a", 5, 8, "this worker says a size of 8, but job train has 4" },
    { 0, "a", -1, 3, "this worker says a size of 3, but job train has 4" },
    { 0, "a b=2", 2, 4, "rank 2 of job train has been taken by a worker on b (pid 101)" },
    { 0, "a=0", 0, 4, "rank 0 of job train has been taken by a worker on a (pid 100)" },
    { 0, "a b a b", -1, 4, "job train has 4 of 4 workers already" },
    { 0, "a b a b", 2, 4, "job train has 4 of 4 workers already" },
    { 0, "a b a b", 2, 5, "job train has 4 of 4 workers already" },
};

START_TEST(who_does_not_fit_is_refused_with_the_reason)
{
    pending_workers_init(&pending, "train", newcomers[_i].declared, TIMEOUT_MS);
    come_all(newcomers[_i].workers, 4);
    enum pending_workers_state before = pending.state;
    int rc = come("c", newcomers[_i].wanted, newcomers[_i].size);
    ck_assert_int_eq(rc, newcomers[_i].text ? HVD_ERR_ENVIRONMENT : HVD_OK);
    if (newcomers[_i].text)
        ck_assert_str_eq(err.text, newcomers[_i].text);
    ck_assert_int_eq(pending.state, before);
    ck_assert_int_eq(pending.size, 4);
}
END_TEST

START_TEST(who_is_refused_first_does_not_start_the_clock)
{
    pending_workers_init(&pending, "train", 4, TIMEOUT_MS);
    ck_assert_int_lt(come("a", -1, 8), 0);
    ck_assert(pending.deadline_ms == PENDING_WORKERS_NEVER);
}
END_TEST

/* --- breaking --- */

START_TEST(who_breaks_off_breaks_it_for_all)
{
    bool said_goodbye = _i;
    come_all("a node1=2", 4);
    pending_workers_leave(&pending, 1, said_goodbye);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_BROKEN);
    ck_assert(pending.deadline_ms == PENDING_WORKERS_NEVER);
    ck_assert_int_eq(pending.cause.code, said_goodbye ? HVD_ERR_PEER_LEFT : HVD_ERR_PEER_LOST);
    ck_assert_str_eq(pending.cause.text,
                     said_goodbye ? "worker on node1 (pid 101) left before all had come"
                                  : "worker on node1 (pid 101) disconnected before all had come");
    ck_assert_int_eq(come("a", -1, 4), pending.cause.code);
    ck_assert_str_eq(err.text, pending.cause.text);
}
END_TEST

START_TEST(the_first_cause_is_kept)
{
    come_all("a b", 4);
    pending_workers_leave(&pending, 1, false);
    struct err cause = pending.cause;
    pending_workers_leave(&pending, 0, true);
    pending_workers_end(&pending, "was ended");
    pending_workers_tick(&pending, PENDING_WORKERS_NEVER - 1);
    ck_assert_mem_eq(&pending.cause, &cause, sizeof cause);
}
END_TEST

START_TEST(who_leaves_a_full_one_breaks_nothing)
{
    come_all("a b", 2);
    pending_workers_leave(&pending, 1, false);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_FULL);
}
END_TEST

START_TEST(somebody_in_charge_ends_it)
{
    come_all("a b", 2 + _i);
    pending_workers_end(&pending, "ended by\nthe owner");
    ck_assert_int_eq(pending.state, PENDING_WORKERS_BROKEN);
    ck_assert_int_eq(pending.cause.code, HVD_ERR_PEER_LOST);
    ck_assert_str_eq(pending.cause.text, "ended by?the owner");
}
END_TEST

#define NAME_50 "a-name-of-a-host-that-is-as-long-as-fifty-letters."
#define NAME_160 NAME_50 NAME_50 NAME_50 "1234567890"
#define NAME_80 NAME_50 "a-name-of-a-host-that-is-as-lo"

static const struct {
    const char *workers;
    int size;
    uint64_t timeout_ms;
    const char *text;
} timeouts[] = {
    { "a=0 b=1", 4, 30000, "ranks 2, 3 of 4 have not come within 30 s" },
    { "a=3", 4, 30000, "ranks 0-2 of 4 have not come within 30 s" },
    { "a=3 a=0 a=1", 4, 1500, "rank 2 of 4 has not come within 1500 ms" },
    { "a=1 a=3 a=4", 8, 30000, "ranks 0, 2, 5-7 of 8 have not come within 30 s" },
    { "a=5", 131072, 30000, "ranks 0-4, 6-131071 of 131072 have not come within 30 s" },
    { "node1 node2 node1", 4, 30000,
      "3 of 4 workers have come within 30 s: 2 from node1, 1 from node2" },
    { "b", 2, 30000, "1 of 2 workers has come within 30 s: 1 from b" },
    { "a=0 b", 4, 30000, "2 of 4 workers have come within 30 s: 1 from a, 1 from b" },
    { NAME_160, 4, 30000, "1 of 4 workers has come within 30 s: 1 from " NAME_80 },
    { "a " NAME_160 " another-host " NAME_160 "2 c", 9, 30000,
      "5 of 9 workers have come within 30 s: 1 from a, 1 from " NAME_80
      ", 1 from another-host and 2 from other hosts" },
    { "a b c d e f g h i j k l m n o p q r q", 20, 30000,
      "19 of 20 workers have come within 30 s: 1 from a, 1 from b, 1 from c, 1 from d, 1 from e, "
      "1 from f, 1 from g, 1 from h, 1 from i, 1 from j, 1 from k, 1 from l, 1 from m, 1 from n, "
      "1 from o, 1 from p and 3 from other hosts" },
};

START_TEST(a_timeout_tells_who_is_missing)
{
    pending_workers_init(&pending, "train", 0, timeouts[_i].timeout_ms);
    come_all(timeouts[_i].workers, timeouts[_i].size);
    pending_workers_tick(&pending, NOW_MS + timeouts[_i].timeout_ms - 1);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_OPEN);
    pending_workers_tick(&pending, NOW_MS + timeouts[_i].timeout_ms);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_BROKEN);
    ck_assert_int_eq(pending.cause.code, HVD_ERR_TIMEOUT);
    ck_assert_str_eq(pending.cause.text, timeouts[_i].text);
    ck_assert_int_eq(come("a", -1, timeouts[_i].size), HVD_ERR_TIMEOUT);
}
END_TEST

START_TEST(what_is_missing_is_one_line_however_much_it_is)
{
    static const char beginning[] = "ranks 1, 3, 5, 7, ";
    for (int rank = 0; rank < 4096; rank += 2)
        ck_assert_int_eq(come("a", rank, 4096), HVD_OK);
    pending_workers_tick(&pending, NOW_MS + TIMEOUT_MS);
    ck_assert_mem_eq(pending.cause.text, beginning, sizeof beginning - 1);
    ck_assert_ptr_nonnull(strstr(pending.cause.text, " others of 4096 have not come within 30 s"));
    ck_assert_uint_le(strlen(pending.cause.text), 250);
    ck_assert_uint_ge(strlen(pending.cause.text), 230);
}
END_TEST

/* --- places --- */

/* In order of rank: host and arrival, local rank and size, cross rank and size. */
static const struct {
    const char *workers, *places;
} assignments[] = {
    { "a", "a0:0/1:0/1" },
    { "a a", "a0:0/2:0/1 a1:1/2:0/1" },
    { "a a b b", "a0:0/2:0/2 a1:1/2:0/2 b2:0/2:1/2 b3:1/2:1/2" },
    { "a b a b", "a0:0/2:0/2 a2:1/2:0/2 b1:0/2:1/2 b3:1/2:1/2" },
    { "b a b", "b0:0/2:0/2 b2:1/2:0/1 a1:0/1:1/2" },
    { "a a a b c c", "a0:0/3:0/3 a1:1/3:0/2 a2:2/3:0/1 b3:0/1:1/3 c4:0/2:2/3 c5:1/2:1/2" },
    { "b a a", "b0:0/1:0/2 a1:0/2:1/2 a2:1/2:0/1" },
    { "a=0 b=1 a=2 b=3", "a0:0/2:0/2 b1:0/2:1/2 a2:1/2:0/2 b3:1/2:1/2" },
    { "a=3 a=2 b=1 b=0", "b3:0/2:0/2 b2:1/2:0/2 a1:0/2:1/2 a0:1/2:1/2" },
    { "a=2 b=0 b=1", "b1:0/2:0/2 b2:1/2:0/1 a0:0/1:1/2" },
    { "a b=0 a b", "b1:0/2:0/2 a0:0/2:1/2 a2:1/2:1/2 b3:1/2:0/2" },
    { "a a=0 b=1 b", "a1:0/2:0/2 b2:0/2:1/2 a0:1/2:0/2 b3:1/2:1/2" },
    { "c=2 b a", "b1:0/1:0/3 a2:0/1:1/3 c0:0/1:2/3" },
    { "A a", "A0:0/1:0/2 a1:0/1:1/2" },
};

START_TEST(places_go_by_wish_by_host_and_by_arrival)
{
    struct rendezvous_slot slots[8];
    char text[512] = "";
    int size = come_all(assignments[_i].workers, words_in(assignments[_i].workers));
    ck_assert_int_eq(pending_workers_assign(&pending, slots, &err), HVD_OK);
    for (int rank = 0; rank < size; rank++) {
        const struct rank_info *rank_info = &slots[rank].rank_info;
        int worker = 0;
        while (pending.workers[worker].rank != rank)
            worker++;
        ck_assert(rank_info->rank == rank && rank_info->size == size);
        ck_assert_str_eq(slots[rank].host, pending.workers[worker].host);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%d:%d/%d:%d/%d",
                 rank > 0 ? " " : "", slots[rank].host, worker, rank_info->local_rank,
                 rank_info->local_size, rank_info->cross_rank, rank_info->cross_size);
    }
    ck_assert_str_eq(text, assignments[_i].places);
}
END_TEST

/* --- the same, as the header says it, without a thought of how long it takes --- */

static int first_worker_of(const char *host)
{
    int worker = 0;
    while (strcmp(pending.workers[worker].host, host) != 0)
        worker++;
    return worker;
}

/* Whether free ranks are given to `a` before `b`. */
static bool is_before(int a, int b)
{
    int first_a = first_worker_of(pending.workers[a].host);
    int first_b = first_worker_of(pending.workers[b].host);
    return first_a < first_b || (first_a == first_b && a < b);
}

static bool is_wanted(int rank)
{
    for (int i = 0; i < pending.count; i++)
        if (pending.workers[i].wanted == rank)
            return true;
    return false;
}

static int naive_rank(int worker)
{
    int before = 0, rank = 0;
    if (pending.workers[worker].wanted >= 0)
        return pending.workers[worker].wanted;
    for (int i = 0; i < pending.count; i++)
        before += pending.workers[i].wanted < 0 && is_before(i, worker);
    for (; is_wanted(rank) || before > 0; rank++)
        before -= !is_wanted(rank);
    return rank;
}

static bool on_one_host(const struct rendezvous_slot *slots, int a, int b)
{
    return strcmp(slots[a].host, slots[b].host) == 0;
}

static int first_rank_of(const struct rendezvous_slot *slots, int of)
{
    int rank = 0;
    while (!on_one_host(slots, rank, of))
        rank++;
    return rank;
}

static struct rank_info naive_rank_info(const struct rendezvous_slot *slots, int rank)
{
    struct rank_info rank_info = { .rank = rank, .size = pending.size };
    for (int other = 0; other < pending.size; other++) {
        rank_info.local_size += on_one_host(slots, rank, other);
        rank_info.local_rank += other < rank && on_one_host(slots, rank, other);
    }
    for (int other = 0; other < pending.size; other++) {
        if (slots[other].rank_info.local_rank != rank_info.local_rank)
            continue;
        rank_info.cross_size++;
        rank_info.cross_rank += first_rank_of(slots, other) < first_rank_of(slots, rank);
    }
    return rank_info;
}

static unsigned dice(unsigned sides)
{
    static uint64_t state = 42;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % sides;
}

static void come_at_random(int size)
{
    int ranks[64], hosts = 1 + (int)dice(7);
    bool wishes = dice(3) > 0;
    for (int i = 0; i < size; i++) {
        int j = (int)dice((unsigned)i + 1);
        ranks[i] = ranks[j];
        ranks[j] = i;
    }
    for (int i = 0; i < size; i++) {
        char host[16];
        snprintf(host, sizeof host, "h%u", dice((unsigned)hosts));
        ck_assert_int_eq(come(host, wishes && dice(2) ? ranks[i] : -1, size), HVD_OK);
    }
}

START_TEST(any_world_is_given_ranks_as_the_rules_say)
{
    for (int round = 0; round < 300; round++) {
        struct rendezvous_slot slots[64];
        int size = 1 + (int)dice(40);
        open_pending_workers();
        come_at_random(size);
        ck_assert_int_eq(pending_workers_assign(&pending, slots, &err), HVD_OK);
        for (int i = 0; i < size; i++)
            ck_assert_int_eq(pending.workers[i].rank, naive_rank(i));
        for (int rank = 0; rank < size; rank++) {
            struct rank_info rank_info = naive_rank_info(slots, rank);
            ck_assert_mem_eq(&slots[rank].rank_info, &rank_info, sizeof rank_info);
        }
        pending_workers_fini(&pending);
    }
    open_pending_workers();
}
END_TEST

/* --- how large it gets --- */

/* Half of them want a rank, from the end; a host has seven. Returns how many were let in. */
static int crowd_in(int size)
{
    int worker, count = 0;
    for (int i = 0; i < size; i++) {
        char host[16];
        snprintf(host, sizeof host, "h%d", i / 7);
        count += try_to_come(host, i % 2 ? size - 1 - i : -1, size, &worker) == HVD_OK;
    }
    return count;
}

START_TEST(a_large_world_is_given_ranks)
{
    static const int sizes[] = { 4096, WORLD_SIZE_MAX };
    int size = sizes[_i], right = 0;
    struct rendezvous_slot *slots = calloc((size_t)size, sizeof *slots);
    ck_assert_int_eq(crowd_in(size), size);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_FULL);
    ck_assert_int_eq(pending_workers_assign(&pending, slots, &err), HVD_OK);
    for (int i = 0; i < size; i++)
        right +=
            slots[i].rank_info.rank == i && (i % 2 == 0 || pending.workers[i].rank == size - 1 - i);
    ck_assert_int_eq(right, size);
    free(slots);
}
END_TEST

START_TEST(a_large_size_alone_takes_no_memory)
{
    nbytes_asked = 0;
    ck_assert_int_eq(come("a", WORLD_SIZE_MAX - 1, WORLD_SIZE_MAX), HVD_OK);
    ck_assert_uint_lt(nbytes_asked, 16 * 1024);
}
END_TEST

/* With so many allocations left. Nothing has changed if they were too few. */
static int come_with(int allocations, int i)
{
    struct pending_workers before = pending;
    int worker;
    allocations_left = allocations;
    int rc = try_to_come(i % 3 ? "a" : "b", i % 2 ? 39 - i : -1, 40, &worker);
    allocations_left = -1;
    if (rc == HVD_OK)
        return rc;
    ck_assert_int_eq(rc, HVD_ERR_NOMEM);
    ck_assert(pending.count == before.count && pending.size == before.size);
    ck_assert(pending.state == PENDING_WORKERS_OPEN && pending.deadline_ms == before.deadline_ms);
    return rc;
}

static int assign_with(int allocations, struct rendezvous_slot *slots)
{
    allocations_left = allocations;
    int rc = pending_workers_assign(&pending, slots, &err);
    allocations_left = -1;
    ck_assert(rc == HVD_OK || rc == HVD_ERR_NOMEM);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_FULL);
    return rc;
}

START_TEST(who_finds_no_memory_can_come_again)
{
    struct rendezvous_slot slots[40];
    int allocations = 0;
    for (int i = 0; i < 40; i++, allocations = 0)
        while (come_with(allocations, i) != HVD_OK)
            allocations++;
    while (assign_with(allocations, slots) != HVD_OK)
        allocations++;
    ck_assert_int_gt(allocations, 0);
    for (int i = 1; i < 40; i += 2)
        ck_assert_int_eq(pending.workers[i].rank, 39 - i);
}
END_TEST

START_TEST(what_is_not_used_can_be_ended)
{
    pending_workers_fini(&pending);
    pending_workers_fini(&pending);
    ck_assert_int_eq(pending.state, PENDING_WORKERS_BROKEN);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

int main(void)
{
    Suite *suite = suite_create("pending workers");
    TCase *tcase = tcase_create("pending workers");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, open_pending_workers, close_pending_workers);
    tcase_add_test(tcase, a_new_job_waits_for_ever);
    tcase_add_test(tcase, the_first_says_the_size_and_starts_the_clock);
    tcase_add_test(tcase, the_last_fills_it);
    tcase_add_test(tcase, what_a_pending_worker_says_is_kept);
    tcase_add_test(tcase, a_host_is_a_name_that_a_terminal_shows);
    tcase_add_test(tcase, a_start_timeout_may_be_without_end);
    tcase_add_loop_test(tcase, who_does_not_fit_is_refused_with_the_reason, 0, ROWS(newcomers));
    tcase_add_test(tcase, who_is_refused_first_does_not_start_the_clock);
    tcase_add_loop_test(tcase, who_breaks_off_breaks_it_for_all, 0, 2);
    tcase_add_test(tcase, the_first_cause_is_kept);
    tcase_add_test(tcase, who_leaves_a_full_one_breaks_nothing);
    tcase_add_loop_test(tcase, somebody_in_charge_ends_it, 0, 2);
    tcase_add_loop_test(tcase, a_timeout_tells_who_is_missing, 0, ROWS(timeouts));
    tcase_add_test(tcase, what_is_missing_is_one_line_however_much_it_is);
    tcase_add_loop_test(tcase, places_go_by_wish_by_host_and_by_arrival, 0, ROWS(assignments));
    tcase_add_test(tcase, any_world_is_given_ranks_as_the_rules_say);
    tcase_add_loop_test(tcase, a_large_world_is_given_ranks, 0, 2);
    tcase_add_test(tcase, a_large_size_alone_takes_no_memory);
    tcase_add_test(tcase, who_finds_no_memory_can_come_again);
    tcase_add_test(tcase, what_is_not_used_can_be_ended);
    return unit_run(suite);
}
