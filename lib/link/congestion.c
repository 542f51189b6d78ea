/* SPDX-License-Identifier: Apache-2.0 */
/* The congestion control of TCP links; see congestion.h. */
#include "lib/link/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define WITHIN_HOST "reno"
#define REPLACED "bbr"

enum { NAME_SIZE = 16 }; /* TCP_CA_NAME_MAX of Linux */

/* Whether the system's default was REPLACED when a socket last began. Remembered, so that a link
 * needs no further socket: the process may have no descriptor left. */
static atomic_bool system_is_replaced;

/* False if the socket has none. */
static bool congestion_name(int fd, char name[NAME_SIZE])
{
    socklen_t length = NAME_SIZE - 1;
    memset(name, 0, NAME_SIZE);
    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0;
}

static void congestion_set(int fd, const char *name)
{
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

bool congestion_is_replaced(const char *system)
{
    return strcmp(system, REPLACED) == 0;
}

void congestion_begin(int fd)
{
    char name[NAME_SIZE]; /* a new socket has the system's default */
    if (!congestion_name(fd, name))
        return;
    bool is_replaced = congestion_is_replaced(name);
    atomic_store(&system_is_replaced, is_replaced);
    if (is_replaced)
        congestion_set(fd, WITHIN_HOST);
}

void congestion_choose(int fd, bool within_host)
{
    char name[NAME_SIZE];
    if (within_host)
        congestion_set(fd, WITHIN_HOST);
    else if (atomic_load(&system_is_replaced) && congestion_name(fd, name) &&
             strcmp(name, WITHIN_HOST) == 0)
        congestion_set(fd, REPLACED);
}
