/* SPDX-License-Identifier: Apache-2.0 */
/* Routes; see http_route.h. */
#include "rendezvous/api/http_route.h"

#include "rendezvous/store/key_value.h"

#include <stdio.h>
#include <string.h>

enum { JSON_BODY_MAX = 4096 }; /* the declaration of a job, or the number to add */

/* The rows of one path stand together, and more specific paths stand first. */
static const struct http_route routes[] = {
    { "/", "/", HTTP_GET, true, 0, http_page },
    { "/healthz", "/healthz", HTTP_GET, true, 0, http_healthz },
    { "/metrics", "/metrics", HTTP_GET, false, 0, http_metrics },
    { "/v1/jobs", "/v1/jobs", HTTP_GET, false, 0, http_jobs },
    { "/v1/jobs/*", "/v1/jobs/ID", HTTP_GET, false, 0, http_job },
    { "/v1/jobs/*", "/v1/jobs/ID", HTTP_PUT, false, JSON_BODY_MAX, http_job_put },
    { "/v1/jobs/*", "/v1/jobs/ID", HTTP_DELETE, false, 0, http_job_delete },
    { "/rank_and_size/*", "/rank_and_size/HOST:LOCAL_RANK", HTTP_GET, false, 0,
      http_rank_and_size },
    { "/*/*", "/SCOPE/KEY", HTTP_GET, false, 0, http_key_value_get },
    { "/*/*", "/SCOPE/KEY", HTTP_PUT, false, KEY_VALUE_SIZE_MAX, http_key_value_put },
    { "/*/*", "/SCOPE/KEY", HTTP_DELETE, false, 0, http_key_value_delete },
    { "/*/*", "/SCOPE/KEY", HTTP_POST, false, JSON_BODY_MAX, http_key_value_post },
};
enum { ROUTES = sizeof routes / sizeof *routes };

bool http_healthz(struct http_service *service, struct http_exchange *exchange,
                  struct http_answer *answer)
{
    static const char body[] = "{\"status\":\"ok\"}\n";
    (void)service;
    (void)exchange;
    *answer = (struct http_answer){ .status = 200,
                                    .type = "application/json",
                                    .body = body,
                                    .length = sizeof body - 1,
                                    .has_body = true };
    return true;
}

static bool split_segments(struct http_path *path, const char *at, const char *end)
{
    while (at < end && path->count < HTTP_SEGMENTS_MAX) {
        const char *begin = at + 1; /* after the slash */
        const char *slash = memchr(begin, '/', (size_t)(end - begin));
        at = slash ? slash : end;
        path->segments[path->count++] = (struct http_text){ begin, (size_t)(at - begin) };
    }
    return at == end;
}

bool http_path_split(struct http_path *path, const char *target, size_t length)
{
    *path = (struct http_path){ 0 };
    if (length == 0 || target[0] != '/')
        return false;
    const char *end = target + length;
    const char *mark = memchr(target, '?', length);
    if (mark) {
        path->query = (struct http_text){ mark + 1, (size_t)(end - mark - 1) };
        end = mark;
    }
    return end - target == 1 || split_segments(path, target, end);
}

static bool segment_is(struct http_text segment, const char *pattern, size_t length)
{
    if (length == 1 && *pattern == '*')
        return segment.length > 0;
    return segment.length == length && memcmp(segment.data, pattern, length) == 0;
}

static bool path_is(const struct http_path *path, const char *pattern)
{
    if (path->count == 0)
        return strcmp(pattern, "/") == 0;
    for (int i = 0; i < path->count; i++) {
        if (*pattern != '/')
            return false;
        size_t length = strcspn(++pattern, "/");
        if (!segment_is(path->segments[i], pattern, length))
            return false;
        pattern += length;
    }
    return *pattern == '\0';
}

static bool same_path(int row, int other)
{
    return strcmp(routes[row].path, routes[other].path) == 0;
}

static const struct http_route *refuse_method(int first, struct http_answer *answer)
{
    *answer = (struct http_answer){ .status = 405 };
    for (int i = first; i < ROUTES && same_path(i, first); i++) {
        size_t length = strlen(answer->allow);
        snprintf(answer->allow + length, sizeof answer->allow - length, "%s%s%s",
                 length > 0 ? ", " : "", http_method_name(routes[i].method),
                 routes[i].method == HTTP_GET ? ", HEAD" : "");
    }
    return NULL;
}

const struct http_route *http_route_find(const struct http_request *request, struct http_path *path,
                                         struct http_answer *answer)
{
    enum http_method method = request->method == HTTP_HEAD ? HTTP_GET : request->method;
    int first = http_path_split(path, request->target, request->target_length) ? 0 : ROUTES;
    while (first < ROUTES && !path_is(path, routes[first].path))
        first++;
    if (first == ROUTES) {
        *answer = (struct http_answer){ .status = 404 };
        return NULL;
    }
    for (int i = first; i < ROUTES && same_path(i, first); i++)
        if (routes[i].method == method)
            return &routes[i];
    return refuse_method(first, answer);
}

int http_route_index(const struct http_route *route)
{
    int index = 0;
    for (int i = 1; i <= route - routes; i++)
        index += !same_path(i, i - 1);
    return index;
}

int http_route_count(void)
{
    return http_route_index(&routes[ROUTES - 1]) + 1;
}

const char *http_route_name(int index)
{
    int row = 0;
    while (http_route_index(&routes[row]) < index)
        row++;
    return routes[row].name;
}
