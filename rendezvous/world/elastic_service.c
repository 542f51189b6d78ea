/* SPDX-License-Identifier: Apache-2.0 */
/* The next world of an elastic job without a launcher; see elastic_service.h. */
#include "rendezvous/world/elastic_service.h"

#include "rendezvous/base/deadline.h"
#include "rendezvous/base/host_groups.h"
#include "rendezvous/base/text_line.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The workers that may be members, the oldest first. */
struct candidates {
    int *workers;
    const char **hosts;
    int count;
};

/* When the first and the last of the waiting workers came; UINT64_MAX and 0 if none waits. */
struct arrivals {
    uint64_t first_ms, last_ms;
    uint64_t first_back_ms; /* of those that were in the world */
};

static struct arrivals find_arrivals(const struct elastic *elastic)
{
    struct arrivals arrivals = { .first_ms = UINT64_MAX, .first_back_ms = UINT64_MAX };
    for (int i = 0; i < elastic->numbered; i++) {
        const struct elastic_worker *worker = &elastic->workers[i];
        if (worker->state != ELASTIC_WAITING)
            continue;
        uint64_t came_ms = worker->hello->came_ms;
        arrivals.first_ms = deadline_earlier(arrivals.first_ms, came_ms);
        if (worker->of_world)
            arrivals.first_back_ms = deadline_earlier(arrivals.first_back_ms, came_ms);
        if (came_ms > arrivals.last_ms)
            arrivals.last_ms = came_ms;
    }
    return arrivals;
}

/* When ranks that have not come back are no longer waited for. */
static uint64_t back_deadline(const struct elastic_service *service,
                              const struct arrivals *arrivals)
{
    return deadline_after(arrivals->first_back_ms, service->start_timeout_ms);
}

/* When the waiting workers are refused if they are too few. */
static uint64_t start_deadline(const struct elastic_service *service,
                               const struct arrivals *arrivals, bool present)
{
    return present ? back_deadline(service, arrivals)
                   : deadline_after(arrivals->first_ms, service->start_timeout_ms);
}

static bool candidates_init(struct candidates *candidates, const struct elastic *elastic,
                            const char *const *hosts, int max)
{
    size_t numbered = (size_t)elastic->numbered;
    *candidates = (struct candidates){ .workers = calloc(numbered, sizeof *candidates->workers),
                                       .hosts = calloc(numbered, sizeof *candidates->hosts) };
    if (!candidates->workers || !candidates->hosts)
        return false;
    for (int i = 0; i < elastic->numbered && candidates->count < max; i++) {
        const struct elastic_worker *worker = &elastic->workers[i];
        bool waits = worker->state == ELASTIC_WAITING && !worker->removed;
        const char *host = waits ? worker->hello->host : hosts ? hosts[i] : NULL;
        if (!host)
            continue;
        candidates->workers[candidates->count] = i;
        candidates->hosts[candidates->count++] = host;
    }
    return true;
}

static void candidates_fini(struct candidates *candidates)
{
    free(candidates->workers);
    free(candidates->hosts);
}

static bool is_intended(const struct elastic *elastic, const struct rendezvous_member *members,
                        int count)
{
    bool same = count == elastic->nmembers;
    for (int i = 0; same && i < count; i++)
        same = elastic->members[i].worker == members[i].worker;
    return same;
}

static int intend(struct elastic *elastic, const struct candidates *candidates, struct err *err)
{
    struct host_groups groups;
    int count = candidates->count;
    assert(count > 0);
    struct rendezvous_member *members = calloc((size_t)count, sizeof *members);
    int rc = members ? host_groups_init(&groups, candidates->hosts, count) : HVD_ERR_NOMEM;
    if (rc < 0) {
        free(members);
        return fail(err, rc, "out of memory for a world of %d", count);
    }
    for (int i = 0; i < count; i++)
        members[i] = (struct rendezvous_member){ candidates->workers[groups.order[i]],
                                                 candidates->hosts[groups.order[i]] };
    if (!is_intended(elastic, members, count))
        rc = elastic_intend(elastic, members, count, err);
    host_groups_fini(&groups);
    free(members);
    return rc;
}

int elastic_service_intend(const struct elastic_service *service, struct elastic *elastic,
                           const char *const *hosts, uint64_t now_ms, struct err *err)
{
    struct arrivals arrivals = find_arrivals(elastic);
    if (elastic->waiting == 0)
        return HVD_OK;
    if (now_ms >= back_deadline(service, &arrivals))
        hosts = NULL;
    struct candidates candidates;
    int rc = candidates_init(&candidates, elastic, hosts, service->max)
                 ? HVD_OK
                 : fail(err, HVD_ERR_NOMEM, "out of memory for %d workers", elastic->numbered);
    bool quiet = candidates.count == service->max || now_ms - arrivals.last_ms >= ELASTIC_QUIET_MS;
    if (rc == HVD_OK && candidates.count >= service->min && quiet)
        rc = intend(elastic, &candidates, err);
    candidates_fini(&candidates);
    return rc;
}

uint64_t elastic_service_deadline(const struct elastic_service *service,
                                  const struct elastic *elastic, bool present, uint64_t now_ms)
{
    struct arrivals arrivals = find_arrivals(elastic);
    if (elastic->waiting == 0)
        return UINT64_MAX;
    uint64_t quiet_ms = arrivals.last_ms + ELASTIC_QUIET_MS,
             deadline_ms = start_deadline(service, &arrivals, present);
    if (deadline_ms <= now_ms)
        deadline_ms = UINT64_MAX;
    return now_ms < quiet_ms ? deadline_earlier(quiet_ms, deadline_ms) : deadline_ms;
}

bool elastic_service_timed_out(const struct elastic_service *service, const struct elastic *elastic,
                               bool present, uint64_t now_ms, char text[JOIN_TEXT_MAX])
{
    struct arrivals arrivals = find_arrivals(elastic);
    struct text_line line = { 0 };
    if (elastic->waiting == 0 || elastic->waiting >= service->min ||
        now_ms < start_deadline(service, &arrivals, present))
        return false;
    text_line_add(&line, "%d of at least %d workers have come within ", elastic->waiting,
                  service->min);
    text_line_add_time(&line, service->start_timeout_ms);
    snprintf(text, JOIN_TEXT_MAX, "%s", line.text);
    return true;
}
