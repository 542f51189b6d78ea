/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts from the output of a script:
 *   cut into lines, parse each (host_spec.c), append, sort to find repeated hosts, drop those.
 * Fails as host_lines.h says. */
#include "launcher/hosts/host_lines.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "launcher/hosts/host_list_build.h"

#include <stdlib.h>
#include <string.h>

static bool has_blank(struct slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if (is_blank(text.at[i]))
            return true;
    return false;
}

static int host_line_parse(struct host_list *list, struct slice line, int slots,
                           const struct host_source *source, struct err *err)
{
    struct host_spec spec;
    struct host_fault fault;
    struct slice text = line;
    if (text.length > 0 && slice_end(text)[-1] == '\r')
        text.length--;
    text = slice_trim(text);
    if (text.length == 0)
        return HVD_OK;
    if (text.length > HOSTFILE_LINE_MAX) {
        host_fault(&fault, text.at, text, "line is too long", "at most 4096 bytes");
        return host_source_fail(source, &fault, err);
    }
    if (!host_spec_parse(&spec, text, &fault)) {
        if (!fault.hint && has_blank(text))
            fault.hint = "a line is HOST or HOST:SLOTS";
        return host_source_fail(source, &fault, err);
    }
    if (spec.slots == 0)
        spec.slots = slots;
    return host_list_add(list, &spec, source, err);
}

static int host_lines_parse_all(struct host_list *list, struct slice text, int slots,
                                struct host_source *source, struct err *err)
{
    for (const char *at = text.at, *end = slice_end(text); at < end; source->line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct slice line = slice_between(at, newline ? newline : end);
        source->line_start = at;
        int rc = host_line_parse(list, line, slots, source, err);
        if (rc < 0)
            return rc;
        at = newline ? newline + 1 : end;
    }
    return HVD_OK;
}

/* ---- repeated lines ---- */

struct host_line {
    char *key; /* owned; from host_name_fold() */
    int index; /* in the list */
};

static int compare_host_lines(const void *a, const void *b)
{
    const struct host_line *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

static bool is_same_host(const struct host_slots *a, const struct host_slots *b)
{
    return a->slots == b->slots && strcmp(a->user ? a->user : "", b->user ? b->user : "") == 0;
}

/* The same host stands in two lines that differ; `again` is the later one. */
static int host_lines_refuse_repeated(const struct host_slots *before,
                                      const struct host_slots *again, const char *source,
                                      struct err *err)
{
    struct shown shown;
    char *place = xasprintf("%s:%d:%d", source, again->line, again->column);
    show_token(&shown, again->name, strlen(again->name));
    if (before->slots != again->slots)
        bad_input(err, place, "host '%s' is given twice, with %d and %d slots", shown.text,
                  before->slots, again->slots);
    else
        bad_input(err, place, "host '%s' is given twice, with two users", shown.text);
    free(place);
    return HVD_ERR_INVALID;
}

/* Marks a repeated host by 0 slots. */
static int host_lines_mark_repeated(struct host_list *list, const struct host_line *lines,
                                    const char *source, struct err *err)
{
    for (int i = 1, first = 0; i < list->count; i++) {
        struct host_slots *host = &list->hosts[lines[i].index];
        const struct host_slots *before = &list->hosts[lines[first].index];
        if (strcmp(lines[i].key, lines[first].key) != 0) {
            first = i;
        } else if (is_same_host(before, host)) {
            host->slots = 0;
        } else {
            return host_lines_refuse_repeated(before, host, source, err);
        }
    }
    return HVD_OK;
}

static void host_lines_drop_marked(struct host_list *list)
{
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->hosts[i].slots > 0) {
            list->hosts[kept++] = list->hosts[i];
        } else {
            free(list->hosts[i].name);
            free(list->hosts[i].user);
        }
    }
    list->count = kept;
}

static int host_lines_unite(struct host_list *list, const char *source, struct err *err)
{
    struct host_line *lines = xcalloc((size_t)list->count + 1, sizeof *lines);
    for (int i = 0; i < list->count; i++)
        lines[i] = (struct host_line){ host_name_fold(list->hosts[i].name), i };
    qsort(lines, (size_t)list->count, sizeof *lines, compare_host_lines);
    int count = list->count, rc = host_lines_mark_repeated(list, lines, source, err);
    if (rc == HVD_OK)
        host_lines_drop_marked(list);
    for (int i = 0; i < count; i++)
        free(lines[i].key);
    free(lines);
    return rc;
}

int host_list_parse_lines(struct host_list *list, const char *text, size_t length, int slots,
                          const char *source, struct err *err)
{
    struct host_source at = { .name = source, .is_file = true, .line = 1, .line_start = text };
    *list = (struct host_list){ 0 };
    int rc = host_lines_parse_all(list, (struct slice){ text, length }, slots, &at, err);
    if (rc == HVD_OK)
        rc = host_lines_unite(list, source, err);
    return host_list_end(list, rc);
}
