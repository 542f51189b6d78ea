/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file:
 *   open, see what it is, read it, once; of each key, look up what it is (a section, or another
 *   name of an option), check the type of its value, and set the option unless it was given.
 * Fails on a file that cannot be read, is not a regular file, or is too large, on input that
 * config_yaml.c refuses, on an unknown key, a repeated key, a value of another type than the key's,
 * and on a value that the option itself refuses. */
#include "src/hvdrun/config_file.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "src/hvdrun/config_yaml.h"
#include "src/options/suggestion.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum config_type { TYPE_SECTION, TYPE_INT, TYPE_NUMBER, TYPE_TEXT, TYPE_BOOL, TYPE_CONTROLLER };

static const char *const expected[] = {
    [TYPE_SECTION] = "a mapping", [TYPE_INT] = "a whole number", [TYPE_NUMBER] = "a number",
    [TYPE_TEXT] = "a text",       [TYPE_BOOL] = "true or false", [TYPE_CONTROLLER] = "gloo",
};

/* A key, and the option for which it stands. */
struct config_row {
    const char *path;
    enum config_type type;
    const char *option;   /* of a boolean: for true */
    const char *negative; /* of a boolean: for false */
};

static const struct config_row rows[] = {
    { "controller", TYPE_CONTROLLER, "--gloo", "--mpi" },
    { "params", TYPE_SECTION, NULL, NULL },
    { "params.fusion_threshold_mb", TYPE_INT, "--fusion-threshold-mb", NULL },
    { "params.cycle_time_ms", TYPE_NUMBER, "--cycle-time-ms", NULL },
    { "params.cache_capacity", TYPE_INT, "--cache-capacity", NULL },
    { "params.hierarchical_allreduce", TYPE_BOOL, "--hierarchical-allreduce",
      "--no-hierarchical-allreduce" },
    { "params.hierarchical_allgather", TYPE_BOOL, "--hierarchical-allgather",
      "--no-hierarchical-allgather" },
    { "params.torus_allreduce", TYPE_BOOL, "--torus-allreduce", "--no-torus-allreduce" },
    { "autotune", TYPE_SECTION, NULL, NULL },
    { "autotune.enabled", TYPE_BOOL, "--autotune", "--no-autotune" },
    { "autotune.log_file", TYPE_TEXT, "--autotune-log-file", NULL },
    { "autotune.warmup_samples", TYPE_INT, "--autotune-warmup-samples", NULL },
    { "autotune.steps_per_sample", TYPE_INT, "--autotune-steps-per-sample", NULL },
    { "autotune.bayes_opt_max_samples", TYPE_INT, "--autotune-bayes-opt-max-samples", NULL },
    { "autotune.gaussian_process_noise", TYPE_NUMBER, "--autotune-gaussian-process-noise", NULL },
    { "timeline", TYPE_SECTION, NULL, NULL },
    { "timeline.filename", TYPE_TEXT, "--timeline-filename", NULL },
    { "timeline.mark_cycles", TYPE_BOOL, "--timeline-mark-cycles", "--no-timeline-mark-cycles" },
    { "stall_check", TYPE_SECTION, NULL, NULL },
    { "stall_check.enabled", TYPE_BOOL, "--stall-check", "--no-stall-check" },
    { "stall_check.warning_time_seconds", TYPE_INT, "--stall-check-warning-time-seconds", NULL },
    { "stall_check.shutdown_time_seconds", TYPE_INT, "--stall-check-shutdown-time-seconds", NULL },
    { "library_options", TYPE_SECTION, NULL, NULL },
    { "library_options.mpi_threads_disable", TYPE_BOOL, "--mpi-threads-disable",
      "--no-mpi-threads-disable" },
    { "library_options.num_nccl_streams", TYPE_INT, "--num-nccl-streams", NULL },
    { "library_options.thread_affinity", TYPE_TEXT, "--thread-affinity", NULL },
    { "library_options.gloo_timeout_seconds", TYPE_INT, "--gloo-timeout-seconds", NULL },
    { "logging", TYPE_SECTION, NULL, NULL },
    { "logging.level", TYPE_TEXT, "--log-level", NULL },
    { "logging.with_timestamp", TYPE_BOOL, "--log-with-timestamp", "--log-without-timestamp" },
};

enum { ROWS = sizeof rows / sizeof *rows };

struct config {
    struct hvdrun_options *options;
    struct options_seen *seen;
    struct options_seen line;     /* the options of the command line alone */
    bool known[ROWS];             /* the key has occurred */
    const struct config_row *row; /* of the latest key */
};

static const struct config_row *find_row(const char *path)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].path, path) == 0)
            return &rows[i];
    return NULL;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* Is there an option of this name, which a file writes with "_"? */
static bool is_option(const char *key, char *name, size_t size)
{
    size_t length = strlen(key);
    if (length + 3 > size)
        return false;
    for (size_t dashes = 2; dashes >= 1; dashes--) {
        memcpy(name, "--", 2);
        for (size_t i = 0; i <= length; i++)
            name[dashes + i] = key[i] == '_' ? '-' : key[i];
        if (options_has(&hvdrun_option_table, name))
            return true;
    }
    return false;
}

/* Are these the same words? A key has "_" where an option has "-". */
static bool has_same_words(const char *key, const char *other)
{
    while (*key && (*key == *other || (*key == '-' && *other == '_'))) {
        key++;
        other++;
    }
    return *key == *other;
}

/* The intended key: the same one in its own section, else the closest. */
static const char *meant(const char *path)
{
    struct suggestion suggestion = suggestion_for((struct slice){ path, strlen(path) });
    for (int i = 0; i < ROWS; i++) {
        if (has_same_words(last_part(path), last_part(rows[i].path)))
            return rows[i].path;
        suggestion_try(&suggestion, rows[i].path);
    }
    return suggestion.name;
}

static int fail_unknown(const struct config_node *node, struct err *err)
{
    struct shown shown;
    char option[64];
    const char *key = last_part(node->path), *near = meant(node->path);
    show_token(&shown, node->path, strlen(node->path));
    if (strcmp(node->path, "logging.hide_timestamp") == 0)
        return bad_input(
            err, node->source,
            "unknown key: '%s' (horovodrun ignores it; write with_timestamp, which says "
            "the opposite)",
            shown.text);
    if (near && has_same_words(key, last_part(near)))
        return bad_input(err, node->source, "unknown key: '%s' (did you mean '%s'?)", shown.text,
                         near);
    if (is_option(key, option, sizeof option))
        return bad_input(err, node->source, "on the command line only: '%s' (write %s there)",
                         shown.text, option);
    if (near)
        return bad_input(err, node->source, "unknown key: '%s' (did you mean '%s'?)", shown.text,
                         near);
    return bad_input(err, node->source, "unknown key: '%s'", shown.text);
}

static int config_file_read_key(struct config *config, const struct config_node *node,
                                struct err *err)
{
    struct shown shown;
    config->row = find_row(node->path);
    if (!config->row)
        return fail_unknown(node, err);
    bool *known = &config->known[config->row - rows];
    if (*known)
        return bad_input(err, node->source, "key is there twice: '%s'",
                         show_token(&shown, node->path, strlen(node->path)));
    *known = true;
    return HVD_OK;
}

static bool config_file_is_word(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* The words for null in PyYAML, and so in horovodrun. */
static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
static const char *const trues[] = { "true", "True", "TRUE", "yes", "Yes",
                                     "YES",  "on",   "On",   "ON",  NULL };
static const char *const falses[] = { "false", "False", "FALSE", "no",  "No",
                                      "NO",    "off",   "Off",   "OFF", NULL };

/* Digits, with a sign perhaps, and no "0" in front, which means octal in YAML. */
static bool is_whole(const char *text)
{
    size_t digits = strspn(text += *text == '-', "0123456789");
    return digits > 0 && text[digits] == '\0' && (*text != '0' || digits == 1);
}

static bool has_type(const struct config_node *node, enum config_type type)
{
    bool plain = node->kind == CONFIG_PLAIN;
    if (type == TYPE_SECTION)
        return node->kind == CONFIG_MAPPING || (plain && config_file_is_word(node->value, nulls));
    if (node->kind == CONFIG_LIST || node->kind == CONFIG_MAPPING)
        return false;
    if (type == TYPE_INT)
        return plain && is_whole(node->value);
    if (type == TYPE_NUMBER)
        return plain && node->value[strspn(node->value, "-0123456789.")] == '\0';
    if (type == TYPE_BOOL)
        return plain && (config_file_is_word(node->value, trues) ||
                         config_file_is_word(node->value, falses));
    return !plain ||
           !(config_file_is_word(node->value, nulls) || config_file_is_word(node->value, trues) ||
             config_file_is_word(node->value, falses));
}

static int fail_type(const struct config_node *node, enum config_type type, const char *source,
                     struct err *err)
{
    struct shown shown;
    if (!node->value)
        return bad_input(err, source, "expected %s, not %s", expected[type],
                         node->kind == CONFIG_LIST ? "a list" : "a mapping");
    return bad_input(err, source, "expected %s: '%s'%s", expected[type],
                     show_token(&shown, node->value, strlen(node->value)),
                     node->kind == CONFIG_QUOTED ? " (in quotes it is a text)" : "");
}

/* The option for which a value stands. */
static const char *option_of(const struct config_row *row, const struct config_node *node)
{
    if (row->type == TYPE_BOOL && config_file_is_word(node->value, falses))
        return row->negative;
    if (row->type == TYPE_CONTROLLER && strcasecmp(node->value, "mpi") == 0)
        return row->negative;
    return row->option;
}

/* The name by which the command line has set this option or its opposite, or NULL. */
static const char *given_on_line(const struct config *config)
{
    const struct config_row *row = config->row;
    const char *given = options_given(&hvdrun_option_table, &config->line, row->option);
    if (given || !row->negative)
        return given;
    return options_given(&hvdrun_option_table, &config->line, row->negative);
}

static int set_option(struct config *config, const struct config_node *node, const char *source,
                      struct err *err)
{
    const char *name = option_of(config->row, node);
    const char *given = given_on_line(config);
    if (!given)
        return options_set(&hvdrun_option_table, config->options, config->seen, name, node->value,
                           source, err);
    struct shown shown;
    string_list_take(&config->options->notes,
                     xasprintf("%s: '%s' gives way to %s of the command line", source,
                               show_token(&shown, node->value, strlen(node->value)), given));
    return HVD_OK;
}

static int read_value(struct config *config, const struct config_node *node, struct err *err)
{
    enum config_type type = config->row->type;
    char *source = xasprintf("%s: %s", node->source, node->path);
    int rc = HVD_OK;
    if (!has_type(node, type) || (type == TYPE_CONTROLLER && strcasecmp(node->value, "gloo") != 0 &&
                                  strcasecmp(node->value, "mpi") != 0))
        rc = fail_type(node, type, source, err);
    else if (type != TYPE_SECTION)
        rc = set_option(config, node, source, err);
    string_list_take(&config->options->sources, source); /* for checks that concern several keys */
    return rc;
}

static int on_node(void *context, const struct config_node *node, struct err *err)
{
    return (node->kind == CONFIG_KEY ? config_file_read_key : read_value)(context, node, err);
}

int config_file_apply_text(struct hvdrun_options *options, struct options_seen *seen,
                           const char *text, size_t length, const char *name, struct err *err)
{
    struct config config = { .options = options, .seen = seen, .line = *seen };
    return config_yaml_read(text, length, name, on_node, &config, err);
}

static int config_file_cannot(struct err *err, const char *path, const char *what)
{
    return bad_input(err, path, "cannot %s: %s", what, strerror(errno));
}

static int check_kind(struct hvdrun_options *options, int fd, const char *path, struct err *err)
{
    struct stat status;
    struct shown shown;
    if (fstat(fd, &status) < 0)
        return config_file_cannot(err, path, "stat");
    if (!S_ISREG(status.st_mode))
        return bad_input(err, path, "is not a regular file");
    if (status.st_mode & S_IWOTH)
        string_list_take(&options->warnings, xasprintf("%s: everybody may write to this file",
                                                       show_token(&shown, path, strlen(path))));
    return HVD_OK;
}

/* Reads up to one byte more than the limit. */
static int config_file_read_all(struct text_buffer *text, int fd, const char *path, struct err *err)
{
    while (text->length <= CONFIG_SIZE_MAX) {
        enum { PIECE = 1 << 14 };
        ssize_t n = read(fd, text_buffer_reserve(text, PIECE), PIECE);
        if (n < 0)
            return config_file_cannot(err, path, "read");
        if (n == 0)
            break;
        text->length += (size_t)n;
    }
    return HVD_OK;
}

int config_file_apply(struct hvdrun_options *options, struct options_seen *seen, struct err *err)
{
    const char *path = options->config_file;
    struct text_buffer text = { 0 };
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return path ? config_file_cannot(err, path, "open") : HVD_OK;
    int rc = check_kind(options, fd, path, err);
    if (rc == HVD_OK)
        rc = config_file_read_all(&text, fd, path, err);
    close(fd);
    if (rc == HVD_OK)
        rc = config_file_apply_text(options, seen, text.data ? text.data : "", text.length, path,
                                    err);
    text_buffer_fini(&text);
    return rc;
}
