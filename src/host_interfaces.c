/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing out --network-interfaces; see host_interfaces.h. */
#include "src/host_interfaces.h"

#include "launcher/bad_input.h"
#include "launcher/text_buffer.h"
#include "lib/base/interfaces.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char source[] = "--network-interfaces";

/* "node7=ib0": is it about that host? */
static bool is_of_host(const char *item, const char *host)
{
    size_t length = strcspn(item, "=");
    return item[length] == '=' && strlen(host) == length && strncasecmp(item, host, length) == 0;
}

static int check_host(const char *item, const struct rank_plan *plan, struct err *err)
{
    struct shown shown;
    const char *equals = strchr(item, '=');
    for (int i = 0; equals && i < plan->host_count; i++)
        if (is_of_host(item, plan->hosts[i].host->name))
            return HVD_OK;
    return equals ? bad_input(err, source, "no such host in this job: '%s'",
                              show_token(&shown, item, (size_t)(equals - item)))
                  : HVD_OK;
}

/* Joins the items of a host, or with NULL those of no host in particular. */
static char *join_items(const struct string_list *items, const char *host)
{
    struct text_buffer choice = { 0 };
    for (size_t i = 0; i < items->count; i++) {
        const char *item = items->items[i], *equals = strchr(item, '=');
        if (host ? !is_of_host(item, host) : equals != NULL)
            continue;
        text_buffer_printf(&choice, "%s%s", choice.length > 0 ? "," : "",
                           equals ? equals + 1 : item);
    }
    return text_buffer_take(&choice);
}

int host_interfaces_make(struct string_list *choices, const struct string_list *items,
                         const struct rank_plan *plan, struct err *err)
{
    for (size_t i = 0; i < items->count; i++) {
        int rc = check_host(items->items[i], plan, err);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; i < plan->host_count; i++) {
        char *choice = join_items(items, plan->hosts[i].host->name);
        if (!*choice) {
            free(choice);
            choice = join_items(items, NULL);
        }
        string_list_take(choices, choice);
        if (strlen(choice) >= INTERFACE_CHOICE_SIZE)
            return bad_input(err, source, "too long for %s", plan->hosts[i].host->name);
    }
    return HVD_OK;
}
