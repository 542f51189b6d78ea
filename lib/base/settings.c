/* SPDX-License-Identifier: Apache-2.0 */
/* The environment as settings; see settings.h. */
#include "lib/base/settings.h"

#include "lib/base/algorithm_names.h"
#include "lib/base/boolean.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct row;
typedef bool read_fn(void *field, const char *text, const struct row *row);

static read_fn read_size, read_seconds, read_int, read_thousandths, read_bool, read_path,
    read_level, read_algorithm, read_check, read_device, read_encryption;

#define FIELD(name) offsetof(struct settings, name)
#define SIZE_LIMIT (SIZE_MAX / 2)
#define SECONDS_LIMIT 1000000000
#define CYCLE_MS_LIMIT 60000

/* `low` and `high` are for numbers, `expected` for the rest. */
struct row {
    const char *name;
    read_fn *read;
    size_t offset; /* of the field in struct settings */
    uint64_t low, high;
    const char *expected;
};

static const char a_boolean[] = "0, 1, true or false";
static const char a_path[] = "a file name of less than 4096 bytes";

static const struct row rows[] = {
    { ENV_FUSION_THRESHOLD, read_size, FIELD(fusion_threshold), 0, SIZE_LIMIT, NULL },
    { ENV_CYCLE_TIME, read_thousandths, FIELD(cycle_time_us), 0, CYCLE_MS_LIMIT,
      "a number of milliseconds from 0 to 60000, such as 0.5" },
    { ENV_CACHE_CAPACITY, read_int, FIELD(cache_capacity), 0, 1 << 20, NULL },
    { ENV_STEADY, read_bool, FIELD(steady), 0, 0, a_boolean },
    { ENV_DISABLE_GROUP_FUSION, read_bool, FIELD(disable_group_fusion), 0, 0, a_boolean },
    { ENV_TIMELINE, read_path, FIELD(timeline), 0, 0, a_path },
    { ENV_TIMELINE_MARK_CYCLES, read_bool, FIELD(timeline_mark_cycles), 0, 0, a_boolean },
    { ENV_STALL_CHECK_DISABLE, read_bool, FIELD(stall_check), 0, 0, a_boolean },
    { ENV_STALL_CHECK_TIME, read_seconds, FIELD(stall_check_s), 1, SECONDS_LIMIT, NULL },
    { ENV_STALL_SHUTDOWN_TIME, read_seconds, FIELD(stall_shutdown_s), 0, SECONDS_LIMIT, NULL },
    { ENV_STREAMS, read_int, FIELD(streams), 1, SETTINGS_STREAMS_MAX, NULL },
    { ENV_THREADS, read_int, FIELD(threads), 0, SETTINGS_THREADS_MAX, NULL },
    { ENV_PROCESSORS, read_int, FIELD(processors), 1, SETTINGS_PROCESSORS_MAX, NULL },
    { ENV_LOG_LEVEL, read_level, FIELD(log_level), 0, 0,
      "trace, debug, info, warning, error or fatal" },
    { ENV_LOG_HIDE_TIME, read_bool, FIELD(log_hide_time), 0, 0, a_boolean },
    { ENV_TUNING, read_path, FIELD(tuning), 0, 0, a_path },
    { ENV_AUTOTUNE, read_bool, FIELD(autotune), 0, 0, a_boolean },
    { ENV_AUTOTUNE_LOG, read_path, FIELD(autotune_log), 0, 0, a_path },
    { ENV_AUTOTUNE_WARMUP_SAMPLES, read_int, FIELD(autotune_warmup), 0, SETTINGS_WARMUP_MAX, NULL },
    { ENV_AUTOTUNE_STEPS_PER_SAMPLE, read_int, FIELD(autotune_steps), 1, SETTINGS_STEPS_MAX, NULL },
    { ENV_AUTOTUNE_MAX_SAMPLES, read_int, FIELD(autotune_samples), 1, SETTINGS_SAMPLES_MAX, NULL },
    { ENV_AUTOTUNE_NOISE, read_thousandths, FIELD(autotune_noise), 0, 1,
      "a number from 0 to 1, such as 0.8" },
    { ENV_ALGORITHM, read_algorithm, FIELD(algorithm), 0, 0, ALGORITHM_NAMES },
    { ENV_CHECK_NUMERICS, read_check, FIELD(check_numerics), 0, 0, "0, 1, warn or fail" },
    { ENV_DEVICE, read_device, FIELD(device), 0, 0, "cuda or none" },
    { ENV_ENCRYPT, read_encryption, FIELD(encryption), 0, 0, "off, auto or require" },
};

/* Reads digits up to any other character; NULL if there are none, or too many. */
static const char *read_digits(uint64_t *value, const char *text)
{
    const char *start = text;
    for (*value = 0; *text >= '0' && *text <= '9'; text++) {
        if (*value > (UINT64_MAX - 9) / 10)
            return NULL;
        *value = *value * 10 + (uint64_t)(*text - '0');
    }
    return text > start ? text : NULL;
}

static bool settings_read_number(uint64_t *value, const char *text, const struct row *row)
{
    const char *end = read_digits(value, text);
    return end && *end == '\0' && *value >= row->low && *value <= row->high;
}

static bool read_size(void *field, const char *text, const struct row *row)
{
    uint64_t value;
    bool good = settings_read_number(&value, text, row);
    if (good)
        *(size_t *)field = (size_t)value;
    return good;
}

static bool read_seconds(void *field, const char *text, const struct row *row)
{
    uint64_t value;
    bool good = settings_read_number(&value, text, row);
    if (good)
        *(uint64_t *)field = value;
    return good;
}

static bool read_int(void *field, const char *text, const struct row *row)
{
    uint64_t value;
    bool good = settings_read_number(&value, text, row);
    if (good)
        *(int *)field = (int)value;
    return good;
}

/* Reads thousandths after a point, and drops further digits; NULL if there is no digit. */
static const char *read_fraction(uint64_t *thousandths, const char *text)
{
    const char *start = text;
    for (uint64_t unit = 100; *text >= '0' && *text <= '9'; text++, unit /= 10)
        *thousandths += unit * (uint64_t)(*text - '0');
    return text > start ? text : NULL;
}

/* Reads "20", "0.5", "20.0"; strtod() would depend on the host's locale. */
static bool read_thousandths(void *field, const char *text, const struct row *row)
{
    uint64_t value, thousandths = 0;
    const char *end = read_digits(&value, text);
    if (end && *end == '.')
        end = read_fraction(&thousandths, end + 1);
    if (!end || *end != '\0' || value > row->high || value * 1000 + thousandths > row->high * 1000)
        return false;
    *(uint64_t *)field = value * 1000 + thousandths;
    return true;
}

static bool read_bool(void *field, const char *text, const struct row *row)
{
    (void)row;
    return boolean_parse(text, field);
}

/* Empty, or DYNAMIC, which means that a file will be named later: no file. */
static bool read_path(void *field, const char *text, const struct row *row)
{
    (void)row;
    if (strcmp(text, "DYNAMIC") == 0)
        text = "";
    size_t length = strlen(text);
    if (length >= SETTINGS_PATH_MAX)
        return false;
    memcpy(field, text, length + 1);
    return true;
}

static bool read_level(void *field, const char *text, const struct row *row)
{
    (void)row;
    return log_level_parse(text, field);
}

static bool read_algorithm(void *field, const char *text, const struct row *row)
{
    (void)row;
    *(int *)field = algorithm_parse(text);
    return *(int *)field >= 0;
}

static bool read_check(void *field, const char *text, const struct row *row)
{
    static const struct {
        const char *word;
        enum settings_check check;
    } words[] = { { "0", SETTINGS_CHECK_NONE },
                  { "1", SETTINGS_CHECK_WARN },
                  { "warn", SETTINGS_CHECK_WARN },
                  { "fail", SETTINGS_CHECK_FAIL } };
    (void)row;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i].word) == 0) {
            *(enum settings_check *)field = words[i].check;
            return true;
        }
    return false;
}

static bool read_device(void *field, const char *text, const struct row *row)
{
    (void)row;
    bool cuda = strcasecmp(text, "cuda") == 0;
    *(enum settings_device *)field = cuda ? SETTINGS_DEVICE_CUDA : SETTINGS_DEVICE_NONE;
    return cuda || strcasecmp(text, "none") == 0;
}

static bool read_encryption(void *field, const char *text, const struct row *row)
{
    (void)row;
    return encryption_parse(text, field);
}

static int settings_refuse(const struct row *row, const char *text, struct err *err)
{
    char quoted[QUOTED_SIZE], range[64];
    snprintf(range, sizeof range, "a number from %" PRIu64 " to %" PRIu64, row->low, row->high);
    return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not %s", row->name,
                quote_token(quoted, sizeof quoted, text, strlen(text)),
                row->expected ? row->expected : range);
}

static int read_row(struct settings *settings, const struct row *row, environment_get_fn *get,
                    struct err *err)
{
    const char *text = get(row->name);
    void *field = (char *)settings + row->offset;
    if (!text || row->read(field, text, row))
        return HVD_OK;
    return settings_refuse(row, text, err);
}

/* A shutdown time needs warnings before it. */
static int check_times(const struct settings *settings, environment_get_fn *get, struct err *err)
{
    uint64_t check_s = settings->stall_check_s, shutdown_s = settings->stall_shutdown_s;
    if (!settings->stall_check || shutdown_s == 0 || shutdown_s >= check_s)
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT, "%s: %" PRIu64 " is less than %" PRIu64 " (%s%s)",
                ENV_STALL_SHUTDOWN_TIME, shutdown_s, check_s,
                get(ENV_STALL_CHECK_TIME) ? "" : "the default of ", ENV_STALL_CHECK_TIME);
}

int settings_read(struct settings *settings, environment_get_fn *get, struct err *err)
{
    *settings = (struct settings){
        .fusion_threshold = 128 << 20,
        .cache_capacity = 1024,
        .steady = true,
        .stall_check_s = SETTINGS_STALL_CHECK_S,
        .streams = 1,
        .threads = 1,
        .log_level = LOG_WARNING,
        .autotune_warmup = 3,
        .autotune_steps = 10,
        .autotune_samples = 20,
        .autotune_noise = 800,
        .algorithm = -1,
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = read_row(settings, &rows[i], get, err);
        if (rc < 0)
            return rc;
    }
    settings->fusion_given = get(ENV_FUSION_THRESHOLD) != NULL;
    settings->cycle_time_given = get(ENV_CYCLE_TIME) != NULL;
    settings->stall_check = !settings->stall_check; /* the variable disables the check */
    return check_times(settings, get, err);
}
