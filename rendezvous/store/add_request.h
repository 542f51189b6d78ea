/* SPDX-License-Identifier: Apache-2.0 */
/* The body of POST /SCOPE/KEY: {"add": N}, and nothing else.
 *
 * Refused, with a text that names the field: what is no JSON object; "add" missing, twice there, or
 * not a whole number of at most ADD_REQUEST_NUMBER_MAX either way (JSON's numbers are doubles,
 * which beyond that may not be what was meant); any other field; anything after the object. */
#ifndef RENDEZVOUS_STORE_ADD_REQUEST_H
#define RENDEZVOUS_STORE_ADD_REQUEST_H

#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { ADD_REQUEST_MAX = 4096 }; /* bytes of it */

#define ADD_REQUEST_NUMBER_MAX ((INT64_C(1) << 53) - 1)

/* HVD_OK, or HVD_ERR_INVALID with its text. `body` need not be terminated. */
int add_request_read(const char *body, size_t length, int64_t *number, struct err *err);

#endif
