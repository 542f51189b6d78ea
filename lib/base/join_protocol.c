/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the join messages; see join_protocol.h. A message with a text that is longer than
 * its buffer is refused. */
#include "lib/base/join_protocol.h"

#include "lib/base/text.h"

#include <string.h>

/* A neighbour takes 4 bytes for its rank, 4 and its host, 1 and its addresses, 4 more for each
 * address, and its key. */
_Static_assert(PROOF_SIZE + 6 * 4 + 1 + 4 + 4 + 4 + CERTIFICATE_SIZE + CERTIFIER_KEY_SIZE + 1 +
                       NEIGHBOURS_MAX *
                           (4 + 4 + JOIN_HOST_MAX + 1 +
                            JOIN_ADDRESSES_MAX * (4 + JOIN_ADDRESS_MAX) + RANK_KEY_SIZE) <=
                   JOIN_RENDEZVOUS_MAX,
               "the longest WELCOME is accepted");

static int decoded(const struct wire_reader *reader, bool valid, const char *name, struct err *err)
{
    if (reader->failed || (valid && !wire_reader_finished(reader)))
        return fail(err, HVD_ERR_PROTOCOL, "%s: too short, too long, or a text that does not fit",
                    name);
    if (!valid)
        return fail(err, HVD_ERR_PROTOCOL, "%s: a value out of range", name);
    return HVD_OK;
}

/* Statuses with which a rank or its world ends. Those below HVD_ERR_FORKED are answers to a
 * program, and end nothing. */
static bool is_failure(int status)
{
    return status <= HVD_ERR_INVALID && status >= HVD_ERR_FORKED;
}

static bool rank_valid(int rank, int size)
{
    return size >= 1 && size <= WORLD_SIZE_MAX && rank >= 0 && rank < size;
}

/* The version of another protocol is reported even if the rest of its message is unknown. */
static int check_version(uint16_t version, struct err *err)
{
    if (version == JOIN_VERSION)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL,
                "the other side speaks version %u of the join protocol, this one %d", version,
                JOIN_VERSION);
}

/* Nonces, keys and certificates. */
static void copy_bytes(unsigned char *bytes, size_t length, struct wire_reader *reader)
{
    const void *from = wire_get_bytes(reader, length);
    if (from)
        memcpy(bytes, from, length);
}

void join_open_encode(struct wire_writer *writer, const struct join_open *message)
{
    wire_put_u16(writer, message->version);
    wire_put_bytes(writer, message->nonce, NONCE_SIZE);
    wire_put_string(writer, message->owner);
}

int join_open_decode(struct join_open *message, struct wire_reader *reader, struct err *err)
{
    message->version = wire_get_u16(reader);
    copy_bytes(message->nonce, NONCE_SIZE, reader);
    if (!reader->failed && message->version != JOIN_VERSION)
        return check_version(message->version, err);
    wire_get_string(reader, message->owner, sizeof message->owner);
    struct key_owner parsed;
    bool valid =
        !reader->failed && key_owner_parse(&parsed, message->owner, strlen(message->owner));
    return decoded(reader, reader->failed || valid, "OPEN", err);
}

void join_challenge_encode(struct wire_writer *writer, const struct join_challenge *message)
{
    wire_put_u16(writer, message->version);
    wire_put_bytes(writer, message->nonce, NONCE_SIZE);
}

int join_challenge_decode(struct join_challenge *message, struct wire_reader *reader,
                          struct err *err)
{
    message->version = wire_get_u16(reader);
    copy_bytes(message->nonce, NONCE_SIZE, reader);
    if (!reader->failed && message->version != JOIN_VERSION)
        return check_version(message->version, err);
    return decoded(reader, true, "CHALLENGE", err);
}

void join_addresses_encode(struct wire_writer *writer, const struct join_addresses *addresses)
{
    wire_put_u8(writer, (uint8_t)addresses->count);
    for (int i = 0; i < addresses->count; i++)
        wire_put_string(writer, addresses->text[i]);
}

void join_addresses_decode(struct join_addresses *addresses, struct wire_reader *reader)
{
    int count = wire_get_u8(reader);
    if (count > JOIN_ADDRESSES_MAX)
        reader->failed = true;
    addresses->count = reader->failed ? 0 : count;
    for (int i = 0; i < addresses->count; i++)
        wire_get_string(reader, addresses->text[i], sizeof addresses->text[i]);
}

void join_hello_encode(struct wire_writer *writer, const struct join_hello *message)
{
    wire_put_i32(writer, message->rank);
    wire_put_i32(writer, message->size);
    wire_put_i32(writer, message->worker);
    wire_put_u32(writer, message->epoch);
    wire_put_string(writer, message->host);
    wire_put_i32(writer, message->pid);
    wire_put_i32(writer, message->processors);
    wire_put_bytes(writer, message->key, sizeof message->key);
    join_addresses_encode(writer, &message->addresses);
}

int join_hello_decode(struct join_hello *message, struct wire_reader *reader, struct err *err)
{
    message->rank = wire_get_i32(reader);
    message->size = wire_get_i32(reader);
    message->worker = wire_get_i32(reader);
    message->epoch = wire_get_u32(reader);
    wire_get_string(reader, message->host, sizeof message->host);
    message->pid = wire_get_i32(reader);
    message->processors = wire_get_i32(reader);
    copy_bytes(message->key, sizeof message->key, reader);
    join_addresses_decode(&message->addresses, reader);
    int rank = message->rank == -1 ? 0 : message->rank;
    bool elastic = message->rank == -1 && message->size == 0;
    bool valid = (elastic || rank_valid(rank, message->size)) && message->worker >= -1 &&
                 message->worker <= WORKER_NUMBER_MAX && message->epoch <= INT32_MAX &&
                 message->processors >= 0;
    int rc = decoded(reader, valid, "HELLO", err);
    if (rc == HVD_OK)
        text_make_line(message->host);
    return rc;
}

void join_peer_encode(struct wire_writer *writer, const struct join_peer *peer)
{
    wire_put_i32(writer, peer->rank);
    wire_put_string(writer, peer->host);
    join_addresses_encode(writer, &peer->addresses);
}

void join_peer_decode(struct join_peer *peer, struct wire_reader *reader)
{
    peer->rank = wire_get_i32(reader);
    wire_get_string(reader, peer->host, sizeof peer->host);
    join_addresses_decode(&peer->addresses, reader);
}

static void rank_info_encode(struct wire_writer *writer, const struct rank_info *rank_info)
{
    wire_put_i32(writer, rank_info->rank);
    wire_put_i32(writer, rank_info->size);
    wire_put_i32(writer, rank_info->local_rank);
    wire_put_i32(writer, rank_info->local_size);
    wire_put_i32(writer, rank_info->cross_rank);
    wire_put_i32(writer, rank_info->cross_size);
}

static bool rank_info_decode(struct rank_info *rank_info, struct wire_reader *reader)
{
    rank_info->rank = wire_get_i32(reader);
    rank_info->size = wire_get_i32(reader);
    rank_info->local_rank = wire_get_i32(reader);
    rank_info->local_size = wire_get_i32(reader);
    rank_info->cross_rank = wire_get_i32(reader);
    rank_info->cross_size = wire_get_i32(reader);
    return rank_valid(rank_info->rank, rank_info->size) &&
           rank_valid(rank_info->local_rank, rank_info->local_size) &&
           rank_valid(rank_info->cross_rank, rank_info->cross_size);
}

/* The ranks of the neighbours are known beforehand; their addresses are not. */
static bool neighbours_decode(struct join_welcome *message, struct wire_reader *reader)
{
    int ranks[NEIGHBOURS_MAX];
    bool valid = true;
    message->nneighbours =
        neighbours(ranks, message->rank_info.rank, message->rank_info.size, message->star);
    if (wire_get_u8(reader) != message->nneighbours)
        return false;
    for (int i = 0; i < message->nneighbours; i++) {
        join_peer_decode(&message->neighbours[i], reader);
        copy_bytes(message->keys[i], RANK_KEY_SIZE, reader);
        valid = valid && message->neighbours[i].rank == ranks[i];
    }
    return valid;
}

void join_welcome_encode(struct wire_writer *writer, const struct join_welcome *message)
{
    rank_info_encode(writer, &message->rank_info);
    wire_put_u8(writer, message->homogeneous);
    wire_put_i32(writer, message->worker);
    wire_put_u32(writer, message->epoch);
    wire_put_i32(writer, message->star);
    wire_put_bytes(writer, message->certificate, sizeof message->certificate);
    wire_put_bytes(writer, message->certifier, sizeof message->certifier);
    wire_put_u8(writer, (uint8_t)message->nneighbours);
    for (int i = 0; i < message->nneighbours; i++) {
        join_peer_encode(writer, &message->neighbours[i]);
        wire_put_bytes(writer, message->keys[i], RANK_KEY_SIZE);
    }
}

int join_welcome_decode(struct join_welcome *message, struct wire_reader *reader, struct err *err)
{
    bool valid = rank_info_decode(&message->rank_info, reader);
    message->homogeneous = wire_get_u8(reader) != 0;
    message->worker = wire_get_i32(reader);
    message->epoch = wire_get_u32(reader);
    message->star = wire_get_i32(reader);
    copy_bytes(message->certificate, sizeof message->certificate, reader);
    copy_bytes(message->certifier, sizeof message->certifier, reader);
    message->nneighbours = 0;
    valid = valid && message->worker >= 0 && message->worker <= WORKER_NUMBER_MAX &&
            message->epoch < INT32_MAX && message->star >= 1 &&
            message->star <= message->rank_info.size && neighbours_decode(message, reader);
    return decoded(reader, valid, "WELCOME", err);
}

void join_waiting_encode(struct wire_writer *writer, const struct join_waiting *message)
{
    wire_put_u32(writer, message->most_ms);
    wire_put_string(writer, message->text);
}

int join_waiting_decode(struct join_waiting *message, struct wire_reader *reader, struct err *err)
{
    message->most_ms = wire_get_u32(reader);
    wire_get_string(reader, message->text, sizeof message->text);
    bool valid =
        message->most_ms <= JOIN_WAITING_MAX_MS || message->most_ms == JOIN_WAITING_NO_LIMIT;
    int rc = decoded(reader, valid, "WAITING", err);
    if (rc == HVD_OK)
        text_make_ascii(message->text);
    return rc;
}

void join_refused_encode(struct wire_writer *writer, const struct join_refused *message)
{
    wire_put_i32(writer, message->status);
    wire_put_string(writer, message->text);
}

int join_refused_decode(struct join_refused *message, struct wire_reader *reader, struct err *err)
{
    message->status = wire_get_i32(reader);
    wire_get_string(reader, message->text, sizeof message->text);
    bool valid = is_failure(message->status) || message->status == HVD_ERR_REMOVED;
    return decoded(reader, valid, "REFUSED", err);
}

int join_news_decode(struct rank_end *news, struct wire_reader *reader, struct err *err)
{
    rank_end_decode(news, reader);
    return decoded(reader, is_failure(news->status), "NEWS", err);
}

int join_goodbye_decode(struct rank_end *goodbye, struct wire_reader *reader, struct err *err)
{
    rank_end_decode(goodbye, reader);
    bool is_well = goodbye->status == HVD_OK && goodbye->how.kind == RANK_END_NONE &&
                   goodbye->rank == RANK_NONE && goodbye->because_of == RANK_NONE;
    return decoded(reader, is_failure(goodbye->status) || is_well, "GOODBYE", err);
}

int join_broken_decode(struct rank_end *broken, struct wire_reader *reader, struct err *err)
{
    rank_end_decode(broken, reader);
    bool valid = is_failure(broken->status) && broken->status != HVD_ERR_PEER_LEFT;
    return decoded(reader, valid, "BROKEN", err);
}

void join_ask_encode(struct wire_writer *writer, const struct join_ask *message)
{
    wire_put_i32(writer, message->size);
}

int join_ask_decode(struct join_ask *message, struct wire_reader *reader, struct err *err)
{
    message->size = wire_get_i32(reader);
    return decoded(reader, message->size >= 1 && message->size <= JOIN_REPORT_MAX, "ASK", err);
}

void join_update_encode(struct wire_writer *writer, const struct join_update *message)
{
    wire_put_u32(writer, message->serial);
    wire_put_u8(writer, (uint8_t)message->hosts);
}

int join_update_decode(struct join_update *message, struct wire_reader *reader, struct err *err)
{
    message->serial = wire_get_u32(reader);
    message->hosts = wire_get_u8(reader);
    bool valid = message->hosts >= 1 && message->hosts <= (JOIN_HOSTS_REMOVED | JOIN_HOSTS_ADDED);
    return decoded(reader, valid, "UPDATE", err);
}

void join_report_encode(struct wire_writer *writer, const struct join_report *message)
{
    wire_put_string(writer, message->text);
    rank_stats_encode(writer, &message->stats);
    rank_waits_encode(writer, &message->waits);
}

int join_report_decode(struct join_report *message, struct wire_reader *reader, struct err *err)
{
    wire_get_string(reader, message->text, sizeof message->text);
    rank_stats_decode(&message->stats, reader);
    rank_waits_decode(&message->waits, reader);
    int rc = decoded(reader, true, "REPORT", err);
    if (rc == HVD_OK)
        text_make_lines(message->text);
    return rc;
}
