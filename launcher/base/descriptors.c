/* SPDX-License-Identifier: Apache-2.0 */
/* The limit on open descriptors; see descriptors.h. */
#include "launcher/base/descriptors.h"

#include <errno.h>
#include <stdbool.h>

static bool allows(rlim_t limit, unsigned long needed)
{
    return limit == RLIM_INFINITY || limit >= needed;
}

int descriptors_allow(unsigned long needed, struct rlimit *before, struct err *err)
{
    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "getrlimit");
    if (allows(before->rlim_cur, needed))
        return HVD_OK;
    struct rlimit raised = { .rlim_cur = needed, .rlim_max = before->rlim_max };
    if (allows(before->rlim_max, needed) && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return HVD_OK;
    return fail(err, HVD_ERR_SYSTEM,
                "%lu descriptors are needed, at most %llu are allowed (ulimit -Hn)", needed,
                (unsigned long long)before->rlim_max);
}
