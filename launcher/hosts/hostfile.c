/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of a job from the text of a hostfile:
 *   skip a BOM, cut into lines, cut the comment off, parse the host (host_spec.c) and what follows
 *   it, append, look for duplicates.
 * Fails, naming line and column, on a file that is not text, on a line that is too long, on a host
 * that host_spec.c refuses, on words that are not slots=N or max_slots=N, on fewer max_slots than
 * slots, on a host that is given twice, and without any host. */
#include "launcher/base/bad_input.h"
#include "launcher/hosts/host_list_build.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Removes the next word from `rest` and returns it; "=" is a word of its own. Empty at the end. */
static struct slice hostfile_next_word(struct slice *rest)
{
    const char *at = rest->at, *end = slice_end(*rest);
    while (at < end && is_blank(*at))
        at++;
    const char *start = at;
    while (at < end && !is_blank(*at) && *at != '=')
        at++;
    if (at == start && at < end)
        at++;
    *rest = slice_between(at, end);
    return slice_between(start, at);
}

static bool is_equals(struct slice word)
{
    return word.length == 1 && *word.at == '=';
}

/* The words that may follow a host. */
enum key { KEY_SLOTS, KEY_MAX_SLOTS, KEY_COUNT };

static const char *const key_names[KEY_COUNT] = {
    [KEY_SLOTS] = "slots",
    [KEY_MAX_SLOTS] = "max_slots",
};

static enum key find_key(struct slice word)
{
    for (int key = 0; key < KEY_COUNT; key++)
        if (strlen(key_names[key]) == word.length &&
            strncasecmp(key_names[key], word.at, word.length) == 0)
            return (enum key)key;
    return KEY_COUNT;
}

/* Parses "= VALUE" behind the word `name`; values[key] is 0 until given. */
static bool parse_setting(int values[KEY_COUNT], struct slice name, struct slice *rest,
                          struct host_fault *fault)
{
    if (is_equals(name) || !is_equals(hostfile_next_word(rest)))
        return host_fault(fault, name.at, name, "unexpected word", "expected slots=N");
    struct slice value = hostfile_next_word(rest);
    struct slice setting = slice_between(name.at, slice_end(value));
    enum key key = find_key(name);
    if (key == KEY_COUNT)
        return host_fault(fault, name.at, name, "unknown key", "known are slots and max_slots");
    if (values[key])
        return host_fault(fault, name.at, setting, "slot count given twice", NULL);
    if (!host_slots_parse(&values[key], value))
        return host_fault(fault, value.length ? value.at : name.at, setting, "bad slot count",
                          "1 to 65536");
    return true;
}

static bool hostfile_parse_host(struct host_spec *spec, struct slice text, struct host_fault *fault)
{
    struct slice rest = text;
    struct slice host = hostfile_next_word(&rest);
    if (!host_spec_parse(spec, host, fault))
        return false;
    int values[KEY_COUNT] = { [KEY_SLOTS] = spec->slots };
    struct slice word;
    while ((word = hostfile_next_word(&rest)).length > 0)
        if (!parse_setting(values, word, &rest, fault))
            return false;
    spec->slots = values[KEY_SLOTS] ? values[KEY_SLOTS] : 1;
    if (values[KEY_MAX_SLOTS] && values[KEY_MAX_SLOTS] < spec->slots)
        return host_fault(fault, host.at, text, "max_slots is less than slots", NULL);
    return true;
}

static bool check_line(struct slice line, struct host_fault *fault)
{
    const char *nul = memchr(line.at, '\0', line.length);
    if (nul)
        return host_fault(fault, nul, line, "not a text file (byte 0x00)", NULL);
    if (line.length > HOSTFILE_LINE_MAX)
        return host_fault(fault, line.at, line, "line is too long", "at most 4096 bytes");
    return true;
}

/* A line without its comment and the blanks around the rest. */
static struct slice trim_line(struct slice line)
{
    const char *comment = memchr(line.at, '#', line.length);
    if (comment)
        line = slice_between(line.at, comment);
    else if (line.length > 0 && slice_end(line)[-1] == '\r')
        line.length--;
    return slice_trim(line);
}

static int parse_line(struct host_list *list, struct slice line, const struct host_source *source,
                      struct err *err)
{
    struct host_fault fault;
    struct host_spec spec;
    if (!check_line(line, &fault))
        return host_source_fail(source, &fault, err);
    struct slice text = trim_line(line);
    if (text.length == 0)
        return HVD_OK;
    if (!hostfile_parse_host(&spec, text, &fault))
        return host_source_fail(source, &fault, err);
    return host_list_add(list, &spec, source, err);
}

static int parse_lines(struct host_list *list, struct slice text, struct host_source *source,
                       struct err *err)
{
    const char *at = text.at, *end = slice_end(text);
    for (source->line = 1; at < end; source->line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        source->line_start = at;
        if (parse_line(list, slice_between(at, newline ? newline : end), source, err) < 0)
            return HVD_ERR_INVALID;
        at = newline ? newline + 1 : end;
    }
    if (list->count == 0)
        return bad_input(err, source->name, "no host in the file");
    return host_list_check_unique(list, source, err);
}

static bool has_start(struct slice text, const char *start)
{
    return text.length >= strlen(start) && memcmp(text.at, start, strlen(start)) == 0;
}

int host_list_parse_hostfile(struct host_list *list, const char *text, size_t length,
                             const char *path, struct err *err)
{
    struct slice all = { text, length };
    struct host_source source = { .name = path, .is_file = true };
    *list = (struct host_list){ 0 };
    if (has_start(all, "\xff\xfe") || has_start(all, "\xfe\xff"))
        return bad_input(err, path, "not a text file, but UTF-16");
    if (has_start(all, "\xef\xbb\xbf"))
        all = slice_between(text + 3, text + length);
    return host_list_end(list, parse_lines(list, all, &source, err));
}
