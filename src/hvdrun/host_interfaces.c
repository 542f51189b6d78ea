/* SPDX-License-Identifier: Apache-2.0 */
/* Distributing --network-interfaces; see host_interfaces.h. The interfaces that a choice names are
 * known only on its host, but words that can only mean loopback are recognised here. A choice of
 * loopback is refused only between this machine and a host whose address is not this machine's. */
#include "src/hvdrun/host_interfaces.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "lib/base/interfaces.h"
#include "src/options/interface_option.h"

#include <stdlib.h>
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

/* Checks that the named hosts exist. */
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

int host_interfaces_choose(struct string_list *choices, const struct string_list *values,
                           const struct rank_plan *plan, struct err *err)
{
    int rc = HVD_OK;
    for (int i = 0; rc == HVD_OK && i < plan->host_count; i++) {
        const char *host = plan->hosts[i].host->name;
        char *choice = interface_option_for(values, host);
        string_list_take(choices, choice ? choice : xstrdup(""));
        if (choice && strlen(choice) >= INTERFACE_CHOICE_SIZE)
            rc = bad_input(err, source, "too long for %s", host);
    }
    return rc;
}

int host_interfaces_make(struct string_list *choices, const struct string_list *values,
                         const struct rank_plan *plan, struct err *err)
{
    int rc = check_hosts_named(values, plan, err);
    return rc == HVD_OK ? host_interfaces_choose(choices, values, plan, err) : rc;
}

static bool is_apart(enum host_place a, enum host_place b)
{
    return (a == HOST_HERE && b == HOST_ELSEWHERE) || (a == HOST_ELSEWHERE && b == HOST_HERE);
}

/* Two addresses elsewhere may be one machine's, on two networks. */
static bool may_be_apart(enum host_place a, enum host_place b)
{
    return a != HOST_HERE || b != HOST_HERE;
}

/* A host that is not `but` and is `far` from it, or NULL. */
static const char *other_machine(const struct rank_plan *plan, const enum host_place *places,
                                 int but, bool (*far)(enum host_place, enum host_place))
{
    for (int i = 0; i < plan->host_count; i++)
        if (i != but && far(places[but], places[i]))
            return plan->hosts[i].host->name;
    return NULL;
}

/* For a host whose ranks could be reached by loopback alone. */
static int check_loopback(const struct rank_plan *plan, const enum host_place *places, int i,
                          const char *choice, struct string_list *warnings, struct err *err)
{
    const char *host = plan->hosts[i].host->name, *other;
    struct shown shown;
    show_token(&shown, choice, strlen(choice));
    if ((other = other_machine(plan, places, i, is_apart)))
        return bad_input(err, source, "only loopback on %s, which ranks on %s do not reach: '%s'",
                         host, other, shown.text);
    other = other_machine(plan, places, i, may_be_apart);
    if (other && warnings->count == 0)
        string_list_take(warnings, xasprintf("%s: only loopback on %s, which ranks on %s reach "
                                             "only if both are one machine: '%s'",
                                             source, host, other, shown.text));
    return HVD_OK;
}

int host_interfaces_check(const struct string_list *choices, const struct rank_plan *plan,
                          host_place_fn *place, void *context, struct string_list *warnings,
                          struct err *err)
{
    enum host_place *places = NULL;
    int rc = HVD_OK;
    for (int i = 0; i < plan->host_count && rc == HVD_OK; i++) {
        const char *choice = choices->items[i];
        if (!*choice || !interfaces_choice_is_loopback(choice))
            continue;
        if (!places) {
            places = xcalloc((size_t)plan->host_count, sizeof *places);
            for (int j = 0; j < plan->host_count; j++)
                places[j] = place(context, plan->hosts[j].host->name);
        }
        rc = check_loopback(plan, places, i, choice, warnings, err);
    }
    free(places);
    return rc;
}
