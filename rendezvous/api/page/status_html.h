/* SPDX-License-Identifier: Apache-2.0 */
/* The status page, as embed.sh makes it from status.html. */
#ifndef RENDEZVOUS_PAGE_STATUS_HTML_H
#define RENDEZVOUS_PAGE_STATUS_HTML_H

#include <stddef.h>

extern const char status_html[];
extern const size_t status_html_length;
extern const char status_html_headers[]; /* to be sent with it, each with its CR LF */

#endif
