/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces, for all hosts or for one:
 *   cut the value at commas, each item at "="; check the host and the rest by themselves.
 * Fails on an empty item, on a malformed host, and on an item that names no interface. */
#include "src/options/interface_option.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_spec.h"
#include "lib/base/interfaces.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct item {
    struct slice host; /* as written; NULL if there is none */
    struct slice what;
};

/* Removes the next item from `rest` and returns it; `rest` is NULL behind the last. */
static struct item next_item(const char **rest)
{
    const char *end = strchrnul(*rest, ',');
    struct slice text = slice_between(*rest, end);
    *rest = *end ? end + 1 : NULL;
    const char *equals = memchr(text.at, '=', text.length);
    struct item item = { .what = slice_trim(text) };
    if (equals) {
        item.host = slice_trim(slice_between(text.at, equals));
        item.what = slice_trim(slice_between(equals + 1, slice_end(text)));
    }
    return item;
}

/* A host without user and slots. */
static bool interface_option_parse_host(struct host_spec *spec, struct slice host,
                                        struct host_fault *fault)
{
    if (!host_spec_parse(spec, host, fault))
        return false;
    if (spec->user.length > 0 || spec->slots > 0)
        return host_fault(fault, host.at, host, "not a host alone", NULL);
    return true;
}

static int check_what(struct slice what, const char *source, struct err *err)
{
    struct err inner = { 0 };
    char *choice = xstrndup(what.at, what.length);
    int rc = interfaces_check_choice(choice, &inner);
    free(choice);
    return rc < 0 ? bad_input(err, source, "%s", inner.text) : HVD_OK;
}

static int check_item(struct item item, const char *value, const char *source, struct err *err)
{
    struct host_spec spec;
    struct host_fault fault;
    struct shown shown;
    if (item.what.length == 0)
        return bad_input(err, source, "empty item: '%s' (expected NAME, ADDRESS or ADDRESS/BITS)",
                         show_token(&shown, value, strlen(value)));
    if (item.host.at && !interface_option_parse_host(&spec, item.host, &fault))
        return bad_input(err, source, "%s: '%s'", fault.problem,
                         show_token(&shown, item.host.at, item.host.length));
    return check_what(item.what, source, err);
}

int check_interfaces(const char *value, const char *source, struct err *err)
{
    for (const char *rest = value; rest;) {
        int rc = check_item(next_item(&rest), value, source, err);
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

/* The name part of a checked host. */
static struct slice host_name(struct slice host)
{
    struct host_spec spec = { 0 };
    struct host_fault fault;
    return host_spec_parse(&spec, host, &fault) ? spec.name : host;
}

static bool is_for(const struct item *item, const char *host)
{
    if (!item->host.at || !host)
        return !item->host.at && !host;
    struct slice name = host_name(item->host);
    return strlen(host) == name.length && strncasecmp(host, name.at, name.length) == 0;
}

/* The items of one host, or with NULL the items for all hosts. */
static void put_items(struct text_buffer *choice, const struct string_list *values,
                      const char *host)
{
    for (size_t i = 0; i < values->count; i++)
        for (const char *rest = values->items[i]; rest;) {
            struct item item = next_item(&rest);
            if (!is_for(&item, host))
                continue;
            text_buffer_put_string(choice, choice->length ? "," : "");
            text_buffer_put(choice, item.what.at, item.what.length);
        }
}

char *interface_option_for(const struct string_list *values, const char *host)
{
    struct text_buffer choice = { 0 };
    put_items(&choice, values, host);
    if (choice.length == 0)
        put_items(&choice, values, NULL);
    return choice.length ? text_buffer_take(&choice) : NULL;
}

void interface_option_hosts(struct string_list *hosts, const struct string_list *values)
{
    for (size_t i = 0; i < values->count; i++)
        for (const char *rest = values->items[i]; rest;) {
            struct item item = next_item(&rest);
            struct slice name = item.host.at ? host_name(item.host) : item.host;
            if (item.host.at)
                string_list_add(hosts, name.at, name.length);
        }
}
