/* SPDX-License-Identifier: Apache-2.0 */
/* Who has committed to what, and who has left; see steady.h. */
#include "lib/negotiation/steady.h"

#include <string.h>

void steady_init(struct steady *steady, int rank, int size)
{
    *steady = (struct steady){ .rank = rank, .size = size };
}

static bool some_rank_has_left(const struct steady *steady)
{
    bool some = false;
    for (int rank = 0; rank < steady->size; rank++)
        some |= steady->has_left[rank];
    return some;
}

bool steady_begin(struct steady *steady)
{
    steady->phase = STEADY_ON;
    steady->epoch++;
    steady->committed = steady->done = 0;
    return some_rank_has_left(steady);
}

bool steady_may_commit(const struct steady *steady)
{
    return steady->phase == STEADY_ON && steady->committed - steady->done < STEADY_AHEAD &&
           steady->committed < STEADY_MOST;
}

bool steady_is_exhausted(const struct steady *steady)
{
    return steady->phase == STEADY_ON && steady->committed >= STEADY_MOST;
}

uint32_t steady_commit(struct steady *steady)
{
    steady->received[steady->rank] = steady->committed + 1;
    return steady->committed++;
}

/* The epoch that frames belong to. */
static uint32_t steady_expected(const struct steady *steady)
{
    return steady->phase == STEADY_OFF ? steady->epoch + 1 : steady->epoch;
}

static int steady_check(const struct steady *steady, int from, uint32_t epoch, uint32_t number,
                        struct err *err)
{
    if (epoch != steady_expected(steady))
        return fail(err, HVD_ERR_PROTOCOL, "a frame of steady state %u, in steady state %u", epoch,
                    steady_expected(steady));
    if (steady->has_left[from] || number != steady->received[from])
        return fail(err, HVD_ERR_PROTOCOL, "operation %u of a steady state comes after %u%s",
                    number, steady->received[from], steady->has_left[from] ? " and the end" : "");
    return HVD_OK;
}

int steady_receive(struct steady *steady, int from, uint32_t epoch, uint32_t number,
                   struct err *err)
{
    uint32_t done = steady->phase == STEADY_OFF ? 0 : steady->done;
    int rc = steady_check(steady, from, epoch, number, err);
    if (rc == HVD_OK && number - done >= STEADY_KEPT)
        rc = fail(err, HVD_ERR_PROTOCOL, "operation %u of a steady state comes when %u are done",
                  number, done);
    if (rc == HVD_OK)
        steady->received[from]++;
    return rc;
}

/* A rank that has left this epoch, and has heard all others leave it, may end before this rank has
 * heard them. */
static bool is_declined(const struct steady *steady, int from, uint32_t epoch, uint32_t number)
{
    return steady->phase == STEADY_LEAVING && steady->has_left[from] && !steady->declines[from] &&
           epoch == steady->epoch + 1 && number == 0;
}

int steady_receive_leave(struct steady *steady, int from, uint32_t epoch, uint32_t number,
                         struct err *err)
{
    if (is_declined(steady, from, epoch, number)) {
        steady->declines[from] = true;
        return 0;
    }
    int rc = steady_check(steady, from, epoch, number, err);
    if (rc < 0)
        return rc;
    steady->has_left[from] = true;
    return steady->phase == STEADY_ON;
}

bool steady_next(struct steady *steady)
{
    if (steady->phase == STEADY_OFF)
        return false;
    for (int rank = 0; rank < steady->size; rank++)
        if (steady->received[rank] == steady->done)
            return false;
    steady->done++;
    return true;
}

void steady_leave(struct steady *steady)
{
    steady->phase = STEADY_LEAVING;
    steady->has_left[steady->rank] = true;
}

uint32_t steady_decline(const struct steady *steady)
{
    return steady->epoch + 1;
}

bool steady_finish(struct steady *steady)
{
    if (steady->phase != STEADY_LEAVING)
        return false;
    for (int rank = 0; rank < steady->size; rank++)
        if (!steady->has_left[rank])
            return false;
    steady->phase = STEADY_OFF;
    memset(steady->received, 0, sizeof steady->received);
    memcpy(steady->has_left, steady->declines, sizeof steady->has_left);
    memset(steady->declines, 0, sizeof steady->declines);
    return true;
}
