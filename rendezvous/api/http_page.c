/* SPDX-License-Identifier: Apache-2.0 */
/* GET /: the status page. It is the same for everybody; what it shows it asks for itself, with the
 * key that is typed into it, if one is needed. */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/page/status_html.h"

bool http_page(struct http_service *service, struct http_exchange *exchange,
               struct http_answer *answer)
{
    (void)service;
    (void)exchange;
    *answer = (struct http_answer){ .status = 200,
                                    .type = "text/html; charset=utf-8",
                                    .body = status_html,
                                    .length = status_html_length,
                                    .has_body = true,
                                    .headers = status_html_headers };
    return true;
}
