/* SPDX-License-Identifier: Apache-2.0 */
/* Wording the progress of the hosts; see job_status.h. */
#include "launcher/job/job_status.h"

#include <stdbool.h>
#include <stdio.h>

static bool is_slower(const struct job_status_host *a, const struct job_status_host *b)
{
    return a->step != b->step ? a->step < b->step : a->step_since_ms < b->step_since_ms;
}

void job_status_text(char *text, size_t size, const struct job_status_host *hosts, int nhosts,
                     uint64_t now_ms)
{
    int ready = 0, connected = 0;
    const struct job_status_host *slowest = NULL;
    for (int i = 0; i < nhosts; i++) {
        ready += hosts[i].step == STEP_READY;
        connected += hosts[i].step > STEP_CONNECT;
        if (hosts[i].step != STEP_READY && (!slowest || is_slower(&hosts[i], slowest)))
            slowest = &hosts[i];
    }
    int used = snprintf(text, size, "%d of %d hosts ready, %d connected", ready, nhosts, connected);
    if (!slowest || used < 0 || (size_t)used >= size)
        return;
    uint64_t since_ms = now_ms > slowest->step_since_ms ? now_ms - slowest->step_since_ms : 0;
    snprintf(text + used, size - (size_t)used, "; slowest: %s (%s, %.1f s)", slowest->name,
             host_step_name(slowest->step), (double)since_ms / 1000);
}
