/* SPDX-License-Identifier: Apache-2.0 */
/* The full mesh of TCP connections that Gloo makes among the members of a scope.
 *
 * Happy path: a listening socket for each peer, on the address of one interface; their addresses
 * are told (horovod_mesh_tell()); each peer's are read and one of the two dials; a barrier. Whose
 * address for the pair is greater, bytes of IP first, then the port as it lies in memory, closes
 * its listener and dials. Anything that fails ends the program; nothing here limits how long it
 * takes. */
#ifndef TESTS_SUPPORT_HOROVOD_MESH_H
#define TESTS_SUPPORT_HOROVOD_MESH_H

#include <netinet/in.h>
#include <stddef.h>

/* The encoded address of a listening socket: its sockaddr_storage, and a number that is always
 * -1. */
enum { HOROVOD_ADDRESS_SIZE = 128 + 8 };

struct horovod_mesh {
    int rank, size;
    struct horovod_pair {
        int fd; /* listens, later is the connection; -1 for oneself */
        struct sockaddr_in address;
    } * pairs; /* one for each rank */
};

/* `interface` "": the address of the host's name. */
void horovod_mesh_init(struct horovod_mesh *mesh, int rank, int size, const char *interface);
void horovod_mesh_fini(struct horovod_mesh *mesh);

/* The addresses for all peers in order of rank, (size - 1) * HOROVOD_ADDRESS_SIZE bytes, to be
 * freed; with whatever bytes lie between the fields. NULL for a mesh of one. */
char *horovod_mesh_tell(const struct horovod_mesh *mesh);

/* `told` is what `peer` has told. */
void horovod_mesh_connect(struct horovod_mesh *mesh, int peer, const char *told, size_t length);

/* Returns when all have called it. */
void horovod_mesh_barrier(struct horovod_mesh *mesh);

#endif
