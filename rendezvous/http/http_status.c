/* SPDX-License-Identifier: Apache-2.0 */
/* The table of statuses; see http_status.h. */
#include "rendezvous/http/http_status.h"

static const struct {
    int status;
    const char *reason;
} statuses[HTTP_STATUSES + 1] = {
    { 200, "OK" },
    { 204, "No Content" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 411, "Length Required" },
    { 413, "Payload Too Large" },
    { 414, "URI Too Long" },
    { 417, "Expectation Failed" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 503, "Service Unavailable" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
    { 0, "" },
};

int http_status_index(int status)
{
    int index = 0;
    while (index < HTTP_STATUSES && statuses[index].status != status)
        index++;
    return index;
}

int http_status_code(int index)
{
    return statuses[index].status;
}

const char *http_status_reason(int status)
{
    return statuses[http_status_index(status)].reason;
}
