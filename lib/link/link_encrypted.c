/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted links; see link_encrypted.h.
 *
 *   try_send:     caller's memory -> seal into out[] -> inner link
 *   try_receive:  inner link -> in[] -> open into the caller's memory, if a whole record fits there,
 *                 else in place; what does not fit is given out by the next calls */
#include "lib/link/link_encrypted.h"

#include "lib/base/min.h"
#include "lib/link/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_RECORDS = 4,
    BATCH_DATA_MAX = BATCH_RECORDS * RECORD_DATA_MAX,
    BATCH_MAX = BATCH_RECORDS * RECORD_MAX
};

struct link_encrypted {
    struct link link;
    struct link *inner; /* owned */
    struct record_stream sealer, opener;

    /* Sealed records; out[out_start, out_end) has not been sent. If they were sent in part, `owes`:
     * their last byte of data, `owed`, is not reported as taken yet. */
    size_t out_start, out_end;
    bool owes;
    unsigned char owed;

    /* Received bytes: in[data_start, data_end) is data that was opened in place, and
     * in[in_start, in_end) records that were not opened. `next` is the size of the data of the next
     * record once its header was read, else 0. */
    size_t data_start, data_end, in_start, in_end, next;
    int failed; /* the status of the first bad record, or HVD_OK */

    unsigned char out[BATCH_MAX], in[BATCH_MAX];
};

static struct link_encrypted *encrypted_of(const struct link *link)
{
    return (struct link_encrypted *)(void *)link;
}

/* ---- sending ---- */

/* 1 when everything is sent, 0 if not, or a negative status. */
static int send_sealed(struct link_encrypted *encrypted, struct err *err)
{
    struct link *inner = encrypted->inner;
    while (encrypted->out_start < encrypted->out_end) {
        struct iovec rest = { encrypted->out + encrypted->out_start,
                              encrypted->out_end - encrypted->out_start };
        ssize_t nbytes = link_try_send(inner, &rest, 1, err);
        if (nbytes <= 0)
            return (int)nbytes;
        encrypted->out_start += (size_t)nbytes;
    }
    encrypted->out_start = encrypted->out_end = 0;
    return 1;
}

/* Seals the next `nbytes` of `from`, at most BATCH_DATA_MAX. */
static void seal_batch(struct link_encrypted *encrypted, struct parts *from, size_t nbytes)
{
    while (nbytes > 0) {
        size_t piece, size = size_min(nbytes, RECORD_DATA_MAX);
        unsigned char *record = encrypted->out + encrypted->out_end;
        const unsigned char *data = parts_piece(from, &piece);
        if (piece >= size) {
            parts_skip(from, size);
        } else {
            data = record + RECORD_HEADER_SIZE;
            parts_gather(from, record + RECORD_HEADER_SIZE, size);
        }
        encrypted->owed = data[size - 1];
        record_seal(&encrypted->sealer, record, data, size);
        encrypted->out_end += size + RECORD_OVERHEAD;
        nbytes -= size;
    }
}

/* The rest of records that were sent in part has been sent: their last byte is taken. */
static int pay_owed(struct link_encrypted *encrypted, struct parts *from, struct err *err)
{
    size_t piece;
    const unsigned char *data = parts_piece(from, &piece);
    if (*data != encrypted->owed)
        return fail(err, HVD_ERR_SYSTEM, "a message was replaced after it had been sent in part");
    parts_skip(from, 1);
    encrypted->owes = false;
    return HVD_OK;
}

/* A single byte cannot be taken in part, and its record must not be sent in part. */
static bool has_room(const struct link_encrypted *encrypted)
{
    struct pollfd look = { .fd = link_pollable(encrypted->inner), .events = POLLOUT };
    return look.fd < 0 || poll(&look, 1, 0) > 0;
}

/* Like try_send(), for one batch. */
static ssize_t send_batch(struct link_encrypted *encrypted, struct parts *from, struct err *err)
{
    size_t nbytes = parts_size(from, BATCH_DATA_MAX);
    if (nbytes == 1 && !has_room(encrypted))
        return 0;
    seal_batch(encrypted, from, nbytes);
    int rc = send_sealed(encrypted, err);
    if (rc < 0)
        return rc;
    encrypted->owes = rc == 0;
    return (ssize_t)(rc > 0 ? nbytes : nbytes - 1);
}

static ssize_t encrypted_try_send(struct link *link, const struct iovec *parts, int count,
                                  struct err *err)
{
    struct link_encrypted *encrypted = encrypted_of(link);
    struct parts from = parts_begin(parts, count);
    size_t taken = 0;
    while (from.count > 0) {
        int rc = send_sealed(encrypted, err);
        if (rc == 0)
            return (ssize_t)taken;
        if (rc > 0 && encrypted->owes) {
            rc = pay_owed(encrypted, &from, err);
            taken += rc == HVD_OK;
        } else if (rc > 0) {
            ssize_t nbytes = send_batch(encrypted, &from, err);
            rc = nbytes < 0 ? (int)nbytes : 0;
            taken += nbytes > 0 ? (size_t)nbytes : 0;
            if (nbytes >= 0 && (nbytes == 0 || encrypted->owes))
                return (ssize_t)taken;
        }
        if (rc < 0)
            return taken > 0 ? (ssize_t)taken : rc; /* the failure is there the next time, too */
    }
    return (ssize_t)taken;
}

/* ---- receiving ---- */

/* Receives into the room behind the records, which move to the front if the next one would not fit
 * there. Returns like try_receive(). */
static ssize_t fill_records(struct link_encrypted *encrypted, struct err *err)
{
    if (encrypted->in_start + RECORD_MAX > BATCH_MAX || encrypted->in_start == encrypted->in_end) {
        memmove(encrypted->in, encrypted->in + encrypted->in_start,
                encrypted->in_end - encrypted->in_start);
        encrypted->in_end -= encrypted->in_start;
        encrypted->in_start = 0;
    }
    ssize_t nbytes = link_try_receive(encrypted->inner, encrypted->in + encrypted->in_end,
                                      BATCH_MAX - encrypted->in_end, err);
    if (nbytes > 0)
        encrypted->in_end += (size_t)nbytes;
    return nbytes;
}

/* 1 if the whole next record is there, 0 if not, or a negative status. */
static int find_record(struct link_encrypted *encrypted, struct err *err)
{
    size_t there = encrypted->in_end - encrypted->in_start;
    const unsigned char *header = encrypted->in + encrypted->in_start;
    if (encrypted->next == 0 && there >= RECORD_HEADER_SIZE) {
        int rc = record_header_open(&encrypted->opener, header, &encrypted->next, err);
        if (rc < 0)
            return rc;
    }
    return encrypted->next > 0 && there >= encrypted->next + RECORD_OVERHEAD;
}

/* Opens the next record, into `to` if it fits there. Returns how many bytes `to` has got. */
static ssize_t open_record(struct link_encrypted *encrypted, struct parts *to, struct err *err)
{
    size_t room, nbytes = encrypted->next;
    const unsigned char *record = encrypted->in + encrypted->in_start;
    unsigned char *space = parts_piece(to, &room);
    bool fits = room >= nbytes;
    size_t in_place = encrypted->in_start + RECORD_HEADER_SIZE;
    int rc = record_open(&encrypted->opener, record, fits ? space : encrypted->in + in_place,
                         nbytes, err);
    if (rc < 0)
        return rc;
    encrypted->next = 0;
    encrypted->in_start += nbytes + RECORD_OVERHEAD;
    if (fits) {
        parts_skip(to, nbytes);
        return (ssize_t)nbytes;
    }
    encrypted->data_start = in_place;
    encrypted->data_end = in_place + nbytes;
    return 0;
}

static size_t scatter_opened(struct link_encrypted *encrypted, struct parts *to)
{
    size_t nbytes = parts_size(to, encrypted->data_end - encrypted->data_start);
    parts_scatter(to, encrypted->in + encrypted->data_start, nbytes);
    encrypted->data_start += nbytes;
    return nbytes;
}

/* Like try_receive(), for data that was opened before, or one record. */
static ssize_t receive_some(struct link_encrypted *encrypted, struct parts *to, struct err *err)
{
    if (encrypted->data_start < encrypted->data_end)
        return (ssize_t)scatter_opened(encrypted, to);
    for (;;) {
        int rc = find_record(encrypted, err);
        if (rc > 0) {
            ssize_t nbytes = open_record(encrypted, to, err);
            if (nbytes == 0)
                return (ssize_t)scatter_opened(encrypted, to);
            rc = (int)nbytes;
        }
        if (rc < 0)
            encrypted->failed = rc;
        if (rc != 0)
            return rc;
        ssize_t nbytes = fill_records(encrypted, err);
        if (nbytes <= 0)
            return nbytes;
    }
}

static ssize_t encrypted_try_receive(struct link *link, const struct iovec *parts, int count,
                                     struct err *err)
{
    struct link_encrypted *encrypted = encrypted_of(link);
    struct parts to = parts_begin(parts, count);
    size_t received = 0;
    while (to.count > 0) {
        ssize_t nbytes =
            encrypted->failed != HVD_OK
                ? fail(err, encrypted->failed, "record %" PRIu64 " has been changed on the way",
                       encrypted->opener.number)
                : receive_some(encrypted, &to, err);
        if (nbytes <= 0)
            return received > 0 ? (ssize_t)received : nbytes; /* a failure is there next time */
        received += (size_t)nbytes;
    }
    return (ssize_t)received;
}

/* ---- the rest ---- */

static int encrypted_pollable(const struct link *link)
{
    return link_pollable(encrypted_of(link)->inner);
}

/* True if try_receive() has something without the inner link. */
static bool has_received(const struct link_encrypted *encrypted)
{
    size_t there = encrypted->in_end - encrypted->in_start;
    return encrypted->failed != HVD_OK || encrypted->data_start < encrypted->data_end ||
           there >= (encrypted->next > 0 ? encrypted->next + RECORD_OVERHEAD : RECORD_HEADER_SIZE);
}

static bool encrypted_sleep(struct link *link, short wanted, short *events)
{
    const struct link_encrypted *encrypted = encrypted_of(link);
    bool may = link_sleep(encrypted->inner, wanted, events);
    return may && !(wanted & POLLIN && has_received(encrypted));
}

static int encrypted_check(struct link *link, struct err *err)
{
    return link_check(encrypted_of(link)->inner, err);
}

static void encrypted_close(struct link *link)
{
    struct link_encrypted *encrypted = encrypted_of(link);
    link_close(encrypted->inner);
    sodium_memzero(encrypted, sizeof *encrypted);
    free(encrypted);
}

static const struct link_type link_encrypted_type = {
    .transport = TRANSPORT_TCP,
    .try_send = encrypted_try_send,
    .try_receive = encrypted_try_receive,
    .pollable = encrypted_pollable,
    .sleep = encrypted_sleep,
    .check = encrypted_check,
    .close = encrypted_close,
};

struct link *link_encrypted_create(struct link *inner, const struct link_keys *keys)
{
    struct link_encrypted *encrypted = malloc(sizeof *encrypted);
    assert(!inner->type->offer && !inner->type->peek);
    if (!encrypted)
        return NULL;
    memset(encrypted, 0, offsetof(struct link_encrypted, out));
    encrypted->link.type = &link_encrypted_type;
    encrypted->inner = inner;
    record_stream_init(&encrypted->sealer, keys->cipher, &keys->send);
    record_stream_init(&encrypted->opener, keys->cipher, &keys->receive);
    return &encrypted->link;
}

void link_encrypted_use_keys(struct link *link, uint64_t uses)
{
    encrypted_of(link)->sealer.key_uses = uses;
    encrypted_of(link)->opener.key_uses = uses;
}
