/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's short forms of hosts and counts; see slurm_list.h.
 *   hosts:  cut at commas outside brackets; for each number of the first bracket, and of those
 *           behind it in turn, a name; check the name (host_spec.c); append.
 *   counts: cut at commas, give COUNT to the next TIMES hosts.
 * Fails on an empty entry, a bracket that is not closed, a range that is malformed, goes backwards
 * or is larger than HOST_COUNT_MAX, a malformed name, more hosts than HOST_COUNT_MAX; on a
 * malformed count, and on counts for fewer or more hosts than there are. */
#include "launcher/hosts/slurm_list.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"
#include "launcher/hosts/host_list_build.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_MAX = 999999999, NAME_ROOM = 256 };

/* Removes the text up to the next comma outside brackets from `rest` and returns it. `rest` starts
 * with NULL after the last entry. */
static struct slice slurm_list_next_entry(struct slice *rest)
{
    const char *at = rest->at, *end = slice_end(*rest);
    for (bool inside = false; at < end && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    struct slice entry = slice_between(rest->at, at);
    *rest = at < end ? slice_between(at + 1, end) : (struct slice){ NULL, 0 };
    return slice_trim(entry);
}

/* ---- hosts ---- */

/* The expansion of one entry into names. */
struct expansion {
    struct host_list *list;
    const struct host_source *source;
    struct slice entry;
    char name[NAME_ROOM]; /* the text before the remaining brackets */
    size_t length;
};

static int slurm_list_refuse(const struct expansion *expansion, const char *at, const char *problem,
                             const char *hint, struct err *err)
{
    struct host_fault fault;
    host_fault(&fault, at, expansion->entry, problem, hint);
    return host_source_fail(expansion->source, &fault, err);
}

/* False if there is no room: no host has so long a name. */
static bool slurm_list_put(struct expansion *expansion, struct slice part)
{
    if (part.length > sizeof expansion->name - expansion->length)
        return false;
    memcpy(expansion->name + expansion->length, part.at, part.length);
    expansion->length += part.length;
    return true;
}

static int add_name(struct expansion *expansion, struct err *err)
{
    struct host_spec spec;
    struct host_fault fault;
    const char *at = expansion->entry.at;
    struct slice name = { expansion->name, expansion->length };
    struct host_source source = { .name = expansion->source->name,
                                  .line = 1,
                                  .line_start = expansion->name };
    if (!host_spec_parse(&spec, name, &fault))
        return slurm_list_refuse(expansion, at, fault.problem, fault.hint, err);
    if (spec.user.length > 0 || spec.slots > 0)
        return slurm_list_refuse(expansion, at, "bad character in host name", NULL, err);
    return host_list_add(expansion->list, &spec, &source, err);
}

struct range {
    int first, last;
    int width; /* minimum number of digits, with zeros in front */
};

static int parse_range(const struct expansion *expansion, struct range *range, struct slice text,
                       struct err *err)
{
    const char *dash = memchr(text.at, '-', text.length);
    struct slice first = slice_between(text.at, dash ? dash : slice_end(text));
    struct slice last = dash ? slice_between(dash + 1, slice_end(text)) : first;
    range->width = (int)first.length;
    if (number_parse(&range->first, first.at, first.length, 0, NUMBER_MAX) != NUMBER_OK ||
        number_parse(&range->last, last.at, last.length, 0, NUMBER_MAX) != NUMBER_OK)
        return slurm_list_refuse(expansion, text.at, "bad range", "expected NUMBER or FIRST-LAST",
                                 err);
    if (range->last < range->first)
        return slurm_list_refuse(expansion, text.at, "range goes backwards", "expected FIRST-LAST",
                                 err);
    if (range->last - range->first >= HOST_COUNT_MAX)
        return slurm_list_refuse(expansion, text.at, "range is too large", "at most 16384 hosts",
                                 err);
    return HVD_OK;
}

static int expand(struct expansion *expansion, struct slice rest, struct err *err);

/* Adds names for each number of the range; `rest` is the text behind the bracket. */
static int expand_range(struct expansion *expansion, const struct range *range, struct slice rest,
                        struct err *err)
{
    int rc = HVD_OK;
    size_t before = expansion->length;
    for (int number = range->first; rc == HVD_OK && number <= range->last; number++) {
        char digits[16];
        int length = snprintf(digits, sizeof digits, "%0*d", range->width, number);
        if (!slurm_list_put(expansion, (struct slice){ digits, (size_t)length }))
            return slurm_list_refuse(expansion, rest.at, "host name is too long",
                                     "at most 253 bytes", err);
        rc = expand(expansion, rest, err);
        expansion->length = before;
    }
    return rc;
}

/* `rest` begins behind a "[". */
static int expand_bracket(struct expansion *expansion, struct slice rest, struct err *err)
{
    const char *close = memchr(rest.at, ']', rest.length);
    if (!close)
        return slurm_list_refuse(expansion, rest.at - 1, "'[' without ']'", NULL, err);
    struct slice ranges = slice_between(rest.at, close);
    struct slice behind = slice_between(close + 1, slice_end(rest));
    while (ranges.at) {
        struct range range;
        if (parse_range(expansion, &range, slurm_list_next_entry(&ranges), err) < 0 ||
            expand_range(expansion, &range, behind, err) < 0)
            return HVD_ERR_INVALID;
    }
    return HVD_OK;
}

/* Appends `rest` to the name so far. Each bracket makes the name longer, which bounds the depth. */
static int expand(struct expansion *expansion, struct slice rest, struct err *err)
{
    const char *open = memchr(rest.at, '[', rest.length);
    size_t before = expansion->length;
    if (!slurm_list_put(expansion, slice_between(rest.at, open ? open : slice_end(rest))))
        return slurm_list_refuse(expansion, rest.at, "host name is too long", "at most 253 bytes",
                                 err);
    int rc = open ? expand_bracket(expansion, slice_between(open + 1, slice_end(rest)), err)
                  : add_name(expansion, err);
    expansion->length = before;
    return rc;
}

int slurm_list_add_hosts(struct host_list *list, const char *text, const char *source,
                         struct err *err)
{
    struct host_source at = { .name = source, .line = 1, .line_start = text };
    struct slice rest = { text, strlen(text) };
    while (rest.at) {
        struct expansion expansion = { .list = list, .source = &at };
        expansion.entry = slurm_list_next_entry(&rest);
        if (expansion.entry.length == 0)
            return slurm_list_refuse(&expansion, expansion.entry.at, "empty entry",
                                     "expected a host", err);
        if (expand(&expansion, expansion.entry, err) < 0)
            return HVD_ERR_INVALID;
    }
    return host_list_check_unique(list, &at, err);
}

/* ---- counts ---- */

/* "4" or "4(x2)". */
static bool parse_count(int *count, int *times, struct slice text)
{
    const char *open = memchr(text.at, '(', text.length);
    *times = 1;
    if (!host_slots_parse(count, slice_between(text.at, open ? open : slice_end(text))))
        return false;
    if (!open)
        return true;
    struct slice repeat = slice_between(open, slice_end(text));
    return repeat.length > 3 && repeat.at[1] == 'x' && slice_end(repeat)[-1] == ')' &&
           number_parse(times, repeat.at + 2, repeat.length - 3, 1, HOST_COUNT_MAX) == NUMBER_OK;
}

int slurm_list_set_slots(struct host_list *list, const char *text, const char *source,
                         struct err *err)
{
    struct host_source at = { .name = source, .line = 1, .line_start = text };
    struct slice rest = { text, strlen(text) };
    struct shown shown;
    int next = 0, count, times;
    while (rest.at) {
        struct slice entry = slurm_list_next_entry(&rest);
        struct host_fault fault;
        if (!parse_count(&count, &times, entry)) {
            host_fault(&fault, entry.at, entry, "bad slot count",
                       "expected COUNT or COUNT(xTIMES)");
            return host_source_fail(&at, &fault, err);
        }
        for (; times > 0 && next < list->count; times--)
            list->hosts[next++].slots = count;
        if (times > 0)
            return bad_input(err, source, "counts for more than the %d hosts of the job: '%s'",
                             list->count, show_token(&shown, text, strlen(text)));
    }
    if (next < list->count)
        return bad_input(err, source, "counts for %d of the %d hosts of the job: '%s'", next,
                         list->count, show_token(&shown, text, strlen(text)));
    return HVD_OK;
}
