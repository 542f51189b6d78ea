/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that dial a rendezvous: their connections (join_session.h), and the lobby behind them.
 *
 *   u8 odd: bytes of somebody without a key, u8 size of the pieces they come in
 *   u8 even: u8 size that was declared, then workers, each u8 how, and what its HELLO says:
 *     how % 4 = 0: i8 rank, u8 size, host; otherwise bytes; how & 64: a bit of the frame is wrong;
 *     how & 128: the lobby's time is over
 *
 * Whatever comes: without the key nobody says anything, and in whatever pieces the bytes come the
 * reply is the same; a HELLO with a wrong bit is none; a full lobby gives each worker one place,
 * those that were asked for, and the others as lobby.h says. */
#include "lib/base/join_protocol.h"
#include "rendezvous/join/join_session.h"
#include "rendezvous/world/pending_workers.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUESTS_MAX = 64, START_TIMEOUT_MS = 1000 };

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

static struct talk hear_stranger(struct fuzz_input input, size_t piece)
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

static void stranger(struct fuzz_input *input)
{
    size_t piece = 1 + fuzz_u8(input) % 64U;
    struct talk whole = hear_stranger(*input, SIZE_MAX), pieces = hear_stranger(*input, piece);
    PROMISE(whole.status == pieces.status && whole.out.length == pieces.out.length);
    PROMISE(whole.out.length == 0 ||
            memcmp(whole.out.data, pieces.out.data, whole.out.length) == 0);
    wire_writer_fini(&whole.out);
    wire_writer_fini(&pieces.out);
}

/* ---- with it ---- */

static void open_sealed(struct join_session *session, struct seal *seal)
{
    struct join_open open = { .version = JOIN_VERSION, .job = "job" };
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

/* ---- what a full lobby has given ---- */

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
    const struct place *place = &slots[rank].place;
    int cross_rank = 0, cross_size = 0;
    for (int other = 0; other < size; other++) {
        if (on_host(slots, other, other) != place->local_rank)
            continue; /* not the one with this local rank on its host */
        cross_size++;
        cross_rank += first_rank(slots, other) < first_rank(slots, rank);
    }
    PROMISE(place->rank == rank && place->size == size);
    PROMISE(place->local_rank == on_host(slots, rank, rank));
    PROMISE(place->local_size == on_host(slots, rank, size));
    PROMISE(place->cross_rank == cross_rank && place->cross_size == cross_size);
}

static int first_guest(const struct lobby *lobby, int guest)
{
    int first = 0;
    while (strcmp(lobby->guests[first].host, lobby->guests[guest].host) != 0)
        first++;
    return first;
}

/* Whether `a`, who wished for nothing, is given a place before `b`. */
static bool goes_first(const struct lobby *lobby, int a, int b)
{
    int host_a = first_guest(lobby, a), host_b = first_guest(lobby, b);
    return host_a != host_b ? host_a < host_b : a < b;
}

static void check_guests(const struct lobby *lobby, const struct rendezvous_slot *slots)
{
    bool taken[256] = { 0 };
    for (int i = 0; i < lobby->count; i++) {
        const struct lobby_guest *guest = &lobby->guests[i];
        PROMISE(0 <= guest->rank && guest->rank < lobby->size && !taken[guest->rank]);
        PROMISE(guest->wanted == -1 || guest->wanted == guest->rank);
        PROMISE(strcmp(slots[guest->rank].host, guest->host) == 0);
        taken[guest->rank] = true;
        for (int other = 0; other < i; other++)
            PROMISE(guest->wanted != -1 || lobby->guests[other].wanted != -1 ||
                    goes_first(lobby, other, i) == (lobby->guests[other].rank < guest->rank));
    }
}

static void check_full(struct lobby *lobby)
{
    struct rendezvous_slot slots[GUESTS_MAX];
    PROMISE(lobby->count == lobby->size && lobby->size <= GUESTS_MAX);
    PROMISE(lobby_seat(lobby, slots, NULL) == HVD_OK);
    for (int rank = 0; rank < lobby->size; rank++)
        check_place(slots, lobby->size, rank);
    check_guests(lobby, slots);
}

/* ---- the lobby ---- */

static void come(struct lobby *lobby, const struct join_hello *hello, uint64_t now_ms)
{
    struct err err = { 0 };
    int guest = -1, count = lobby->count;
    bool open = lobby->state == LOBBY_OPEN;
    int rc = lobby_join(lobby, hello, NULL, now_ms, &guest, &err);
    PROMISE(rc == HVD_OK || (rc < 0 && *err.text && lobby->count == count));
    if (rc != HVD_OK)
        return;
    PROMISE(open && guest == count && lobby->count == count + 1);
    PROMISE(lobby->size == hello->size && lobby->count <= lobby->size);
    PROMISE((lobby->state == LOBBY_FULL) == (lobby->count == lobby->size));
}

static void go_wrong(struct fuzz_input *input, struct lobby *lobby, uint64_t now_ms)
{
    int what = fuzz_u8(input);
    if (lobby->state != LOBBY_OPEN)
        return;
    if (what % 2 == 0 && lobby->count > 0)
        lobby_leave(lobby, what / 2 % lobby->count, what & 128);
    else
        lobby_tick(lobby, now_ms + (uint64_t)what * 10);
    PROMISE(lobby->state != LOBBY_BROKEN || (lobby->cause.code < 0 && *lobby->cause.text));
}

static void workers(struct fuzz_input *input)
{
    struct lobby lobby;
    struct join_hello hello;
    uint64_t now_ms = 1;
    lobby_init(&lobby, "job", fuzz_u8(input) % GUESTS_MAX, START_TIMEOUT_MS);
    for (int i = 0; i < GUESTS_MAX && input->left > 0; i++, now_ms++) {
        int how = fuzz_u8(input);
        if (how & 128)
            go_wrong(input, &lobby, now_ms);
        if (say_hello(input, how, &hello))
            come(&lobby, &hello, now_ms);
        if (lobby.state == LOBBY_FULL)
            check_full(&lobby);
    }
    lobby_fini(&lobby);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    if (fuzz_u8(&input) % 2)
        stranger(&input);
    else
        workers(&input);
    return 0;
}
