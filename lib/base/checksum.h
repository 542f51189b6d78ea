/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums that detect bytes changed by accident. An attacker can forge a sum; proofs (auth.h)
 * protect against attackers. */
#ifndef LIB_BASE_CHECKSUM_H
#define LIB_BASE_CHECKSUM_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The factor has no run of 12 equal bits: a difference of one bit anywhere reaches the top 12
 * bits. */
#define CHECKSUM_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* The sum of the low 64 - `nbits` bits of `word`, in `nbits` bits, at least 12. The sum changes
 * when any single bit changes. */
static inline uint32_t checksum_word(uint64_t word, unsigned nbits)
{
    return (uint32_t)(word * CHECKSUM_FACTOR >> (64 - nbits));
}

/* The sum of bytes. */
static inline uint32_t checksum_bytes(const void *data, size_t nbytes)
{
    const unsigned char *at = data;
    uint64_t sum = nbytes * CHECKSUM_FACTOR, word;
    for (; nbytes > 0; at += sizeof word) {
        size_t length = nbytes < sizeof word ? nbytes : sizeof word;
        word = 0;
        memcpy(&word, at, length);
        sum ^= sum >> 32;
        sum = (sum ^ le64toh(word)) * CHECKSUM_FACTOR;
        nbytes -= length;
    }
    return (uint32_t)(sum >> 32);
}

#endif
