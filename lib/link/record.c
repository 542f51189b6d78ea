/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an encrypted link; see record.h. */
#include "lib/link/record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { NONCE = 12, SUM_SIZE = RECORD_HEADER_SIZE - 2 };

_Static_assert((int)RECORD_KEY_SIZE == (int)crypto_aead_aes256gcm_KEYBYTES &&
                   (int)RECORD_KEY_SIZE == (int)crypto_aead_chacha20poly1305_ietf_KEYBYTES,
               "both ciphers have keys of one size");
_Static_assert((int)RECORD_TAG_SIZE == (int)crypto_aead_aes256gcm_ABYTES &&
                   (int)RECORD_TAG_SIZE == (int)crypto_aead_chacha20poly1305_ietf_ABYTES,
               "both ciphers have tags of one size");
_Static_assert((int)NONCE == (int)crypto_aead_aes256gcm_NPUBBYTES &&
                   (int)NONCE == (int)crypto_aead_chacha20poly1305_ietf_NPUBBYTES,
               "both ciphers have nonces of one size");
_Static_assert((int)RECORD_SUM_KEY_SIZE == (int)crypto_shorthash_KEYBYTES,
               "the sum of a header is SipHash");

/* ---- ciphers ---- */

unsigned cipher_supported(void)
{
    return 1u << CIPHER_CHACHA20POLY1305 |
           (crypto_aead_aes256gcm_is_available() ? 1u << CIPHER_AES256GCM : 0);
}

enum cipher cipher_choose(unsigned one, unsigned other)
{
    for (int cipher = CIPHER_AES256GCM; cipher <= CIPHER_CHACHA20POLY1305; cipher++)
        if (one & other & 1u << cipher)
            return (enum cipher)cipher;
    return CIPHER_NONE;
}

const char *cipher_name(enum cipher cipher)
{
    static const char *const names[] = {
        [CIPHER_NONE] = "no cipher",
        [CIPHER_AES256GCM] = "AES-256-GCM",
        [CIPHER_CHACHA20POLY1305] = "ChaCha20-Poly1305",
    };
    return names[cipher];
}

/* ---- keys ---- */

static void record_stream_prepare(struct record_stream *stream)
{
    if (stream->cipher == CIPHER_AES256GCM)
        crypto_aead_aes256gcm_beforenm(&stream->aes, stream->keys.data);
}

void record_stream_init(struct record_stream *stream, enum cipher cipher,
                        const struct record_keys *keys)
{
    assert(cipher != CIPHER_NONE);
    memset(stream, 0, sizeof *stream);
    stream->cipher = cipher;
    stream->key_uses = RECORD_KEY_USES;
    stream->keys = *keys;
    record_stream_prepare(stream);
}

void record_stream_wipe(struct record_stream *stream)
{
    sodium_memzero(stream, sizeof *stream);
}

/* A record is done. The key that was used up cannot be found from its successor. */
static void record_stream_advance(struct record_stream *stream)
{
    static const char label[] = "hvd1 next record key";
    unsigned char next[RECORD_KEY_SIZE];
    stream->number++;
    if (stream->number % stream->key_uses != 0)
        return;
    crypto_generichash(next, sizeof next, (const unsigned char *)label, sizeof label,
                       stream->keys.data, RECORD_KEY_SIZE);
    memcpy(stream->keys.data, next, sizeof next);
    sodium_memzero(next, sizeof next);
    record_stream_prepare(stream);
}

/* ---- records ---- */

static void put_number(unsigned char bytes[8], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

/* The sum of a header of the next record, whose length stands in its first two bytes. */
static void record_header_sum(const struct record_stream *stream, const unsigned char *header,
                              unsigned char sum[crypto_shorthash_BYTES])
{
    unsigned char summed[8 + 2];
    put_number(summed, stream->number);
    memcpy(summed + 8, header, 2);
    crypto_shorthash(sum, summed, sizeof summed, stream->keys.sum);
}

static void header_seal(const struct record_stream *stream, unsigned char *header, size_t nbytes)
{
    unsigned char sum[crypto_shorthash_BYTES];
    header[0] = (unsigned char)(nbytes - 1);
    header[1] = (unsigned char)((nbytes - 1) >> 8);
    record_header_sum(stream, header, sum);
    memcpy(header + 2, sum, SUM_SIZE);
}

void record_seal(struct record_stream *stream, unsigned char *record, const void *data,
                 size_t nbytes)
{
    unsigned char nonce[NONCE] = { 0 }, *sealed = record + RECORD_HEADER_SIZE;
    assert(nbytes >= 1 && nbytes <= RECORD_DATA_MAX);
    put_number(nonce, stream->number);
    header_seal(stream, record, nbytes);
    if (stream->cipher == CIPHER_AES256GCM)
        crypto_aead_aes256gcm_encrypt_afternm(sealed, NULL, data, nbytes, record,
                                              RECORD_HEADER_SIZE, NULL, nonce, &stream->aes);
    else
        crypto_aead_chacha20poly1305_ietf_encrypt(
            sealed, NULL, data, nbytes, record, RECORD_HEADER_SIZE, NULL, nonce, stream->keys.data);
    record_stream_advance(stream);
}

int record_header_open(const struct record_stream *stream, const unsigned char *header,
                       size_t *nbytes, struct err *err)
{
    unsigned char sum[crypto_shorthash_BYTES];
    *nbytes = 1 + (size_t)header[0] + ((size_t)header[1] << 8);
    record_header_sum(stream, header, sum);
    if (sodium_memcmp(sum, header + 2, SUM_SIZE) != 0 || *nbytes > RECORD_DATA_MAX)
        return fail(err, HVD_ERR_PROTOCOL,
                    "record %" PRIu64 " has been changed on the way (header)", stream->number);
    return HVD_OK;
}

int record_open(struct record_stream *stream, const unsigned char *record, void *data,
                size_t nbytes, struct err *err)
{
    unsigned char nonce[NONCE] = { 0 };
    const unsigned char *sealed = record + RECORD_HEADER_SIZE;
    size_t length = nbytes + RECORD_TAG_SIZE;
    put_number(nonce, stream->number);
    int rc = stream->cipher == CIPHER_AES256GCM
                 ? crypto_aead_aes256gcm_decrypt_afternm(data, NULL, NULL, sealed, length, record,
                                                         RECORD_HEADER_SIZE, nonce, &stream->aes)
                 : crypto_aead_chacha20poly1305_ietf_decrypt(data, NULL, NULL, sealed, length,
                                                             record, RECORD_HEADER_SIZE, nonce,
                                                             stream->keys.data);
    if (rc != 0)
        return fail(err, HVD_ERR_PROTOCOL, "record %" PRIu64 " has been changed on the way",
                    stream->number);
    record_stream_advance(stream);
    return HVD_OK;
}
