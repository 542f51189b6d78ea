/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON; see json_build.h. */
#include "rendezvous/base/json_build.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

void json_build_init(struct json_build *build)
{
    *build = (struct json_build){ .root = cJSON_CreateObject() };
    build->failed = !build->root;
}

cJSON *json_build_finish(struct json_build *build)
{
    cJSON *root = build->root;
    build->root = NULL;
    if (!build->failed)
        return root;
    cJSON_Delete(root);
    return NULL;
}

static cJSON *json_build_add(struct json_build *build, cJSON *parent, const char *name, cJSON *item)
{
    bool added =
        parent && item &&
        (name ? cJSON_AddItemToObjectCS(parent, name, item) : cJSON_AddItemToArray(parent, item));
    if (added)
        return item;
    cJSON_Delete(item);
    build->failed = true;
    return NULL;
}

void json_add(struct json_build *build, cJSON *parent, cJSON *item)
{
    json_build_add(build, parent, NULL, item);
}

cJSON *json_object(struct json_build *build, cJSON *parent, const char *name)
{
    return json_build_add(build, parent, name, cJSON_CreateObject());
}

cJSON *json_array(struct json_build *build, cJSON *parent, const char *name)
{
    return json_build_add(build, parent, name, cJSON_CreateArray());
}

void json_bool(struct json_build *build, cJSON *parent, const char *name, bool value)
{
    json_build_add(build, parent, name, cJSON_CreateBool(value));
}

void json_number(struct json_build *build, cJSON *parent, const char *name, double value)
{
    json_build_add(build, parent, name, cJSON_CreateNumber(value));
}

void json_seconds(struct json_build *build, cJSON *parent, const char *name, uint64_t ms)
{
    json_number(build, parent, name, (double)ms / 1000);
}

void json_number_if(struct json_build *build, cJSON *parent, const char *name, bool known,
                    double value)
{
    json_build_add(build, parent, name, known ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void json_seconds_if(struct json_build *build, cJSON *parent, const char *name, bool known,
                     uint64_t ms)
{
    json_number_if(build, parent, name, known, (double)ms / 1000);
}

void json_text(struct json_build *build, cJSON *parent, const char *name, const char *text,
               size_t length)
{
    char *copy = strndup(text, length);
    if (copy)
        text_make_line(copy);
    json_build_add(build, parent, name, copy ? cJSON_CreateString(copy) : NULL);
    free(copy);
}

void json_string(struct json_build *build, cJSON *parent, const char *name, const char *text)
{
    json_text(build, parent, name, text, strlen(text));
}

void json_lines(struct json_build *build, cJSON *parent, const char *name, const char *text)
{
    cJSON *lines = json_array(build, parent, name);
    while (*text && !build->failed) {
        size_t length = strcspn(text, "\n");
        json_text(build, lines, NULL, text, length);
        text += length + (text[length] == '\n');
    }
}
