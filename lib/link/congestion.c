/* SPDX-License-Identifier: Apache-2.0 */
/* The congestion control of TCP links; see congestion.h. */
#include "lib/link/congestion.h"

#include "lib/base/descriptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define WITHIN_HOST "reno"

enum { NAME_SIZE = 16 }; /* TCP_CA_NAME_MAX of Linux */

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

/* A new socket has the system's default. */
static bool congestion_of_system(char name[NAME_SIZE])
{
    int fd = descriptor_socket(AF_INET);
    bool known = fd >= 0 && congestion_name(fd, name);
    descriptor_close(fd);
    return known;
}

bool congestion_is_replaced(const char *system)
{
    return strcmp(system, "bbr") == 0;
}

void congestion_begin(int fd)
{
    char name[NAME_SIZE];
    if (congestion_name(fd, name) && congestion_is_replaced(name))
        congestion_set(fd, WITHIN_HOST);
}

void congestion_choose(int fd, bool within_host)
{
    char name[NAME_SIZE];
    if (within_host)
        congestion_set(fd, WITHIN_HOST);
    else if (congestion_name(fd, name) && strcmp(name, WITHIN_HOST) == 0 &&
             congestion_of_system(name) && congestion_is_replaced(name))
        congestion_set(fd, name);
}
