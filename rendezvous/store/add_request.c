/* SPDX-License-Identifier: Apache-2.0 */
/* The number to add; see add_request.h. */
#include "rendezvous/store/add_request.h"

#include "rendezvous/base/json_text.h"

#include <cjson/cJSON.h>
#include <string.h>

#define EXPECTED "expected {\"add\": N}"

static int add_request_read_number(const cJSON *value, int64_t *number, struct err *err)
{
    const double max = (double)ADD_REQUEST_NUMBER_MAX;
    double given = cJSON_IsNumber(value) ? value->valuedouble : max + 1;
    if (!(given >= -max && given <= max) || given != (double)(int64_t)given)
        return fail(err, HVD_ERR_INVALID,
                    "field \"add\": expected a whole number from %lld to %lld",
                    (long long)-ADD_REQUEST_NUMBER_MAX, (long long)ADD_REQUEST_NUMBER_MAX);
    *number = (int64_t)given;
    return HVD_OK;
}

static int read_object(const cJSON *object, int64_t *number, struct err *err)
{
    if (!cJSON_IsObject(object))
        return fail(err, HVD_ERR_INVALID, "the body is no object; " EXPECTED);
    if (!object->child)
        return fail(err, HVD_ERR_INVALID, "field \"add\" is missing; " EXPECTED);
    for (const cJSON *field = object->child; field; field = field->next) {
        char quoted[QUOTED_SIZE];
        if (strcmp(field->string, "add") != 0)
            return fail(err, HVD_ERR_INVALID, "field \"%s\" is not known; " EXPECTED,
                        quote_token(quoted, sizeof quoted, field->string, strlen(field->string)));
        if (field != object->child)
            return fail(err, HVD_ERR_INVALID, "field \"add\" is there twice; " EXPECTED);
    }
    return add_request_read_number(object->child, number, err);
}

int add_request_read(const char *body, size_t length, int64_t *number, struct err *err)
{
    while (length > 0 && json_text_is_blank(body[length - 1]))
        length--;
    if (length == 0 || length > ADD_REQUEST_MAX || !json_text_is_plain(body, length))
        return fail(err, HVD_ERR_INVALID, "the body is no JSON; " EXPECTED);
    const char *end = NULL;
    cJSON *object = cJSON_ParseWithLengthOpts(body, length, &end, false);
    int rc = HVD_OK;
    if (!object)
        rc = fail(err, HVD_ERR_INVALID, "the body is no JSON; " EXPECTED);
    else if (end != body + length)
        rc = fail(err, HVD_ERR_INVALID, "more follows the body's JSON; " EXPECTED);
    else
        rc = read_object(object, number, err);
    cJSON_Delete(object);
    return rc;
}
