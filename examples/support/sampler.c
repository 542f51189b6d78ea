/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing images to ranks. Only sampler_init() can fail, for want of memory. */
#include "examples/support/sampler.h"

#include <stdlib.h>

#include "examples/support/random.h"

int sampler_init(struct sampler *sampler, long count, long batch, int rank, int size, uint64_t seed)
{
    *sampler = (struct sampler){
        .count = count, .batch = batch, .rank = rank, .size = size, .seed = seed
    };
    sampler->order = malloc((size_t)count * sizeof *sampler->order);
    return sampler->order == NULL ? -1 : 0;
}

long sampler_steps(const struct sampler *sampler)
{
    return sampler->count / (sampler->batch * sampler->size);
}

void sampler_shuffle(struct sampler *sampler, long epoch)
{
    struct random_stream stream;
    random_start(&stream, sampler->seed, RANDOM_SHUFFLE, (uint64_t)epoch);
    for (long i = 0; i < sampler->count; i++)
        sampler->order[i] = (uint32_t)i;
    random_shuffle(&stream, sampler->order, (size_t)sampler->count);
}

long sampler_position(const struct sampler *sampler, long step)
{
    return (step * sampler->size + sampler->rank) * sampler->batch;
}

const uint32_t *sampler_images(const struct sampler *sampler, long step)
{
    return sampler->order + sampler_position(sampler, step);
}

long shard_begin(long count, int rank, int size)
{
    return count * rank / size;
}

void sampler_fini(struct sampler *sampler)
{
    free(sampler->order);
    *sampler = (struct sampler){ 0 };
}
