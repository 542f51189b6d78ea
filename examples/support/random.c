/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman, Vigna), its state filled by splitmix64 from the stream's name. */
#include "examples/support/random.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void random_start(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                  uint64_t index)
{
    uint64_t mixed = seed;
    mixed = splitmix64(&mixed) + (uint64_t)purpose;
    mixed = splitmix64(&mixed) + index;
    for (int i = 0; i < 4; i++)
        stream->state[i] = splitmix64(&mixed);
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

uint64_t random_next(struct random_stream *stream)
{
    uint64_t *s = stream->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

float random_uniform(struct random_stream *stream, float low, float high)
{
    float unit = (float)(random_next(stream) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}
