/* SPDX-License-Identifier: Apache-2.0 */
/* Asking every rank; see rank_query.h. */
#include "rendezvous/world/rank_query.h"

#include "rendezvous/world/membership_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int rank_query_start(struct rank_query *rank_query, int size, uint64_t now_ms, struct err *err)
{
    assert(!rank_query_is_open(rank_query));
    rank_query_fini(rank_query);
    *rank_query = (struct rank_query){
        .answers = calloc((size_t)size, sizeof *rank_query->answers),
        .size = size,
        .deadline_ms = now_ms + RANK_QUERY_MS,
    };
    return rank_query->answers ? HVD_OK
                               : fail(err, HVD_ERR_NOMEM, "out of memory for %d answers", size);
}

void rank_query_fini(struct rank_query *rank_query)
{
    for (int rank = rank_query->next; rank_query->answers && rank < rank_query->size; rank++)
        free(rank_query->answers[rank].text);
    free(rank_query->answers);
    free(rank_query->taken);
    *rank_query = (struct rank_query){ 0 };
}

bool rank_query_is_open(const struct rank_query *rank_query)
{
    return rank_query->answers;
}

int rank_query_text_size(int size)
{
    int share = RANK_QUERY_MEMORY / size;
    if (share > JOIN_REPORT_MAX)
        return JOIN_REPORT_MAX;
    return share < RANK_QUERY_TEXT_MIN ? RANK_QUERY_TEXT_MIN : share;
}

bool rank_query_wants(const struct rank_query *rank_query, const struct membership *membership,
                      int rank)
{
    return rank_query_is_open(rank_query) && rank >= rank_query->next &&
           !rank_query->answers[rank].text && membership_can_answer(membership, rank);
}

/* The length of the whole lines of a text that is too long, or as much as there is room for if not
 * even the first one fits. */
static size_t rank_query_cut(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    if (length < size)
        return length;
    const char *end = memrchr(text, '\n', size - 1);
    return end ? (size_t)(end + 1 - text) : size - 1;
}

void rank_query_answer(struct rank_query *rank_query, int rank, enum rank_waits_for waits_for,
                       const char *text)
{
    if (!rank_query_is_open(rank_query) || rank < rank_query->next ||
        rank_query->answers[rank].text)
        return;
    size_t length = rank_query_cut(text, (size_t)rank_query_text_size(rank_query->size));
    rank_query->answers[rank].text = strndup(text, length); /* without memory: no answer */
    if (rank_query->answers[rank].text)
        rank_query->answers[rank].waits_for = waits_for;
}

void rank_query_tick(struct rank_query *rank_query, uint64_t now_ms)
{
    if (now_ms >= rank_query_deadline(rank_query))
        rank_query->expired = true;
}

uint64_t rank_query_deadline(const struct rank_query *rank_query)
{
    return rank_query_is_open(rank_query) && !rank_query->expired ? rank_query->deadline_ms
                                                                  : MEMBERSHIP_NEVER;
}

static const char *text_of(struct rank_query *rank_query, const struct membership *membership,
                           int rank)
{
    free(rank_query->taken);
    rank_query->taken = rank_query->answers[rank].text;
    rank_query->answers[rank].text = NULL;
    if (rank_query->taken)
        return *rank_query->taken ? rank_query->taken : "nothing to report";
    if (membership_text_absent(rank_query->absent, membership, rank))
        return rank_query->absent;
    return rank_query->expired ? "no answer within 2 s" : NULL;
}

bool rank_query_next(struct rank_query *rank_query, const struct membership *membership, int *rank,
                     enum rank_waits_for *waits_for, const char **text)
{
    if (!rank_query_is_open(rank_query))
        return false;
    if (rank_query->next == rank_query->size) {
        rank_query_fini(rank_query);
        return false;
    }
    *rank = rank_query->next;
    *waits_for = rank_query->answers[rank_query->next].waits_for;
    *text = text_of(rank_query, membership, rank_query->next);
    if (!*text)
        return false;
    rank_query->next++;
    return true;
}
