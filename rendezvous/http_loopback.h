/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request means a server on this very host, as a program here says it and a web page from
 * elsewhere cannot: its Host, and its Origin if there is one. */
#ifndef RENDEZVOUS_HTTP_LOOPBACK_H
#define RENDEZVOUS_HTTP_LOOPBACK_H

#include "rendezvous/http_request.h"

#include <stdbool.h>

/* True for 127.0.0.0/8, localhost and [::1], each with or without a port, where Origin is missing
 * or "http://" and the same. */
bool http_loopback(const struct http_request *request);

#endif
