/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a range of ports with the ranks of each host; see host_ports.h. */
#include "src/hvdrun/host_ports.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"

#include <string.h>

int host_ports_check(const char *range, const char *source, const struct rank_plan *plan,
                     struct err *err)
{
    struct shown shown, host;
    int low = 0, high = 0, rc = port_range_parse(&low, &high, range, source, err);
    int count = high - low + 1;
    for (int i = 0; rc == HVD_OK && i < plan->host_count; i++) {
        const struct rank_host *at = &plan->hosts[i];
        if (at->local_size > count)
            return bad_input(err, source, "'%s' has %d port%s, and the ranks on %s need %d",
                             show_token(&shown, range, strlen(range)), count, count == 1 ? "" : "s",
                             show_token(&host, at->host->name, strlen(at->host->name)),
                             at->local_size);
    }
    return rc;
}
