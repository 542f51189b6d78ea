/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same on every machine: integer arithmetic and exact float steps only.
 *
 * A stream is named by (seed, purpose, index), so that a draw depends on what it is for and not on
 * how many were made before it: the dropout mask of a training image is the same whichever rank
 * happens to hold the image. */
#ifndef EXAMPLES_SUPPORT_RANDOM_H
#define EXAMPLES_SUPPORT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum random_purpose { RANDOM_INITIAL, RANDOM_SHUFFLE, RANDOM_DROPOUT_1, RANDOM_DROPOUT_2 };

struct random_stream {
    uint64_t state[4];
};

void random_start(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                  uint64_t index);

uint64_t random_next(struct random_stream *stream);

/* Below `bound`, which is not 0. */
uint32_t random_below(struct random_stream *stream, uint32_t bound);

/* In [low, high). */
float random_uniform(struct random_stream *stream, float low, float high);

void random_shuffle(struct random_stream *stream, uint32_t *values, size_t count);

#endif
