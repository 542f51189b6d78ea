/* SPDX-License-Identifier: Apache-2.0 */
/* The samples that each rank trains on (hvd_training.h).
 *
 * The order of an epoch is the numbers 0 to count - 1, shuffled by Fisher and Yates' method (Knuth,
 * The Art of Computer Programming 2, 3.4.2, algorithm P) with numbers from SplitMix64 (Steele, Lea
 * and Flood 2014), drawn without bias (Lemire 2019): the same on every machine. deal.h says
 * which places of the order a rank gets.
 *
 * Fails when options are impossible, when there is no world to take rank and size from, and when
 * memory runs out; resuming fails behind the epoch's end, finishing behind what has been taken. */
#include "lib/hvd_training.h"

#include "lib/process.h"
#include "lib/training/call.h"
#include "lib/training/deal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

struct hvd_sampler {
    uint64_t seed, epoch;
    struct deal deal;
    uint32_t *order; /* owned; NULL: as the samples are numbered */
};

/* ---- shuffling ---- */

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* The generator's state at the start of an epoch, far from that of any other epoch. */
static uint64_t start_state(uint64_t seed, uint64_t epoch)
{
    uint64_t state = splitmix64(&seed) ^ epoch;
    return splitmix64(&state);
}

/* A number from 0 to bound - 1, all equally likely: the upper half of a product; products with a
 * lower half that would come up once too often are drawn again. */
static uint32_t draw(uint64_t *state, uint32_t bound)
{
    uint32_t surplus = -bound % bound; /* 2^32 mod bound */
    uint64_t product;
    do
        product = (splitmix64(state) >> 32) * bound;
    while ((uint32_t)product < surplus);
    return (uint32_t)(product >> 32);
}

static void shuffle(uint32_t *order, uint32_t count, uint64_t state)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = draw(&state, i), last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
}

/* ---- making ---- */

static int sampler_check(const struct hvd_sampler_options *options, struct hvd_sampler **sampler,
                         struct err *err)
{
    if (!options || !sampler)
        return fail(err, HVD_ERR_INVALID, "there %s",
                    options ? "is no place for the sampler" : "are no options");
    if (options->count > UINT32_MAX)
        return fail(err, HVD_ERR_INVALID, "count is %" PRIu64 ", at most %" PRIu32 " is possible",
                    options->count, UINT32_MAX);
    return HVD_OK;
}

static int find_place(int *rank, int *size, struct err *err)
{
    if (*rank == 0 && *size == 0) {
        *rank = call_answer(hvd_rank(), err);
        if (*rank >= 0)
            *size = call_answer(hvd_size(), err);
        return *rank < 0 || *size < 0 ? err->code : HVD_OK;
    }
    if (*rank < 0 || *rank >= *size)
        return fail(err, HVD_ERR_INVALID, "rank %d of %d; expected 0 <= rank < size", *rank, *size);
    return HVD_OK;
}

static struct hvd_sampler *sampler_allocate(uint64_t count, bool in_order, struct err *err)
{
    struct hvd_sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler && !in_order)
        sampler->order = calloc(count + 1, sizeof *sampler->order);
    if (sampler && (sampler->order || in_order))
        return sampler;
    free(sampler);
    fail(err, HVD_ERR_NOMEM, "no memory for %" PRIu64 " samples", count);
    return NULL;
}

static int sampler_create(const struct hvd_sampler_options *options, struct hvd_sampler **sampler,
                          struct err *err)
{
    int rc = sampler_check(options, sampler, err);
    if (rc < 0)
        return rc;
    int rank = options->rank, size = options->size;
    if ((rc = find_place(&rank, &size, err)) < 0)
        return rc;
    struct hvd_sampler *made = sampler_allocate(options->count, options->in_order, err);
    if (!made)
        return err->code;
    made->seed = options->seed;
    made->deal = (struct deal){ .count = options->count,
                                .rank = (uint64_t)rank,
                                .size = (uint64_t)size,
                                .distinct = options->distinct,
                                .ahead = options->ahead };
    hvd_sampler_start_epoch(made, 0);
    *sampler = made;
    return HVD_OK;
}

int hvd_sampler_create(const struct hvd_sampler_options *options, struct hvd_sampler **sampler)
{
    struct err err;
    if (sampler)
        *sampler = NULL;
    int rc = sampler_create(options, sampler, &err);
    if (rc < 0)
        fail_context(&err, "sampler");
    return process_answer(rc, &err);
}

void hvd_sampler_destroy(struct hvd_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->order);
    free(sampler);
}

/* ---- using ---- */

void hvd_sampler_start_epoch(struct hvd_sampler *sampler, uint64_t epoch)
{
    sampler->epoch = epoch;
    deal_begin(&sampler->deal, 0);
    if (sampler->order)
        shuffle(sampler->order, (uint32_t)sampler->deal.count, start_state(sampler->seed, epoch));
}

uint64_t hvd_sampler_epoch(const struct hvd_sampler *sampler)
{
    return sampler->epoch;
}

uint64_t hvd_sampler_left(const struct hvd_sampler *sampler)
{
    return deal_left(&sampler->deal);
}

size_t hvd_sampler_next(struct hvd_sampler *sampler, uint64_t *samples, size_t count)
{
    size_t got = 0;
    uint64_t left = deal_left(&sampler->deal), place;
    for (uint64_t rounds = count < left ? count : left; rounds > 0; rounds--)
        if (deal_next(&sampler->deal, &place))
            samples[got++] = sampler->order ? sampler->order[place] : place;
    return got;
}

int hvd_sampler_finish(struct hvd_sampler *sampler, uint64_t count)
{
    struct err err;
    const struct deal *deal = &sampler->deal;
    if (!deal->ahead)
        fail(&err, HVD_ERR_INVALID, "sampler: its samples count as processed when they are taken");
    else if (!deal_finish(&sampler->deal, count))
        fail(&err, HVD_ERR_INVALID, "sampler: %" PRIu64 " samples finished, %" PRIu64 " are taken",
             count, deal->taken - deal->done);
    else
        return HVD_OK;
    return process_answer(err.code, &err);
}

uint64_t hvd_sampler_processed(const struct hvd_sampler *sampler)
{
    return deal_done(&sampler->deal);
}

int hvd_sampler_resume(struct hvd_sampler *sampler, uint64_t epoch, uint64_t processed)
{
    struct err err;
    if (processed > sampler->deal.count) {
        fail(&err, HVD_ERR_INVALID, "sampler: %" PRIu64 " of %" PRIu64 " samples processed",
             processed, sampler->deal.count);
        return process_answer(err.code, &err);
    }
    if (sampler->epoch != epoch) /* else the order is there */
        hvd_sampler_start_epoch(sampler, epoch);
    deal_begin(&sampler->deal, processed);
    return HVD_OK;
}

int hvd_sampler_place(struct hvd_sampler *sampler, int rank, int size)
{
    struct err err;
    int rc = find_place(&rank, &size, &err);
    if (rc < 0) {
        fail_context(&err, "sampler");
        return process_answer(rc, &err);
    }
    deal_place(&sampler->deal, (uint64_t)rank, (uint64_t)size);
    return HVD_OK;
}
