/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same on every machine: integer arithmetic and exact float steps only.
 *
 * A stream is named by (seed, purpose, index), so that a draw depends on what it is for and not on
 * how many were made before it: the dropout mask of a training image is the same whichever rank
 * happens to hold the image. */
#ifndef EXAMPLES_SUPPORT_RANDOM_H
#define EXAMPLES_SUPPORT_RANDOM_H

#include <stdint.h>

enum random_purpose { RANDOM_INITIAL, RANDOM_DROPOUT_1, RANDOM_DROPOUT_2 };

struct random_stream {
    uint64_t state[4];
};

void random_start(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                  uint64_t index);

uint64_t random_next(struct random_stream *stream);

/* In [low, high). */
float random_uniform(struct random_stream *stream, float low, float high);

#endif
