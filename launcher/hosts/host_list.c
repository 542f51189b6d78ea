/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a job from the text of -H:
 *   cut at commas, trim blanks, parse each entry (host_spec.c), append, look for duplicates by
 *   sorting.
 * Fails on an empty text or entry, on an entry that host_spec.c refuses, beyond HOST_COUNT_MAX
 * hosts, and on a host that is given twice, also in another case or, for IPv6, in another
 * spelling. */
#include "launcher/hosts/host_list.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_list_build.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void host_list_fini(struct host_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->hosts[i].name);
        free(list->hosts[i].user);
    }
    free(list->hosts);
    *list = (struct host_list){ 0 };
}

int host_list_end(struct host_list *list, int rc)
{
    if (rc < 0)
        host_list_fini(list);
    return rc;
}

int host_list_slots(const struct host_list *list)
{
    int slots = 0;
    for (int i = 0; i < list->count; i++)
        slots += list->hosts[i].slots;
    return slots;
}

int host_source_fail(const struct host_source *source, const struct host_fault *fault,
                     struct err *err)
{
    size_t column = (size_t)(fault->at - source->line_start) + 1;
    struct shown shown;
    show_token(&shown, fault->token.at, fault->token.length);
    const char *hint = fault->hint ? fault->hint : "";
    const char *open = *hint ? " (" : "", *close = *hint ? ")" : "";
    if (!source->is_file)
        return bad_input(err, source->name, "%s at column %zu: '%s'%s%s%s", fault->problem, column,
                         shown.text, open, hint, close);
    char *name = xasprintf("%s:%d:%zu", source->name, source->line, column);
    int rc = bad_input(err, name, "%s: '%s'%s%s%s", fault->problem, shown.text, open, hint, close);
    free(name);
    return rc;
}

/* The capacity is the next power of two. */
static struct host_slots *host_list_append(struct host_list *list)
{
    bool full = (list->count & (list->count - 1)) == 0;
    if (full)
        list->hosts = xreallocarray(list->hosts, (size_t)list->count * 2 + 1, sizeof *list->hosts);
    return &list->hosts[list->count++];
}

int host_list_add(struct host_list *list, const struct host_spec *spec,
                  const struct host_source *source, struct err *err)
{
    if (list->count == HOST_COUNT_MAX)
        return bad_input(err, source->name, "more than %d hosts", HOST_COUNT_MAX);
    *host_list_append(list) = (struct host_slots){
        .name = xstrndup(spec->name.at, spec->name.length),
        .user = spec->user.length ? xstrndup(spec->user.at, spec->user.length) : NULL,
        .slots = spec->slots ? spec->slots : 1,
        .line = source->line,
        .column = (int)(spec->name.at - source->line_start) + 1,
    };
    return HVD_OK;
}

void host_list_make_local(struct host_list *list, int slots)
{
    *list = (struct host_list){ 0 };
    *host_list_append(list) =
        (struct host_slots){ .name = xstrdup("localhost"), .slots = slots, .line = 1 };
}

/* A host with the name that all its spellings share. */
struct host_key {
    char *key;
    int index;
};

char *host_name_fold(const char *name)
{
    struct in6_addr address;
    char canonical[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, name, &address) == 1)
        name = inet_ntop(AF_INET6, &address, canonical, sizeof canonical);
    char *folded = xstrdup(name);
    for (char *at = folded; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return folded;
}

static int compare_keys(const void *a, const void *b)
{
    const struct host_key *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order ? order : left->index - right->index;
}

static struct host_key *sorted_keys(const struct host_list *list)
{
    struct host_key *keys = xcalloc((size_t)list->count, sizeof *keys);
    for (int i = 0; i < list->count; i++)
        keys[i] = (struct host_key){ host_name_fold(list->hosts[i].name), i };
    qsort(keys, (size_t)list->count, sizeof *keys, compare_keys);
    return keys;
}

/* Finds the first host that repeats an earlier one, and the earlier one; false if there is none. */
static bool find_repeated(const struct host_list *list, int *first, int *again)
{
    struct host_key *keys = sorted_keys(list);
    *first = *again = list->count;
    for (int i = 1; i < list->count; i++) {
        if (strcmp(keys[i - 1].key, keys[i].key) == 0 && keys[i].index < *again) {
            *first = keys[i - 1].index;
            *again = keys[i].index;
        }
    }
    for (int i = 0; i < list->count; i++)
        free(keys[i].key);
    free(keys);
    return *again < list->count;
}

int host_list_check_unique(const struct host_list *list, const struct host_source *source,
                           struct err *err)
{
    int first, again;
    struct shown shown;
    if (!find_repeated(list, &first, &again))
        return HVD_OK;
    const struct host_slots *host = &list->hosts[again];
    show_token(&shown, host->name, strlen(host->name));
    if (!source->is_file)
        return bad_input(err, source->name, "host '%s' is given twice", shown.text);
    char *name = xasprintf("%s:%d:%d", source->name, host->line, host->column);
    int rc = bad_input(err, name, "host '%s' is given twice, first in line %d", shown.text,
                       list->hosts[first].line);
    free(name);
    return rc;
}

/* Removes the text up to the next comma from `rest` and returns it. `rest` starts with NULL after
 * the last entry. */
static struct slice host_list_next_entry(struct slice *rest)
{
    const char *comma = memchr(rest->at, ',', rest->length);
    struct slice entry = { rest->at, comma ? (size_t)(comma - rest->at) : rest->length };
    rest->length -= entry.length + (comma ? 1 : 0);
    rest->at = comma ? comma + 1 : NULL;
    return slice_trim(entry);
}

/* A blank or a semicolon in place of the comma. */
static void hint_at_comma(struct host_fault *fault, struct slice entry)
{
    if (!fault->hint && fault->at < slice_end(entry) && (*fault->at == ' ' || *fault->at == ';'))
        fault->hint = "a comma stands between hosts";
}

static int parse_entries(struct host_list *list, struct slice text,
                         const struct host_source *source, struct err *err)
{
    struct slice rest = text;
    struct shown shown;
    for (int position = 1; rest.at; position++) {
        struct slice entry = host_list_next_entry(&rest);
        struct host_spec spec;
        struct host_fault fault;
        if (entry.length == 0)
            return bad_input(err, source->name, "empty entry at position %d: '%s'", position,
                             show_token(&shown, text.at, text.length));
        if (!host_spec_parse(&spec, entry, &fault)) {
            hint_at_comma(&fault, entry);
            return host_source_fail(source, &fault, err);
        }
        if (host_list_add(list, &spec, source, err) < 0)
            return HVD_ERR_INVALID;
    }
    return HVD_OK;
}

int host_list_parse(struct host_list *list, const char *text, size_t length, const char *source,
                    struct err *err)
{
    struct slice all = { text, length };
    struct host_source at = { .name = source, .line = 1, .line_start = text };
    struct shown shown;
    *list = (struct host_list){ 0 };
    if (slice_trim(all).length == 0)
        return bad_input(err, source, "no host given: '%s'", show_token(&shown, text, length));
    int rc = parse_entries(list, all, &at, err);
    if (rc == HVD_OK)
        rc = host_list_check_unique(list, &at, err);
    return host_list_end(list, rc);
}
