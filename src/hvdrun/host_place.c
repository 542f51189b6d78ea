/* SPDX-License-Identifier: Apache-2.0 */
/* A host's name, then its address as a number, then what the resolver says; see host_place.h. */
#include "src/hvdrun/host_place.h"

#include <netdb.h>
#include <string.h>

static bool is_same_address(const struct ip_address *a, const struct ip_address *b)
{
    return a->family == b->family &&
           memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : sizeof a->bytes) == 0;
}

bool host_place_is_apart(const struct host_place *a, const struct host_place *b)
{
    if (a->where == HOST_ELSEWHERE && b->where == HOST_ELSEWHERE)
        return !is_same_address(&a->address, &b->address);
    return (a->where == HOST_HERE && b->where == HOST_ELSEWHERE) ||
           (a->where == HOST_ELSEWHERE && b->where == HOST_HERE);
}

bool host_place_may_be_apart(const struct host_place *a, const struct host_place *b)
{
    return a->where == HOST_UNKNOWN || b->where == HOST_UNKNOWN || host_place_is_apart(a, b);
}

/* A host is here if any of its addresses is; elsewhere only if we know our own. */
static struct host_place resolved_place(struct local_host *self, const struct addrinfo *found)
{
    struct host_place place = { .where = HOST_UNKNOWN };
    for (; found; found = found->ai_next) {
        if (local_host_has_address(self, found->ai_addr))
            return (struct host_place){ .where = HOST_HERE };
        if (place.where == HOST_UNKNOWN && ip_address_read(&place.address, found->ai_addr))
            place.where = HOST_ELSEWHERE;
    }
    if (self->address_count == 0)
        place.where = HOST_UNKNOWN;
    return place;
}

struct host_place host_place_find(struct local_host *self, const char *host, bool resolve)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    char name[NI_MAXHOST];
    size_t bracket = *host == '[', length = strcspn(host + bracket, "]");
    if (local_host_is(self, host))
        return (struct host_place){ .where = HOST_HERE };
    if (length >= sizeof name)
        return (struct host_place){ .where = HOST_UNKNOWN };
    memcpy(name, host + bracket, length);
    name[length] = '\0';
    if (!resolve)
        hints.ai_flags = AI_NUMERICHOST;
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return (struct host_place){ .where = HOST_UNKNOWN };
    struct host_place place = resolved_place(self, found);
    freeaddrinfo(found);
    return place;
}
