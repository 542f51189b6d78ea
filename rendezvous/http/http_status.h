/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses that the rendezvous answers with, in one table: words for answers, columns for
 * metrics. */
#ifndef RENDEZVOUS_HTTP_HTTP_STATUS_H
#define RENDEZVOUS_HTTP_HTTP_STATUS_H

enum { HTTP_STATUSES = 19 };

/* The row of a status in the table; HTTP_STATUSES for a status that is not in it. */
int http_status_index(int status);

/* The status of a row; 0 for HTTP_STATUSES. */
int http_status_code(int index);

/* "Not Found"; "" for a status that is not in the table. */
const char *http_status_reason(int status);

#endif
