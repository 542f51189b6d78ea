/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in JSON. */
#ifndef RENDEZVOUS_HTTP_HTTP_JSON_H
#define RENDEZVOUS_HTTP_HTTP_JSON_H

#include "rendezvous/http/http_answer.h"

#include <cjson/cJSON.h>

/* Frees `json`; NULL means that memory ran out, and the answer is 500. */
void http_json_answer(struct http_answer *answer, int status, cJSON *json);

/* {"error": "..."} */
void http_json_error(struct http_answer *answer, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
