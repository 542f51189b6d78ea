/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments judged by themselves; see arguments.h. When memory for the judgement runs out, the call
 * returns its own status unchanged. */
#include "lib/request/arguments.h"

#include "lib/request/request.h"

#include <limits.h>
#include <stdlib.h>

static int check_set(const char *label, int process_set, struct err *err)
{
    if (process_set < 0)
        return fail(err, HVD_ERR_INVALID, "%s: there is no process set %d", label, process_set);
    return HVD_OK;
}

static int check_option_set(const struct submission *submission, struct err *err)
{
    char label[REQUEST_LABEL];
    const struct hvd_tensor *tensors = submission->tensors;
    request_label(label, submission->kind, tensors ? tensors->name : NULL);
    return check_set(label, submission->options ? submission->options->process_set : 0, err);
}

static int arguments_describe(struct description *descriptions, const struct submission *submission,
                              struct err *err)
{
    int rc = HVD_OK;
    for (int i = 0; rc == HVD_OK && i < submission->count; i++) {
        const struct hvd_tensor *tensor = submission->tensors ? &submission->tensors[i] : NULL;
        rc = request_describe(&descriptions[i], submission->kind, tensor,
                              tensor ? submission->op : 0, submission->root, submission->options,
                              NULL, err);
    }
    return rc;
}

static int check_tensors(const struct submission *submission, struct err *err)
{
    struct description *descriptions = calloc((size_t)submission->count, sizeof *descriptions);
    if (!descriptions)
        return HVD_OK;
    int rc = arguments_describe(descriptions, submission, err);
    if (rc == HVD_OK && submission->grouped)
        rc = request_group(descriptions, submission->tensors, submission->count, submission->kind,
                           err);
    if (rc == HVD_OK && submission->kind == COLLECTIVE_ALLTOALL)
        rc =
            request_check_splits(submission->splits, submission->nsplits, submission->tensors, err);
    free(descriptions);
    return rc;
}

/* Returns the mistake, if any. */
static int arguments_answer(int rc, const struct err *own, struct err *err)
{
    if (own->code != HVD_ERR_INVALID)
        return rc;
    *err = *own;
    return own->code;
}

int arguments_first(int rc, const struct submission *submission, struct err *err)
{
    struct err own; /* not filled, which is half a kilobyte */
    if (rc >= 0)
        return rc;
    own.code = HVD_OK;
    if (check_tensors(submission, &own) == HVD_OK)
        check_option_set(submission, &own);
    return arguments_answer(rc, &own, err);
}

int arguments_first_handle(int rc, int64_t handle, struct err *err)
{
    struct err own;
    own.code = HVD_OK;
    if (rc < 0 && handle < 1)
        fail(&own, HVD_ERR_INVALID, "there is no handle %lld", (long long)handle);
    return arguments_answer(rc, &own, err);
}

int arguments_first_set(int rc, int process_set, struct err *err)
{
    struct err own;
    own.code = HVD_OK;
    if (rc < 0)
        check_set("process set", process_set, &own);
    return arguments_answer(rc, &own, err);
}

int arguments_first_ranks(int rc, const int *ranks, int count, struct err *err)
{
    struct err own = { .code = HVD_OK };
    int *sorted = rc < 0 ? calloc(count > 0 ? (size_t)count : 1, sizeof *sorted) : NULL;
    if (sorted)
        request_ranks(sorted, ranks, count, INT_MAX, &own);
    free(sorted);
    return arguments_answer(rc, &own, err);
}
