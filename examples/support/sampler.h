/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank trains on which image, and when.
 *
 * The images are shuffled anew for every epoch, in the same way on every rank. Step s of the epoch
 * takes the next batch x size images of that order, the global batch; rank r takes its r-th part.
 * So "2 ranks, batch 64" and "1 rank, batch 128" see the same images in the same steps. What does
 * not fill a last global batch is left out of this epoch.
 *
 *     order:  | rank 0 | rank 1 | rank 0 | rank 1 | ... | left out |
 *             |      step 0     |      step 1     |                    */
#ifndef EXAMPLES_SUPPORT_SAMPLER_H
#define EXAMPLES_SUPPORT_SAMPLER_H

#include <stdint.h>

struct sampler {
    long count; /* of images */
    long batch; /* of each rank */
    int rank, size;
    uint64_t seed;
    uint32_t *order; /* owned */
};

/* Returns 0, or -1 when out of memory. */
int sampler_init(struct sampler *sampler, long count, long batch, int rank, int size,
                 uint64_t seed);

/* Steps of one epoch; 0 if the images do not fill a single global batch. */
long sampler_steps(const struct sampler *sampler);

/* Makes the order of an epoch, counted from 0; the same whatever was asked for before. */
void sampler_shuffle(struct sampler *sampler, long epoch);

/* Where in the order this rank's batch of a step begins. */
long sampler_position(const struct sampler *sampler, long step);

/* The same, as the images: `batch` indices. */
const uint32_t *sampler_images(const struct sampler *sampler, long step);

/* First of the items that `rank` takes when `count` items are dealt in one go, in order: its part
 * ends where that of rank + 1 begins. */
long shard_begin(long count, int rank, int size);

void sampler_fini(struct sampler *sampler);

#endif
