/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON with cJSON when memory may end at any place: adds fields and remembers whether one
 * could not be added, to be asked once at the end. */
#ifndef RENDEZVOUS_BASE_JSON_BUILD_H
#define RENDEZVOUS_BASE_JSON_BUILD_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_build {
    cJSON *root; /* owned, until json_build_finish() */
    bool failed;
};

void json_build_init(struct json_build *build);

/* The object, or NULL if anything has failed. */
cJSON *json_build_finish(struct json_build *build);

/* Adds a value that another function has made, and frees it if it cannot be added. NULL, if it
 * could not be made, counts as a failure. */
void json_add(struct json_build *build, cJSON *parent, cJSON *item);

/* `name` is borrowed for ever: a literal; NULL: the next element of an array. After a failure
 * `parent` may be NULL, and NULL is returned. */
cJSON *json_object(struct json_build *build, cJSON *parent, const char *name);
cJSON *json_array(struct json_build *build, cJSON *parent, const char *name);
void json_bool(struct json_build *build, cJSON *parent, const char *name, bool value);
void json_number(struct json_build *build, cJSON *parent, const char *name, double value);

/* Milliseconds as seconds. */
void json_seconds(struct json_build *build, cJSON *parent, const char *name, uint64_t ms);

/* A number or a time in seconds, or null. */
void json_number_if(struct json_build *build, cJSON *parent, const char *name, bool known,
                    double value);
void json_seconds_if(struct json_build *build, cJSON *parent, const char *name, bool known,
                     uint64_t ms);

/* `text` may have any bytes; those that are not printable UTF-8 become '?'. */
void json_text(struct json_build *build, cJSON *parent, const char *name, const char *text,
               size_t length);
void json_string(struct json_build *build, cJSON *parent, const char *name, const char *text);

/* An array of the lines of a text. */
void json_lines(struct json_build *build, cJSON *parent, const char *name, const char *text);

#endif
