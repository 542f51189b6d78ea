/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing out --network-interfaces; see host_interfaces.h. */
#include "src/host_interfaces.h"

#include "launcher/bad_input.h"
#include "launcher/xalloc.h"
#include "lib/base/interfaces.h"
#include "src/interface_option.h"

#include <string.h>
#include <strings.h>

static const char source[] = "--network-interfaces";

static int check_host(const char *host, const struct rank_plan *plan, struct err *err)
{
    struct shown shown;
    for (int i = 0; i < plan->host_count; i++)
        if (strcasecmp(host, plan->hosts[i].host->name) == 0)
            return HVD_OK;
    return bad_input(err, source, "no such host in this job: '%s'",
                     show_token(&shown, host, strlen(host)));
}

/* The hosts that are named must be there. */
static int check_hosts_named(const struct string_list *values, const struct rank_plan *plan,
                             struct err *err)
{
    struct string_list named = { 0 };
    int rc = HVD_OK;
    interface_option_hosts(&named, values);
    for (size_t i = 0; i < named.count && rc == HVD_OK; i++)
        rc = check_host(named.items[i], plan, err);
    string_list_fini(&named);
    return rc;
}

int host_interfaces_make(struct string_list *choices, const struct string_list *values,
                         const struct rank_plan *plan, struct err *err)
{
    int rc = check_hosts_named(values, plan, err);
    for (int i = 0; rc == HVD_OK && i < plan->host_count; i++) {
        const char *host = plan->hosts[i].host->name;
        char *choice = interface_option_for(values, host);
        string_list_take(choices, choice ? choice : xstrdup(""));
        if (choice && strlen(choice) >= INTERFACE_CHOICE_SIZE)
            rc = bad_input(err, source, "too long for %s", host);
    }
    return rc;
}
