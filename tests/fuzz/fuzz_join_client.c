/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker reads from a rendezvous (lib/join/join_client.c), whose key may have been stolen:
 * bodies by themselves, and whole connections, sealed.
 *
 *   u8 < 128: which message, its body
 *   u8 >= 128: then frames, each u8 type, u8 how, bytes; "how" says whether its proof is right
 *
 * Whatever comes: what was accepted is what join_protocol.h says of it, and decodes to the same
 * when it is encoded again; nothing is accepted behind a proof that is wrong; the worker always
 * goes on. */
#include "lib/base/join_protocol.h"
#include "lib/base/text.h"
#include "lib/join/join_client.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void check_text(const char *text, size_t size)
{
    PROMISE(memchr(text, '\0', size) != NULL);
}

static void check_rank_info(const struct rank_info *rank_info)
{
    PROMISE(0 <= rank_info->rank && rank_info->rank < rank_info->size &&
            rank_info->size <= WORLD_SIZE_MAX);
    PROMISE(0 <= rank_info->local_rank && rank_info->local_rank < rank_info->local_size);
    PROMISE(0 <= rank_info->cross_rank && rank_info->cross_rank < rank_info->cross_size);
}

static void check_addresses(const struct join_addresses *addresses)
{
    PROMISE(0 <= addresses->count && addresses->count <= JOIN_ADDRESSES_MAX);
    for (int i = 0; i < addresses->count; i++)
        check_text(addresses->text[i], sizeof addresses->text[i]);
}

static void check_challenge(const struct join_challenge *challenge)
{
    PROMISE(challenge->version == JOIN_VERSION);
}

static void check_welcome(const struct join_welcome *welcome)
{
    check_rank_info(&welcome->rank_info);
    PROMISE(0 <= welcome->worker && welcome->worker <= WORKER_NUMBER_MAX);
    PROMISE(1 <= welcome->star && welcome->star <= welcome->rank_info.size);
    PROMISE(0 <= welcome->nneighbours && welcome->nneighbours <= NEIGHBOURS_MAX);
    for (int i = 0; i < welcome->nneighbours; i++) {
        const struct join_peer *peer = &welcome->neighbours[i];
        PROMISE(0 <= peer->rank && peer->rank < welcome->rank_info.size);
        PROMISE(peer->rank != welcome->rank_info.rank);
        check_text(peer->host, sizeof peer->host);
        check_addresses(&peer->addresses);
    }
}

static void check_refused(const struct join_refused *refused)
{
    PROMISE(refused->status < 0);
    check_text(refused->text, sizeof refused->text);
}

static void check_news(const struct rank_end *news)
{
    PROMISE(news->status < 0 && news->rank >= RANK_NONE && news->rank < WORLD_SIZE_MAX);
    PROMISE(news->because_of >= RANK_NONE && news->because_of < WORLD_SIZE_MAX);
    PROMISE(news->how.kind < RANK_END_KINDS);
    check_text(news->words, sizeof news->words);
}

static void check_waiting(const struct join_waiting *waiting)
{
    PROMISE(waiting->most_ms <= JOIN_WAITING_MAX_MS || waiting->most_ms == JOIN_WAITING_NO_LIMIT);
    check_text(waiting->text, sizeof waiting->text);
}

static void check_update(const struct join_update *update)
{
    PROMISE(1 <= update->hosts && update->hosts <= (JOIN_HOSTS_REMOVED | JOIN_HOSTS_ADDED));
}

static void check_ask(const struct join_ask *ask)
{
    PROMISE(1 <= ask->size && ask->size <= JOIN_REPORT_MAX);
}

#define AGAIN(message)                                                                             \
    static bool message##_again(struct wire_reader *reader, struct wire_writer *writer)            \
    {                                                                                              \
        struct join_##message decoded = { 0 };                                                     \
        if (join_##message##_decode(&decoded, reader, NULL) != HVD_OK)                             \
            return false;                                                                          \
        check_##message(&decoded);                                                                 \
        join_##message##_encode(writer, &decoded);                                                 \
        return true;                                                                               \
    }

AGAIN(challenge)
AGAIN(welcome)
AGAIN(refused)
AGAIN(ask)
AGAIN(waiting)
AGAIN(update)

static bool news_again(struct wire_reader *reader, struct wire_writer *writer)
{
    struct rank_end decoded = { 0 };
    if (join_news_decode(&decoded, reader, NULL) != HVD_OK)
        return false;
    check_news(&decoded);
    rank_end_encode(writer, &decoded);
    return true;
}

static fuzz_again_fn *const messages[] = { challenge_again, welcome_again, refused_again,
                                           news_again,      ask_again,     waiting_again,
                                           update_again };
enum { MESSAGES = sizeof messages / sizeof *messages };

/* ---- a connection ---- */

enum { PROOF_WRONG = 1, PROOF_MISSING = 2 };
enum { FRAMES_MAX = 256 }; /* which the socket takes in one piece */

/* One frame of the rendezvous. False if it must be the last that is looked at. */
static bool put_frame(struct seal *seal, struct fuzz_input *input, struct wire_writer *out)
{
    size_t length, begin = out->length;
    uint16_t type = fuzz_u8(input);
    int how = fuzz_u8(input) % 16; /* wrong ones are rare: nothing comes after them */
    uint8_t *payload = fuzz_bytes(input, &length);
    if (how == PROOF_MISSING)
        frame_put(out, type, payload, length);
    else
        seal_put(seal, out, type, payload, length);
    free(payload);
    if (how == PROOF_WRONG)
        out->data[begin + FRAME_HEADER_SIZE] ^= 1;
    return how != PROOF_MISSING && how != PROOF_WRONG;
}

/* Returns how many frames with a proof come before the first without. */
static int put_frames(struct seal *seal, struct fuzz_input *input, struct wire_writer *out)
{
    int good = 0;
    bool sound = true;
    for (int i = 0; i < FRAMES_MAX && input->left > 0; i++) {
        bool proved = put_frame(seal, input, out);
        sound = sound && proved;
        good += sound;
    }
    return good;
}

static int listen_to(struct join_connection *connection)
{
    struct join_welcome welcome = { 0 };
    struct join_message message;
    struct err err = { 0 };
    if (join_wait(connection, 0, &welcome, &err) != HVD_OK) {
        check_text(err.text, sizeof err.text);
        return 0;
    }
    check_welcome(&welcome);
    int accepted = 1;
    for (; join_receive(connection, &message, &err) > 0; accepted++) {
        if (message.type == JOIN_NEWS)
            check_news(&message.news);
        else if (message.type == JOIN_UPDATE)
            check_update(&message.update);
        else
            check_ask(&message.ask);
    }
    return accepted;
}

static void connect_and_listen(struct fuzz_input *input)
{
    static const struct job_key key = { "the key of each job" };
    static const unsigned char nonces[2][NONCE_SIZE];
    struct join_connection connection = { .server_name = "the launcher",
                                          .sending = PTHREAD_MUTEX_INITIALIZER };
    struct seal server;
    struct wire_writer out = { 0 };
    int pair[2];
    seal_init(&server, SEAL_SERVER, &key, nonces[0], nonces[1]);
    int good = put_frames(&server, input, &out);
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    PROMISE(send(pair[1], out.data, out.length, MSG_NOSIGNAL) == (ssize_t)out.length);
    close(pair[1]);
    wire_writer_fini(&out);

    connection.fd = pair[0];
    seal_init(&connection.seal, SEAL_CLIENT, &key, nonces[0], nonces[1]);
    frame_reader_init(&connection.reader, JOIN_RENDEZVOUS_MAX);
    PROMISE(listen_to(&connection) <= good);
    join_close(&connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    uint8_t what = fuzz_u8(&input);
    if (what < 128)
        fuzz_round_trip(messages[what % MESSAGES], input.at, input.left);
    else
        connect_and_listen(&input);
    return 0;
}
