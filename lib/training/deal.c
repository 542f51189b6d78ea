/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing the places of an epoch; see deal.h. */
#include "lib/training/deal.h"

void deal_begin(struct deal *deal, uint64_t begin)
{
    deal->begin = begin;
    deal->taken = deal->done = 0;
}

void deal_place(struct deal *deal, uint64_t rank, uint64_t size)
{
    deal_begin(deal, deal_done(deal));
    deal->rank = rank;
    deal->size = size;
}

static uint64_t deal_remaining(const struct deal *deal)
{
    return deal->count - deal->begin;
}

uint64_t deal_left(const struct deal *deal)
{
    uint64_t rounds = (deal_remaining(deal) + deal->size - 1) / deal->size;
    return rounds - deal->taken;
}

bool deal_next(struct deal *deal, uint64_t *place)
{
    uint64_t at = deal->taken++ * deal->size + deal->rank;
    bool repeated = at >= deal_remaining(deal);
    *place = (deal->begin + at) % deal->count;
    return !(repeated && deal->distinct);
}

bool deal_finish(struct deal *deal, uint64_t rounds)
{
    if (rounds > deal->taken - deal->done)
        return false;
    deal->done += rounds;
    return true;
}

uint64_t deal_done(const struct deal *deal)
{
    uint64_t done = (deal->ahead ? deal->done : deal->taken) * deal->size;
    uint64_t remaining = deal_remaining(deal);
    return deal->begin + (done < remaining ? done : remaining);
}
