/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts of an elastic job; see elastic_hosts.h. The cool-down of a host is the low limit after its
 * first failure, and twice as long after each further one, up to the high limit. */
#include "launcher/elastic/elastic_hosts.h"

#include "launcher/base/xalloc.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int compare_elastic_hosts(const void *a, const void *b)
{
    const struct elastic_host *left = a, *right = b;
    return strcasecmp(left->found.name, right->found.name);
}

static struct elastic_host *elastic_hosts_find(const struct elastic_hosts *hosts, char *name)
{
    struct elastic_host key = { .found.name = name };
    void *node = tfind(&key, &hosts->names, compare_elastic_hosts);
    return node ? *(struct elastic_host **)node : NULL;
}

static struct elastic_host *elastic_hosts_add(struct elastic_hosts *hosts,
                                              const struct host_slots *found)
{
    if (hosts->count == hosts->capacity) {
        hosts->capacity = hosts->capacity ? 2 * hosts->capacity : 8;
        hosts->hosts = xreallocarray(hosts->hosts, (size_t)hosts->capacity, sizeof *hosts->hosts);
    }
    struct elastic_host *host = xcalloc(1, sizeof *host);
    host->index = hosts->count;
    host->found.name = xstrdup(found->name);
    host->found.user = xstrdup(found->user);
    hosts->hosts[hosts->count++] = host;
    if (!tsearch(host, &hosts->names, compare_elastic_hosts))
        xalloc_failed();
    return host;
}

/* The user of the agents that are started from now on. */
static void elastic_host_take_user(struct elastic_host *host, const char *user)
{
    char *copy = xstrdup(user);
    free(host->found.user);
    host->found.user = copy;
}

void elastic_hosts_update(struct elastic_hosts *hosts, const struct host_list *found)
{
    for (int i = 0; i < hosts->count; i++)
        hosts->hosts[i]->found.slots = 0;
    for (int i = 0; i < found->count; i++) {
        struct elastic_host *host = elastic_hosts_find(hosts, found->hosts[i].name);
        if (!host)
            host = elastic_hosts_add(hosts, &found->hosts[i]);
        else
            elastic_host_take_user(host, found->hosts[i].user);
        host->found.slots = found->hosts[i].slots;
    }
}

int elastic_host_capacity(const struct elastic_host *host)
{
    int left = host->found.slots - host->given_up_count;
    return host->avoided_until || left < 0 ? 0 : left;
}

int elastic_hosts_capacity(const struct elastic_hosts *hosts)
{
    int sum = 0;
    for (int i = 0; i < hosts->count; i++)
        sum += elastic_host_capacity(hosts->hosts[i]);
    return sum;
}

/* When the host, or its slot, is used again after a failure now. */
static uint64_t elastic_host_fail(struct elastic_hosts *hosts, struct elastic_host *host,
                                  uint64_t now_ms)
{
    uint64_t delay_ms = hosts->cooldown_low_ms;
    if (host->failures == 0 || (host->given_up_count == 0 && host->avoided_until == 0))
        host->failures++;
    if (delay_ms == 0)
        return UINT64_MAX;
    for (int i = 1; i < host->failures && delay_ms < hosts->cooldown_high_ms; i++)
        delay_ms *= 2;
    return now_ms + (delay_ms < hosts->cooldown_high_ms ? delay_ms : hosts->cooldown_high_ms);
}

void elastic_host_avoid(struct elastic_hosts *hosts, int host, uint64_t now_ms)
{
    struct elastic_host *at = hosts->hosts[host];
    at->avoided_until = elastic_host_fail(hosts, at, now_ms);
}

void elastic_host_give_up_slot(struct elastic_hosts *hosts, int host, uint64_t now_ms)
{
    struct elastic_host *at = hosts->hosts[host];
    uint64_t until = elastic_host_fail(hosts, at, now_ms);
    at->given_up =
        xreallocarray(at->given_up, (size_t)at->given_up_count + 1, sizeof *at->given_up);
    at->given_up[at->given_up_count++] = until;
}

static uint64_t elastic_host_cool(struct elastic_host *host, uint64_t now_ms)
{
    uint64_t next = UINT64_MAX;
    int kept = 0;
    if (host->avoided_until <= now_ms)
        host->avoided_until = 0;
    else
        next = host->avoided_until;
    for (int i = 0; i < host->given_up_count; i++) {
        if (host->given_up[i] <= now_ms)
            continue;
        next = host->given_up[i] < next ? host->given_up[i] : next;
        host->given_up[kept++] = host->given_up[i];
    }
    host->given_up_count = kept;
    return next;
}

uint64_t elastic_hosts_cool(struct elastic_hosts *hosts, uint64_t now_ms)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < hosts->count; i++) {
        uint64_t host_next = elastic_host_cool(hosts->hosts[i], now_ms);
        next = host_next < next ? host_next : next;
    }
    return next;
}

static void elastic_host_forget(void *node)
{
    (void)node; /* owned by the array */
}

void elastic_hosts_fini(struct elastic_hosts *hosts)
{
    tdestroy(hosts->names, elastic_host_forget);
    for (int i = 0; i < hosts->count; i++) {
        free(hosts->hosts[i]->found.name);
        free(hosts->hosts[i]->found.user);
        free(hosts->hosts[i]->given_up);
        free(hosts->hosts[i]);
    }
    free(hosts->hosts);
    *hosts = (struct elastic_hosts){ 0 };
}
