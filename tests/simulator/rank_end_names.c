/* SPDX-License-Identifier: Apache-2.0 */
/* rank_end_text.h with the names of enumerators instead of sentences, and without the rank, the
 * host and the words: linked into simulate_names in place of lib/base/rank_end_text.c. A program
 * that read one of the sentences would decide something else here. */
#include "lib/base/rank_end_text.h"

#include <stdio.h>

#define NAME(kind) [RANK_END_##kind] = #kind

static const char *const names[RANK_END_KINDS] = {
    NAME(NONE),
    NAME(EXITED),
    NAME(KILLED),
    NAME(STOPPED),
    NAME(HOST_LOST),
    NAME(NOT_STARTED),
    NAME(NOT_KILLED),
    NAME(LEFT),
    NAME(DISCONNECTED),
    NAME(UNREACHABLE),
    NAME(FAILED),
    NAME(TIMEOUT),
    NAME(RENDEZVOUS_LOST),
    NAME(BY_REQUEST),
};

void rank_end_how_text(char *text, size_t size, const struct rank_end_how *how,
                       enum rank_end_form form)
{
    (void)form;
    snprintf(text, size, "%s", names[how->kind]);
}

void rank_end_missed_text(char *text, size_t size, const struct rank_end *end)
{
    snprintf(text, size, "%s", names[end->how.kind]);
}

void rank_end_text(char *text, size_t size, const struct rank_end *end)
{
    snprintf(text, size, "%s", names[end->how.kind]);
}

int rank_end_fail(struct err *err, const struct rank_end *end)
{
    return fail(err, end->status, "%s", names[end->how.kind]);
}
