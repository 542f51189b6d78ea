/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that dial a rendezvous: their connections (join_session.h), and the pending workers
 * behind them.
 *
 *   u8 odd: bytes of somebody without a key, u8 size of the pieces they come in
 *   u8 even: u8 size that was declared, then workers, each u8 how, and what its HELLO says:
 *     how % 4 = 0: i8 rank, u8 size, host; otherwise bytes; how & 64: a bit of the frame is wrong;
 *     how & 128: the start timeout is over
 *
 * Whatever comes: without the key nobody says anything, and in whatever pieces the bytes come the
 * reply is the same; a HELLO with a wrong bit is none; once all have come each worker has one
 * place, those that were asked for, and the others as pending_workers.h says. */
#include "lib/base/join_protocol.h"
#include "rendezvous/join/join_session.h"
#include "rendezvous/world/pending_workers.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 64, START_TIMEOUT_MS = 1000 };

static const struct keyring keyring = { .key = { "the key of the job" }, .job = "job" };

/* Bytes in, and what they led to. */
struct talk {
    struct wire_writer out;
    int events, status;
    struct join_event event; /* the last */
};

static void hear(struct join_session *session, const void *data, size_t length, size_t piece,
                 struct talk *talk)
{
    const char *at = data;
    for (size_t size; length > 0 && talk->status >= 0; at += size, length -= size) {
        size = join_session_take(session, at, length < piece ? length : piece);
        PROMISE(size > 0);
        while ((talk->status = join_session_next(session, &talk->event, &talk->out, NULL)) > 0)
            talk->events++;
    }
}

/* ---- without the key ---- */

static struct talk hear_unauthenticated(struct fuzz_input input, size_t piece)
{
    struct join_session session;
    struct talk talk = { 0 };
    fuzz_begin(NULL, 0); /* the same nonce */
    join_session_init(&session, &keyring);
    hear(&session, input.at, input.left, piece, &talk);
    PROMISE(talk.events == 0);
    PROMISE(talk.out.length <= 1024);
    PROMISE(session.reader.capacity <= 128 * 1024);
    join_session_fini(&session);
    return talk;
}

static void unauthenticated(struct fuzz_input *input)
{
    size_t piece = 1 + fuzz_u8(input) % 64U;
    struct talk whole = hear_unauthenticated(*input, SIZE_MAX),
                pieces = hear_unauthenticated(*input, piece);
    PROMISE(whole.status == pieces.status && whole.out.length == pieces.out.length);
    PROMISE(whole.out.length == 0 ||
            memcmp(whole.out.data, pieces.out.data, whole.out.length) == 0);
    wire_writer_fini(&whole.out);
    wire_writer_fini(&pieces.out);
}

/* ---- with it ---- */

static void open_sealed(struct join_session *session, struct seal *seal)
{
    struct join_open open = { .version = JOIN_VERSION, .owner = "job" };
    struct join_challenge challenge;
    struct wire_writer body = { 0 }, frame = { 0 };
    struct talk talk = { 0 };
    struct wire_reader reader;
    nonce_generate(open.nonce);
    join_open_encode(&body, &open);
    frame_put(&frame, JOIN_OPEN, body.data, body.length);
    hear(session, frame.data, frame.length, SIZE_MAX, &talk);
    PROMISE(talk.status == 0 && talk.out.length > FRAME_HEADER_SIZE);
    wire_reader_init(&reader, talk.out.data + FRAME_HEADER_SIZE,
                     talk.out.length - FRAME_HEADER_SIZE);
    PROMISE(join_challenge_decode(&challenge, &reader, NULL) == HVD_OK);
    seal_init(seal, SEAL_CLIENT, &keyring.key, open.nonce, challenge.nonce);
    wire_writer_fini(&body);
    wire_writer_fini(&frame);
    wire_writer_fini(&talk.out);
}

static void draw_hello(struct fuzz_input *input, int how, struct wire_writer *payload)
{
    if (how % 4 == 0) {
        struct join_hello hello = { .rank = (int8_t)fuzz_u8(input), .size = fuzz_u8(input) };
        fuzz_text(input, hello.host, sizeof hello.host);
        join_hello_encode(payload, &hello);
        return;
    }
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    wire_put_bytes(payload, bytes, length);
    free(bytes);
}

/* A connection that says what is drawn; true if that is a HELLO. */
static bool say_hello(struct fuzz_input *input, int how, struct join_hello *hello)
{
    struct join_session session;
    struct seal seal;
    struct wire_writer payload = { 0 }, frame = { 0 };
    struct talk talk = { 0 };
    join_session_init(&session, &keyring);
    open_sealed(&session, &seal);
    draw_hello(input, how, &payload);
    seal_put(&seal, &frame, JOIN_HELLO, payload.data, payload.length);
    bool wrong = how & 64;
    if (wrong)
        frame.data[FRAME_HEADER_SIZE + fuzz_u8(input) % (frame.length - FRAME_HEADER_SIZE)] ^= 1;
    hear(&session, frame.data, frame.length, 1 + (size_t)how, &talk);
    PROMISE(!wrong || talk.status < 0);
    bool said = talk.events == 1 && talk.event.type == JOIN_HELLO;
    PROMISE(talk.events == said);
    if (said)
        *hello = talk.event.hello;
    join_session_fini(&session);
    wire_writer_fini(&payload);
    wire_writer_fini(&frame);
    wire_writer_fini(&talk.out);
    return said;
}

/* ---- what pending workers are given once all have come ---- */

static bool same_host(const struct rendezvous_slot *a, const struct rendezvous_slot *b)
{
    return strcmp(a->host, b->host) == 0;
}

static int first_rank(const struct rendezvous_slot *slots, int rank)
{
    int first = 0;
    while (!same_host(&slots[first], &slots[rank]))
        first++;
    return first;
}

static int on_host(const struct rendezvous_slot *slots, int rank, int end)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += same_host(&slots[i], &slots[rank]);
    return count;
}

static void check_place(const struct rendezvous_slot *slots, int size, int rank)
{
    const struct rank_info *rank_info = &slots[rank].rank_info;
    int cross_rank = 0, cross_size = 0;
    for (int other = 0; other < size; other++) {
        if (on_host(slots, other, other) != rank_info->local_rank)
            continue; /* not the one with this local rank on its host */
        cross_size++;
        cross_rank += first_rank(slots, other) < first_rank(slots, rank);
    }
    PROMISE(rank_info->rank == rank && rank_info->size == size);
    PROMISE(rank_info->local_rank == on_host(slots, rank, rank));
    PROMISE(rank_info->local_size == on_host(slots, rank, size));
    PROMISE(rank_info->cross_rank == cross_rank && rank_info->cross_size == cross_size);
}

static int first_worker(const struct pending_workers *pending, int worker)
{
    int first = 0;
    while (strcmp(pending->workers[first].host, pending->workers[worker].host) != 0)
        first++;
    return first;
}

/* Whether `a`, who wished for nothing, is given a place before `b`. */
static bool goes_first(const struct pending_workers *pending, int a, int b)
{
    int host_a = first_worker(pending, a), host_b = first_worker(pending, b);
    return host_a != host_b ? host_a < host_b : a < b;
}

static void check_pending_workers(const struct pending_workers *pending,
                                  const struct rendezvous_slot *slots)
{
    bool taken[256] = { 0 };
    for (int i = 0; i < pending->count; i++) {
        const struct pending_worker *worker = &pending->workers[i];
        PROMISE(0 <= worker->rank && worker->rank < pending->size && !taken[worker->rank]);
        PROMISE(worker->wanted == -1 || worker->wanted == worker->rank);
        PROMISE(strcmp(slots[worker->rank].host, worker->host) == 0);
        taken[worker->rank] = true;
        for (int other = 0; other < i; other++)
            PROMISE(worker->wanted != -1 || pending->workers[other].wanted != -1 ||
                    goes_first(pending, other, i) == (pending->workers[other].rank < worker->rank));
    }
}

static void check_full(struct pending_workers *pending)
{
    struct rendezvous_slot slots[WORKERS_MAX];
    PROMISE(pending->count == pending->size && pending->size <= WORKERS_MAX);
    PROMISE(pending_workers_assign(pending, slots, NULL) == HVD_OK);
    for (int rank = 0; rank < pending->size; rank++)
        check_place(slots, pending->size, rank);
    check_pending_workers(pending, slots);
}

/* ---- pending workers ---- */

static void come(struct pending_workers *pending, const struct join_hello *hello, uint64_t now_ms)
{
    struct err err = { 0 };
    int worker = -1, count = pending->count;
    bool open = pending->state == PENDING_WORKERS_OPEN;
    int rc = pending_workers_join(pending, hello, NULL, now_ms, &worker, &err);
    PROMISE(rc == HVD_OK || (rc < 0 && *err.text && pending->count == count));
    if (rc != HVD_OK)
        return;
    PROMISE(open && worker == count && pending->count == count + 1);
    PROMISE(pending->size == hello->size && pending->count <= pending->size);
    PROMISE((pending->state == PENDING_WORKERS_FULL) == (pending->count == pending->size));
}

static void go_wrong(struct fuzz_input *input, struct pending_workers *pending, uint64_t now_ms)
{
    int what = fuzz_u8(input);
    if (pending->state != PENDING_WORKERS_OPEN)
        return;
    if (what % 2 == 0 && pending->count > 0)
        pending_workers_leave(pending, what / 2 % pending->count, what & 128);
    else
        pending_workers_tick(pending, now_ms + (uint64_t)what * 10);
    PROMISE(pending->state != PENDING_WORKERS_BROKEN ||
            (pending->cause.code < 0 && *pending->cause.text));
}

static void workers(struct fuzz_input *input)
{
    struct pending_workers pending;
    struct join_hello hello;
    uint64_t now_ms = 1;
    pending_workers_init(&pending, "job", fuzz_u8(input) % WORKERS_MAX, START_TIMEOUT_MS);
    for (int i = 0; i < WORKERS_MAX && input->left > 0; i++, now_ms++) {
        int how = fuzz_u8(input);
        if (how & 128)
            go_wrong(input, &pending, now_ms);
        if (say_hello(input, how, &hello) && hello.size > 0) /* others are for elastic jobs */
            come(&pending, &hello, now_ms);
        if (pending.state == PENDING_WORKERS_FULL)
            check_full(&pending);
    }
    pending_workers_fini(&pending);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    if (fuzz_u8(&input) % 2)
        unauthenticated(&input);
    else
        workers(&input);
    return 0;
}
