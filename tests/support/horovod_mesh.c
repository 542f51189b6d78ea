/* SPDX-License-Identifier: Apache-2.0 */
/* Gloo's mesh; see horovod_mesh.h. */
#include "tests/support/horovod_mesh.h"

#include <err.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static struct in_addr interface_address(const char *interface)
{
    struct ifaddrs *all, *i;
    if (getifaddrs(&all) != 0)
        err(1, "getifaddrs");
    for (i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && strcmp(i->ifa_name, interface) == 0)
            break;
    if (!i)
        errx(1, "Unable to find address for: %s", interface);
    struct in_addr address = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    freeifaddrs(all);
    return address;
}

static struct in_addr host_address(void)
{
    char name[256] = "";
    struct addrinfo hints = { .ai_family = AF_INET }, *found;
    gethostname(name, sizeof name - 1);
    int rc = getaddrinfo(name, NULL, &hints, &found);
    if (rc != 0)
        errx(1, "%s: %s", name, gai_strerror(rc));
    struct in_addr address = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
    return address;
}

static void pair_listen(struct horovod_pair *pair, struct in_addr address)
{
    socklen_t length = sizeof pair->address;
    pair->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address };
    pair->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (pair->fd < 0 || bind(pair->fd, (const void *)&pair->address, length) != 0 ||
        listen(pair->fd, BACKLOG) != 0 ||
        getsockname(pair->fd, (void *)&pair->address, &length) != 0)
        err(1, "listening for a peer");
}

void horovod_mesh_init(struct horovod_mesh *mesh, int rank, int size, const char *interface)
{
    *mesh = (struct horovod_mesh){ rank, size, calloc((size_t)size, sizeof *mesh->pairs) };
    if (!mesh->pairs)
        errx(1, "out of memory");
    struct in_addr address = *interface ? interface_address(interface) : host_address();
    for (int peer = 0; peer < size; peer++) {
        mesh->pairs[peer].fd = -1;
        if (peer != rank)
            pair_listen(&mesh->pairs[peer], address);
    }
}

void horovod_mesh_fini(struct horovod_mesh *mesh)
{
    for (int peer = 0; peer < mesh->size; peer++)
        if (mesh->pairs[peer].fd >= 0)
            close(mesh->pairs[peer].fd);
    free(mesh->pairs);
}

/* The real one's are not initialised: anything may stand between the fields. */
static void pair_tell(const struct horovod_pair *pair, char told[HOROVOD_ADDRESS_SIZE])
{
    const int64_t sequence = -1;
    for (int i = 0; i < HOROVOD_ADDRESS_SIZE; i++)
        told[i] = "\r\n\0\xff\x80\r\n\r\nGET / HTTP/1.1%00"[i % 26];
    memcpy(told, &pair->address, sizeof pair->address);
    memcpy(told + HOROVOD_ADDRESS_SIZE - sizeof sequence, &sequence, sizeof sequence);
}

/* Where rank `rank` stands among the peers of `of`. */
static int slot(int rank, int of)
{
    return rank > of ? rank - 1 : rank;
}

char *horovod_mesh_tell(const struct horovod_mesh *mesh)
{
    if (mesh->size == 1)
        return NULL;
    char *told = malloc((size_t)(mesh->size - 1) * HOROVOD_ADDRESS_SIZE);
    if (!told)
        errx(1, "out of memory");
    for (int peer = 0; peer < mesh->size; peer++)
        if (peer != mesh->rank)
            pair_tell(&mesh->pairs[peer], told + slot(peer, mesh->rank) * HOROVOD_ADDRESS_SIZE);
    return told;
}

static int compare(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    int order = memcmp(&a->sin_addr, &b->sin_addr, sizeof a->sin_addr);
    return order != 0 ? order : (int)a->sin_port - (int)b->sin_port;
}

static int dial(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const void *)address, sizeof *address) != 0)
        err(1, "connecting to a peer");
    return fd;
}

void horovod_mesh_connect(struct horovod_mesh *mesh, int peer, const char *told, size_t length)
{
    struct horovod_pair *pair = &mesh->pairs[peer];
    struct sockaddr_in theirs;
    if (length != (size_t)(mesh->size - 1) * HOROVOD_ADDRESS_SIZE)
        errx(1, "rank %d has told %zu bytes: not those of a world of %d", peer, length, mesh->size);
    memcpy(&theirs, told + slot(mesh->rank, peer) * HOROVOD_ADDRESS_SIZE, sizeof theirs);
    int order = theirs.sin_family == AF_INET ? compare(&pair->address, &theirs) : 0;
    if (order == 0)
        errx(1, "the address that rank %d has told is not one to compare with", peer);
    int fd = order > 0 ? dial(&theirs) : accept4(pair->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        err(1, "accepting rank %d", peer);
    close(pair->fd);
    pair->fd = fd;
}

/* One round of dissemination. Each rank sends its number, which shows that each connection leads
 * to the right rank. */
static void exchange(struct horovod_mesh *mesh, int distance)
{
    int to = (mesh->rank + distance) % mesh->size;
    int from = (mesh->rank - distance + mesh->size) % mesh->size;
    int32_t said[2] = { distance, mesh->rank }, heard[2];
    if (send(mesh->pairs[to].fd, said, sizeof said, MSG_NOSIGNAL) != sizeof said)
        err(1, "sending to rank %d", to);
    if (recv(mesh->pairs[from].fd, heard, sizeof heard, MSG_WAITALL) != sizeof heard)
        errx(1, "Connection closed by peer: rank %d", from);
    if (heard[0] != distance || heard[1] != from)
        errx(1, "rank %d at distance %d says it is %d at %d", from, distance, heard[1], heard[0]);
}

void horovod_mesh_barrier(struct horovod_mesh *mesh)
{
    for (int distance = 1; distance < mesh->size; distance *= 2)
        exchange(mesh, distance);
}
