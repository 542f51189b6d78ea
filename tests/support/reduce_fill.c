/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any bits, and edges; see reduce_fill.h. */
#include "tests/support/reduce_fill.h"

#include <string.h>

/* Values that are likely to go wrong, by the type's size in bytes. */
static const uint64_t edges16[] = { 0,      0x8000, 1,      0x7fff, 0x7c00, 0xfc00, 0x7e01,
                                    0x7c01, 0x03ff, 0x7bff, 0x7f80, 0xffc1, 0x7f81 };
static const uint64_t edges32[] = { 0,          0x80000000, 1,          0x7fffffff, 0x7f800000,
                                    0xff800000, 0x7fc00001, 0x7f800001, 0xffc12345, 0x007fffff };
static const uint64_t edges64[] = { 0,
                                    0x8000000000000000,
                                    1,
                                    0x7fffffffffffffff,
                                    0x7ff0000000000000,
                                    0xfff0000000000000,
                                    0x7ff8000000000001,
                                    0x7ff0000000000001,
                                    0xfff8123456789abc,
                                    0x000fffffffffffff };

static void put_edge(unsigned char *element, size_t size, uint64_t random)
{
    uint16_t two = (uint16_t)edges16[random % (sizeof edges16 / sizeof *edges16)];
    uint32_t four = (uint32_t)edges32[random % (sizeof edges32 / sizeof *edges32)];
    uint64_t eight = edges64[random % (sizeof edges64 / sizeof *edges64)];
    const void *from = size == 2 ? (void *)&two : size == 4 ? (void *)&four : (void *)&eight;
    if (size > 1)
        memcpy(element, from, size);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

void reduce_fill(unsigned char *data, size_t nbytes, size_t size, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < nbytes; i++)
        data[i] = (unsigned char)(next_random(&state) >> 32);
    for (size_t i = 0; i + size <= nbytes; i += size)
        if (next_random(&state) >> 40 & 1 && next_random(&state) >> 40 & 1)
            put_edge(data + i, size, next_random(&state) >> 20);
}
