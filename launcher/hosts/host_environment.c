/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts from a batch system; see host_environment.h:
 *   find the first variable that is set, read the file it names if it names one, take it line by
 *   line in its form, let repeated hosts add up (host_tally.c).
 * Fails when the file cannot be read (hostfile_read.c), when a host or a count is malformed, when
 * there are too many hosts or none at all, and on input that slurm_list.c refuses. */
#include "launcher/hosts/host_environment.h"

#include "launcher/base/bad_input.h"
#include "launcher/hosts/host_tally.h"
#include "launcher/hosts/hostfile_read.h"
#include "launcher/hosts/slurm_list.h"

#include <string.h>

/* ---- forms of a line ---- */

typedef int take_line_fn(struct host_tally *tally, struct slice line,
                         const struct host_source *source, struct err *err);

/* Removes the next word from `rest` and returns it; empty at the end. */
static struct slice host_environment_next_word(struct slice *rest)
{
    const char *at = rest->at, *end = slice_end(*rest);
    while (at < end && (is_blank(*at) || *at == '\r'))
        at++;
    const char *start = at;
    while (at < end && !is_blank(*at) && *at != '\r')
        at++;
    *rest = slice_between(at, end);
    return slice_between(start, at);
}

/* "a a b": one slot for each word. */
static int take_slots(struct host_tally *tally, struct slice line, const struct host_source *source,
                      struct err *err)
{
    struct slice host;
    while ((host = host_environment_next_word(&line)).length > 0)
        if (host_tally_add(tally, host, 1, source, err) < 0)
            return HVD_ERR_INVALID;
    return HVD_OK;
}

/* Removes "a 4" from the front; *found is false at the end of the line. */
static int take_pair(struct host_tally *tally, struct slice *rest, const struct host_source *source,
                     bool *found, struct err *err)
{
    struct host_fault fault;
    struct slice host = host_environment_next_word(rest), count = host_environment_next_word(rest);
    int slots;
    *found = host.length > 0;
    if (!*found)
        return HVD_OK;
    if (!host_slots_parse(&slots, count)) {
        struct slice pair = slice_between(host.at, slice_end(count));
        host_fault(&fault, count.at, pair, "bad slot count", "1 to 65536 after the host");
        return host_source_fail(source, &fault, err);
    }
    return host_tally_add(tally, host, slots, source, err);
}

/* "a 4 b 2" */
static int take_pairs(struct host_tally *tally, struct slice line, const struct host_source *source,
                      struct err *err)
{
    bool found = true;
    while (found)
        if (take_pair(tally, &line, source, &found, err) < 0)
            return HVD_ERR_INVALID;
    return HVD_OK;
}

/* "a 4 all.q@a UNDEFINED" */
static int take_columns(struct host_tally *tally, struct slice line,
                        const struct host_source *source, struct err *err)
{
    bool found;
    return take_pair(tally, &line, source, &found, err);
}

/* ---- texts and files ---- */

static int take_lines(struct host_list *list, struct slice text, struct host_source *source,
                      take_line_fn *take_line, struct err *err)
{
    int rc = HVD_OK;
    const char *at = text.at, *end = slice_end(text);
    struct host_tally tally;
    host_tally_init(&tally, list);
    for (source->line = 1; rc == HVD_OK && at < end; source->line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        source->line_start = at;
        rc = take_line(&tally, slice_between(at, newline ? newline : end), source, err);
        at = newline ? newline + 1 : end;
    }
    host_tally_fini(&tally);
    if (rc == HVD_OK && list->count == 0)
        return bad_input(err, source->name, "no host in it");
    return rc;
}

static int take_file(struct host_list *list, const char *path, const char *variable,
                     take_line_fn *take_line, struct err *err)
{
    struct text_buffer text = { 0 };
    struct host_source source = { .name = path, .is_file = true };
    int rc = hostfile_read(&text, path, path, err);
    if (rc == HVD_OK)
        rc = take_lines(list, (struct slice){ text.data, text.length }, &source, take_line, err);
    text_buffer_fini(&text);
    return rc < 0 ? fail_context(err, "%s", variable) : rc;
}

/* ---- the batch systems ---- */

/* The value, or NULL if it is not set or empty. `variable` begins with "$". */
static const char *value_of(host_environment_get_fn *get, const char *variable)
{
    const char *value = get(variable + 1);
    return value && *value ? value : NULL;
}

static int take_slurm(struct host_list *list, const char *text, const char *variable,
                      host_environment_get_fn *get, struct err *err)
{
    static const char *const counts[] = { "$SLURM_TASKS_PER_NODE", "$SLURM_JOB_CPUS_PER_NODE" };
    int rc = slurm_list_add_hosts(list, text, variable, err);
    for (size_t i = 0; rc == HVD_OK && i < sizeof counts / sizeof *counts; i++) {
        const char *value = value_of(get, counts[i]);
        if (value)
            return slurm_list_set_slots(list, value, counts[i], err);
    }
    return rc;
}

static const struct row {
    const char *variable;
    bool is_file;
    take_line_fn *take_line; /* NULL: Slurm's short form */
} rows[] = {
    { "$SLURM_JOB_NODELIST", false, NULL },     { "$SLURM_NODELIST", false, NULL },
    { "$LSB_DJOB_HOSTFILE", true, take_slots }, { "$LSB_MCPU_HOSTS", false, take_pairs },
    { "$LSB_HOSTS", false, take_slots },        { "$PBS_NODEFILE", true, take_slots },
    { "$PE_HOSTFILE", true, take_columns },
};

static int take_row(struct host_list *list, const struct row *row, const char *value,
                    host_environment_get_fn *get, struct err *err)
{
    struct host_source source = { .name = row->variable };
    struct slice text = { value, strlen(value) };
    if (!row->take_line)
        return take_slurm(list, value, row->variable, get, err);
    if (row->is_file)
        return take_file(list, value, row->variable, row->take_line, err);
    return take_lines(list, text, &source, row->take_line, err);
}

static const struct row *find_host_row(host_environment_get_fn *get)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (value_of(get, rows[i].variable))
            return &rows[i];
    return NULL;
}

const char *host_environment_variable(host_environment_get_fn *get)
{
    const struct row *row = find_host_row(get);
    return row ? row->variable : NULL;
}

int host_list_from_environment(struct host_list *list, host_environment_get_fn *get,
                               const char **source, struct err *err)
{
    const struct row *row = find_host_row(get);
    *list = (struct host_list){ 0 };
    if (!row)
        return 0;
    *source = row->variable;
    int rc = take_row(list, row, value_of(get, row->variable), get, err);
    return rc < 0 ? host_list_end(list, rc) : 1;
}
