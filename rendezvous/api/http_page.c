/* SPDX-License-Identifier: Apache-2.0 */
/* GET /: the status page. The page is the same for every client. It fetches its data itself, with
 * the key that the user enters, if a key is needed. */
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
