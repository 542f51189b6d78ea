/* SPDX-License-Identifier: Apache-2.0 */
/* Records: how the bytes of an encrypted link travel. Each direction of a link has a stream of
 * records with keys of its own. No socket, no allocation.
 *
 *   0 length of the data minus 1, u16   2 sum of the header, 6 bytes
 *   8 data, encrypted, 1 to 16384 bytes   then the tag, 16 bytes
 *
 * The cipher is AES-256-GCM or ChaCha20-Poly1305 (RFC 8439). The nonce is the number of the record,
 * from 0, which does not travel; the header is covered by the tag. The sum of the header is
 * SipHash-2-4 under a key of its own, over the number and the length, so that a changed length is
 * found before anybody waits for data that never come. After every RECORD_KEY_USES records the key
 * of the cipher is replaced by a hash of itself, long before the limits of AES-GCM (2^24 records of
 * this size).
 *
 * A record that was changed, dropped, repeated, moved or made up has a wrong sum or tag:
 * HVD_ERR_PROTOCOL. A stream that is cut between two records has no mark: who needs more data finds
 * the end of the connection. */
#ifndef LIB_LINK_RECORD_H
#define LIB_LINK_RECORD_H

#include "lib/base/status.h"

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RECORD_HEADER_SIZE = 8,
    RECORD_TAG_SIZE = 16,
    RECORD_OVERHEAD = RECORD_HEADER_SIZE + RECORD_TAG_SIZE,
    RECORD_DATA_MAX = 16384,
    RECORD_MAX = RECORD_DATA_MAX + RECORD_OVERHEAD,
    RECORD_KEY_USES = 1 << 20,
    RECORD_KEY_SIZE = 32,
    RECORD_SUM_KEY_SIZE = 16
};

/* The values travel in the handshake of a link. */
enum cipher { CIPHER_NONE, CIPHER_AES256GCM, CIPHER_CHACHA20POLY1305 };

/* A set of ciphers has bit (1 << cipher). Every host has ChaCha20-Poly1305. */
unsigned cipher_supported(void);

/* The fastest cipher of both sets; CIPHER_NONE if they have none in common. */
enum cipher cipher_choose(unsigned one, unsigned other);

/* "AES-256-GCM" */
const char *cipher_name(enum cipher cipher);

/* The keys of one direction. */
struct record_keys {
    unsigned char data[RECORD_KEY_SIZE];
    unsigned char sum[RECORD_SUM_KEY_SIZE];
};

/* One direction of a link, at the side that seals or at the side that opens. */
struct record_stream {
    crypto_aead_aes256gcm_state aes; /* prepared from the key, with AES-256-GCM */
    enum cipher cipher;
    uint64_t number;   /* of the next record */
    uint64_t key_uses; /* RECORD_KEY_USES, unless a test has less */
    struct record_keys keys;
};

void record_stream_init(struct record_stream *stream, enum cipher cipher,
                        const struct record_keys *keys);
void record_stream_wipe(struct record_stream *stream);

/* Writes the next record, of `nbytes` (1 to RECORD_DATA_MAX) plus RECORD_OVERHEAD. `data` lies
 * elsewhere, or at record + RECORD_HEADER_SIZE. */
void record_seal(struct record_stream *stream, unsigned char *record, const void *data,
                 size_t nbytes);

/* Reads the header of the next record: `*nbytes` of data and RECORD_TAG_SIZE follow. */
int record_header_open(const struct record_stream *stream, const unsigned char *header,
                       size_t *nbytes, struct err *err);

/* Decrypts the next record, whose header has been read, into `data`, which lies elsewhere or at
 * record + RECORD_HEADER_SIZE. On failure `data` has nothing that was received. */
int record_open(struct record_stream *stream, const unsigned char *record, void *data,
                size_t nbytes, struct err *err);

#endif
