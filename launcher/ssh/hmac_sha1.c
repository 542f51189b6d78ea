/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 (FIPS 180-4) and HMAC; see hmac_sha1.h. */
#include "launcher/ssh/hmac_sha1.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 80, LENGTH_BYTES = 8 };

struct sha1 {
    uint32_t state[5];
    uint64_t nbytes;
    unsigned char block[SHA1_BLOCK_BYTES]; /* the bytes behind the last whole block */
};

static uint32_t rotate_left(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The function and the constant of a round. */
static uint32_t sha1_mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(struct sha1 *sha1)
{
    uint32_t words[ROUNDS], *state = sha1->state;
    for (int i = 0; i < 16; i++)
        words[i] = big_endian(sha1->block + 4 * i);
    for (int i = 16; i < ROUNDS; i++)
        words[i] = rotate_left(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate_left(a, 5) + sha1_mix(i, b, c, d) + e + words[i];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

static void sha1_init(struct sha1 *sha1)
{
    *sha1 =
        (struct sha1){ .state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
}

static void sha1_add(struct sha1 *sha1, const void *data, size_t nbytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < nbytes; i++) {
        sha1->block[sha1->nbytes++ % SHA1_BLOCK_BYTES] = at[i];
        if (sha1->nbytes % SHA1_BLOCK_BYTES == 0)
            add_block(sha1);
    }
}

/* One bit, zeros up to the end of a block, and the number of bits. */
static void sha1_end(struct sha1 *sha1, unsigned char digest[SHA1_BYTES])
{
    uint64_t nbits = sha1->nbytes * 8;
    sha1_add(sha1, "\x80", 1);
    while (sha1->nbytes % SHA1_BLOCK_BYTES != SHA1_BLOCK_BYTES - LENGTH_BYTES)
        sha1_add(sha1, "", 1);
    for (int shift = 56; shift >= 0; shift -= 8)
        sha1_add(sha1, &(unsigned char){ (unsigned char)(nbits >> shift) }, 1);
    for (int i = 0; i < SHA1_BYTES; i++)
        digest[i] = (unsigned char)(sha1->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* Hashes the key, under a mask, and the data. */
static void hash_with_key(unsigned char digest[SHA1_BYTES], const unsigned char *key,
                          unsigned char mask, const void *data, size_t nbytes)
{
    struct sha1 sha1;
    sha1_init(&sha1);
    for (int i = 0; i < SHA1_BLOCK_BYTES; i++)
        sha1_add(&sha1, &(unsigned char){ key[i] ^ mask }, 1);
    sha1_add(&sha1, data, nbytes);
    sha1_end(&sha1, digest);
}

void hmac_sha1(unsigned char code[SHA1_BYTES], const void *key, size_t key_bytes, const void *data,
               size_t nbytes)
{
    unsigned char padded[SHA1_BLOCK_BYTES] = { 0 };
    assert(key_bytes <= sizeof padded);
    memcpy(padded, key, key_bytes);
    hash_with_key(code, padded, 0x36, data, nbytes);
    hash_with_key(code, padded, 0x5c, code, SHA1_BYTES);
}
