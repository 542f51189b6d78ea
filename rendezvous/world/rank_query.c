/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every rank; see roll_call.h. */
#include "rendezvous/world/rank_query.h"

#include "rendezvous/world/membership_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int roll_call_start(struct roll_call *roll_call, int size, uint64_t now_ms, struct err *err)
{
    assert(!roll_call_is_open(roll_call));
    roll_call_fini(roll_call);
    *roll_call = (struct roll_call){
        .answers = calloc((size_t)size, sizeof *roll_call->answers),
        .size = size,
        .deadline_ms = now_ms + ROLL_CALL_MS,
    };
    return roll_call->answers ? HVD_OK
                              : fail(err, HVD_ERR_NOMEM, "out of memory for %d answers", size);
}

void roll_call_fini(struct roll_call *roll_call)
{
    for (int rank = roll_call->next; roll_call->answers && rank < roll_call->size; rank++)
        free(roll_call->answers[rank]);
    free(roll_call->answers);
    free(roll_call->taken);
    *roll_call = (struct roll_call){ 0 };
}

bool roll_call_is_open(const struct roll_call *roll_call)
{
    return roll_call->answers;
}

int roll_call_text_size(int size)
{
    int share = ROLL_CALL_MEMORY / size;
    if (share > JOIN_REPORT_MAX)
        return JOIN_REPORT_MAX;
    return share < ROLL_CALL_TEXT_MIN ? ROLL_CALL_TEXT_MIN : share;
}

bool roll_call_wants(const struct roll_call *roll_call, const struct membership *membership,
                     int rank)
{
    return roll_call_is_open(roll_call) && rank >= roll_call->next && !roll_call->answers[rank] &&
           membership_can_answer(membership, rank);
}

/* The length of the whole lines of a text that is too long, or as much as there is room for if not
 * even the first one fits. */
static size_t cut(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    if (length < size)
        return length;
    const char *end = memrchr(text, '\n', size - 1);
    return end ? (size_t)(end + 1 - text) : size - 1;
}

void roll_call_answer(struct roll_call *roll_call, int rank, const char *text)
{
    if (!roll_call_is_open(roll_call) || rank < roll_call->next || roll_call->answers[rank])
        return;
    size_t length = cut(text, (size_t)roll_call_text_size(roll_call->size));
    roll_call->answers[rank] = strndup(text, length); /* without memory: no answer */
}

void roll_call_tick(struct roll_call *roll_call, uint64_t now_ms)
{
    if (now_ms >= roll_call_deadline(roll_call))
        roll_call->expired = true;
}

uint64_t roll_call_deadline(const struct roll_call *roll_call)
{
    return roll_call_is_open(roll_call) && !roll_call->expired ? roll_call->deadline_ms
                                                               : MEMBERSHIP_NEVER;
}

static const char *text_of(struct roll_call *roll_call, const struct membership *membership,
                           int rank)
{
    free(roll_call->taken);
    roll_call->taken = roll_call->answers[rank];
    roll_call->answers[rank] = NULL;
    if (roll_call->taken)
        return *roll_call->taken ? roll_call->taken : "nothing to report";
    if (membership_text_absent(roll_call->absent, membership, rank))
        return roll_call->absent;
    return roll_call->expired ? "no answer within 2 s" : NULL;
}

bool roll_call_next(struct roll_call *roll_call, const struct membership *membership, int *rank,
                    const char **text)
{
    if (!roll_call_is_open(roll_call))
        return false;
    if (roll_call->next == roll_call->size) {
        roll_call_fini(roll_call);
        return false;
    }
    *rank = roll_call->next;
    *text = text_of(roll_call, membership, roll_call->next);
    if (!*text)
        return false;
    roll_call->next++;
    return true;
}
