/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes that send each other messages of random sizes by all ways at once, sleep and spin,
 * and are killed at random moments. SHM_SEED=N does again what a failure has printed. */
#include "lib/link/link_shm.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err err;

static struct link *link_here;
static pid_t child;

static void teardown(void)
{
    kill(child, SIGKILL);
    link_close(link_here);
}

enum { SLICES = 64, SLICE = 128 * 1024, VECTORS = SLICES * SLICE, MESSAGES = 3000, KILLS = 30 };

/* What a side sends: messages of random sizes by random ways, each from a slice of its own, which
 * is used again when it was taken. */
struct talk {
    struct link *link;
    uint64_t seed, offered;
    int sent, received; /* messages */
    size_t done_out, done_in;
    unsigned char *vectors[2]; /* private, of the heap */
    uint64_t until[2][SLICES]; /* bytes that must have been taken before it is used again */
    int used[2];
    unsigned char *expected, *space;
};

struct message {
    uint64_t seed;
    size_t size;
    int way; /* 0 copied, 1 offered */
    int vector;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static struct message message_of(uint64_t seed, int number)
{
    static const size_t scales[] = { 8, 8, 100, 100, 5000, 40000, SLICE - 1 };
    uint64_t random = mix(seed + (uint64_t)number * 0x9e3779b97f4a7c15u);
    struct message message = { random, 1 + (random >> 8) % scales[random % 7], 0, 0 };
    message.way = random >> 40 & 1;
    message.vector = random >> 41 & 1;
    if (message.way)
        message.size = SLICE - (random >> 48) % 3 * 20000;
    return message;
}

static void fill(unsigned char *data, const struct message *message)
{
    uint64_t word = message->seed;
    for (size_t i = 0; i < message->size; i += 8) {
        size_t left = message->size - i;
        word = word * 6364136223846793005u + 1442695040888963407u;
        memcpy(data + i, &word, left < 8 ? left : 8);
    }
}

/* Moves some of the next message. 1 if anything moved, 0, or a status. */
static int talk_send(struct talk *talk)
{
    struct message message = message_of(talk->seed, talk->sent);
    int *used = &talk->used[message.vector], slice = *used % SLICES;
    unsigned char *data = talk->vectors[message.vector] + (size_t)slice * SLICE;
    uint64_t *until = &talk->until[message.vector][slice];
    if (talk->done_out == 0 && *until > link_taken(talk->link))
        return 0;
    if (talk->done_out == 0)
        fill(data, &message);
    size_t left = message.size - talk->done_out;
    ssize_t now = message.way ? link_offer(talk->link, data + talk->done_out, left, &err) : 0;
    if (now > 0)
        *until = talk->offered += (uint64_t)now;
    struct iovec parts[] = { { data + talk->done_out, left / 3 },
                             { data + talk->done_out + left / 3, left - left / 3 } };
    if (now == 0)
        now = link_try_send(talk->link, parts, 2, &err);
    if (now <= 0)
        return (int)now;
    talk->done_out += (size_t)now;
    if (talk->done_out < message.size)
        return 1;
    talk->done_out = 0;
    talk->sent++;
    (*used)++;
    return 1;
}

/* Some bytes, by one way or the other. */
static ssize_t receive(struct link *link, unsigned char *to, size_t size, bool looks)
{
    size_t there;
    const void *piece = looks ? link_peek(link, &there) : NULL;
    if (!piece)
        return link_try_receive(link, to, size, &err);
    size = there < size ? there : size;
    memcpy(to, piece, size);
    int rc = link_consume(link, size, &err);
    return rc < 0 ? rc : (ssize_t)size;
}

static int talk_receive(struct talk *talk)
{
    struct message message = message_of(~talk->seed, talk->received);
    size_t left = message.size - talk->done_in;
    ssize_t now = receive(talk->link, talk->space + talk->done_in, left, message.seed >> 50 & 1);
    if (now <= 0)
        return (int)now;
    talk->done_in += (size_t)now;
    if (talk->done_in < message.size)
        return 1;
    fill(talk->expected, &message);
    if (memcmp(talk->expected, talk->space, message.size) != 0) {
        snprintf(err.text, sizeof err.text, "message %d is another", talk->received);
        return HVD_ERR_PROTOCOL;
    }
    talk->done_in = 0;
    talk->received++;
    return 1;
}

/* Until `messages` went each way, and what was offered was taken; or a status. */
static int talk_all(struct talk *talk, int messages)
{
    uint64_t looks = 0;
    while (talk->sent < messages || talk->received < messages ||
           link_taken(talk->link) < talk->offered) {
        int sent = talk->sent < messages ? talk_send(talk) : 0;
        int received = talk->received < messages && sent >= 0 ? talk_receive(talk) : 0;
        if (sent < 0 || received < 0)
            return sent < 0 ? sent : received;
        looks = sent || received ? 0 : looks + 1;
        bool is_out = talk->sent < messages || link_taken(talk->link) < talk->offered;
        if (looks > mix(talk->seed + (uint64_t)talk->received) % 50)
            shm_wait(talk->link,
                     (short)((talk->received < messages ? POLLIN : 0) | (is_out ? POLLOUT : 0)));
    }
    return HVD_OK;
}

static void talk_init(struct talk *talk, struct link *link, uint64_t own_seed, unsigned char *heap)
{
    *talk = (struct talk){ .link = link, .seed = own_seed };
    talk->vectors[0] = malloc(VECTORS);
    talk->vectors[1] = heap;
    talk->expected = malloc(SLICE);
    talk->space = malloc(SLICE);
}

static void talk_fini(struct talk *talk)
{
    free(talk->vectors[0]);
    free(talk->expected);
    free(talk->space);
}

static uint64_t seed;

static void talk_in_child(struct link *link, void *messages)
{
    struct talk talk;
    talk_init(&talk, link, ~seed, shm_heap_alloc(VECTORS));
    int rc = talk_all(&talk, *(int *)messages);
    if (rc < 0 && rc != HVD_ERR_PEER_LOST)
        fprintf(stderr, "# child, seed %llu: %s\n", (unsigned long long)seed, err.text);
    link_close(link);
}

static void choose_seed(void)
{
    struct timespec now;
    const char *given = getenv("SHM_SEED");
    clock_gettime(CLOCK_REALTIME, &now);
    seed =
        given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec;
    printf("# SHM_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
}

/* By ordinary stores and by stores that bypass the caches. */
START_TEST(many_messages_of_all_kinds_arrive)
{
    shm_pair_streams = _i;
    struct talk talk;
    int messages = MESSAGES;
    unsigned char *heap = shm_heap_alloc(VECTORS);
    choose_seed();
    child = shm_pair_fork(&link_here, talk_in_child, &messages);
    talk_init(&talk, link_here, seed, heap);
    ck_assert_msg(talk_all(&talk, messages) == HVD_OK, "seed %llu, after %d and %d: %s",
                  (unsigned long long)seed, talk.sent, talk.received, err.text);
    char byte;
    ck_assert_int_eq(shm_receive_all(link_here, &byte, 1, &err), HVD_ERR_PEER_LOST);
    talk_fini(&talk);
}
END_TEST

/* Every message that arrives is right, and the last thing that is heard is that it is lost. */
START_TEST(a_process_that_is_killed_at_any_moment_is_lost)
{
    shm_pair_streams = _i;
    int endless = INT32_MAX;
    unsigned char *heap = shm_heap_alloc(VECTORS);
    choose_seed();
    for (int i = 0; i < KILLS; i++) {
        struct talk talk;
        seed++;
        child = shm_pair_fork(&link_here, talk_in_child, &endless);
        talk_init(&talk, link_here, seed, heap);
        int before = (int)(mix(seed) % 40), rc = talk_all(&talk, before);
        ck_assert_msg(rc == HVD_OK, "seed %llu: %s", (unsigned long long)seed, err.text);
        kill(child, SIGKILL);
        rc = talk_all(&talk, endless);
        ck_assert_msg(rc == HVD_ERR_PEER_LOST, "seed %llu: %d", (unsigned long long)seed, rc);
        waitpid(child, NULL, 0);
        link_close(link_here);
        link_here = NULL;
        talk_fini(&talk);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm_stress");
    TCase *tcase = tcase_create("link_shm_stress");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, many_messages_of_all_kinds_arrive, 0, 2);
    tcase_add_loop_test(tcase, a_process_that_is_killed_at_any_moment_is_lost, 0, 2);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
