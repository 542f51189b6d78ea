/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a declaration; see job_declaration.h. */
#include "rendezvous/world/job_declaration.h"

#include "lib/base/rank_info.h"
#include "rendezvous/base/json_text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

#define EXPECTED_OBJECT "expected one JSON object, such as {\"size\": 4, \"start_timeout_s\": 60}"

static bool is_whole(double value)
{
    return value == (double)(int)value;
}

static bool is_any(double value)
{
    (void)value;
    return true;
}

/* Calls `good` with a value that is in range. */
static const struct field {
    const char *name;
    double least, most;
    bool (*good)(double value);
    const char *expected;
} fields[] = {
    { "size", 1, WORLD_SIZE_MAX, is_whole, "a whole number from 1 to 131072" },
    { "min", 1, WORLD_SIZE_MAX, is_whole, "a whole number from 1 to 131072" },
    { "max", 1, WORLD_SIZE_MAX, is_whole, "a whole number from 1 to 131072" },
    { "start_timeout_s", 0.001, 86400, is_any, "a number of seconds from 0.001 to 86400" },
};

enum { SIZE, MIN, MAX, START_TIMEOUT_S, FIELDS };

static int job_declaration_find(const char *name)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return i;
    return -1;
}

/* One member of the object. */
static int job_declaration_take(double values[FIELDS], bool seen[FIELDS], const cJSON *item,
                                struct err *err)
{
    char quoted[QUOTED_SIZE];
    int i = job_declaration_find(item->string);
    if (i < 0)
        return fail(
            err, HVD_ERR_INVALID,
            "field \"%s\" is not known; expected \"size\", or \"min\" and \"max\", and maybe "
            "\"start_timeout_s\"",
            quote_token(quoted, sizeof quoted, item->string, strlen(item->string)));
    if (seen[i])
        return fail(err, HVD_ERR_INVALID, "field \"%s\" is there twice", fields[i].name);
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= fields[i].least && value <= fields[i].most) || !fields[i].good(value))
        return fail(err, HVD_ERR_INVALID, "field \"%s\": expected %s", fields[i].name,
                    fields[i].expected);
    values[i] = value;
    seen[i] = true;
    return HVD_OK;
}

/* Checks which fields must be there together. */
static int check_fields(const double values[FIELDS], const bool seen[FIELDS], struct err *err)
{
    bool elastic = seen[MIN] || seen[MAX];
    if (elastic && seen[SIZE])
        return fail(err, HVD_ERR_INVALID,
                    "field \"size\" is there, but a job with \"min\" and \"max\" is elastic");
    for (int i = elastic ? MIN : SIZE; i <= (elastic ? MAX : SIZE); i++)
        if (!seen[i])
            return fail(err, HVD_ERR_INVALID, "field \"%s\" is missing: expected %s",
                        fields[i].name, fields[i].expected);
    if (values[MIN] > values[MAX])
        return fail(err, HVD_ERR_INVALID, "field \"min\" is %d but field \"max\" is %d",
                    (int)values[MIN], (int)values[MAX]);
    return HVD_OK;
}

static int read_object(struct job_declaration *declaration, const cJSON *object, struct err *err)
{
    double values[FIELDS] = { 0 };
    bool seen[FIELDS] = { false };
    if (!cJSON_IsObject(object))
        return fail(err, HVD_ERR_INVALID, EXPECTED_OBJECT);
    for (const cJSON *item = object->child; item; item = item->next)
        if (job_declaration_take(values, seen, item, err) < 0)
            return err->code;
    if (check_fields(values, seen, err) < 0)
        return err->code;
    *declaration = (struct job_declaration){ .size = (int)values[SIZE],
                                             .min = (int)values[MIN],
                                             .max = (int)values[MAX],
                                             .start_timeout_ms =
                                                 (uint64_t)(values[START_TIMEOUT_S] * 1000 + 0.5) };
    return HVD_OK;
}

static bool is_flat(const char *body, size_t length)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++)
        depth += body[i] == '{' || body[i] == '[';
    return depth <= DEPTH_MAX;
}

int job_declaration_parse(struct job_declaration *declaration, const char *body, size_t length,
                          struct err *err)
{
    const char *end = NULL;
    if (length > JOB_DECLARATION_MAX || !json_text_is_plain(body, length) || !is_flat(body, length))
        return fail(err, HVD_ERR_INVALID, EXPECTED_OBJECT);
    while (length > 0 && json_text_is_blank(body[length - 1]))
        length--;
    cJSON *object = cJSON_ParseWithLengthOpts(body, length, &end, false);
    int rc = object && end == body + length ? read_object(declaration, object, err)
                                            : fail(err, HVD_ERR_INVALID, EXPECTED_OBJECT);
    cJSON_Delete(object);
    return rc;
}
