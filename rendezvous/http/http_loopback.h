/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request means a server on this very host, as a program here says it and a web page from
 * elsewhere cannot: its Host, and its Origin if there is one. And whether a browser says that a
 * page from elsewhere has caused it: Sec-Fetch-Site, which no page can set or leave out. */
#ifndef RENDEZVOUS_HTTP_HTTP_LOOPBACK_H
#define RENDEZVOUS_HTTP_HTTP_LOOPBACK_H

#include "rendezvous/http/http_request.h"

#include <stdbool.h>

/* True for 127.0.0.0/8, localhost and [::1], each with or without a port, where Origin is missing
 * or "http://" and the same. */
bool http_loopback(const struct http_request *request);

/* True if Sec-Fetch-Site is there and neither "same-origin" (a page that this server has sent) nor
 * "none" (the address line, a bookmark). "same-site" is another server, too: all ports of localhost
 * are one site, and any user of the host may have one of them. */
bool http_of_another_page(const struct http_request *request);

#endif
