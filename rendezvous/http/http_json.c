/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in JSON; see http_json.h. */
#include "rendezvous/http/http_json.h"

#include "rendezvous/base/json_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text of cJSON becomes the answer's body without a copy, because it may be large. */
void http_json_answer(struct http_answer *answer, int status, cJSON *json)
{
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    *answer = (struct http_answer){ .status = text ? status : 500 };
    if (!text)
        return;
    size_t length = strlen(text);
    text[length] = '\n';
    answer->type = "application/json";
    answer->made = (struct wire_writer){ .data = (unsigned char *)text,
                                         .length = length + 1,
                                         .capacity = length + 1 };
}

void http_json_error(struct http_answer *answer, int status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct json_build build;
    json_build_init(&build);
    json_string(&build, build.root, "error", text);
    http_json_answer(answer, status, json_build_finish(&build));
}
