/* SPDX-License-Identifier: Apache-2.0 */
/* The SECONDS of a query "wait=SECONDS": digits, and up to three decimals. */
#ifndef RENDEZVOUS_HTTP_HTTP_SECONDS_H
#define RENDEZVOUS_HTTP_HTTP_SECONDS_H

#include "rendezvous/http/http_request.h"

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_WAIT_SECONDS_MAX = 60 };
#define HTTP_WAIT_EXPECTED "wait=SECONDS, from 0 to 60 with at most 3 decimals"

/* False if `text` has another form, or is more than HTTP_WAIT_SECONDS_MAX. */
bool http_seconds_parse(struct http_text text, uint64_t *ms);

/* Reads "wait=SECONDS". */
bool http_seconds_wait(struct http_text text, uint64_t *ms);

#endif
