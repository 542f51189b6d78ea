/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of TCP clients in one thread: connections are dialled without waiting, bytes go out as
 * the other side takes them, what comes in is kept and handed over. A socket that cannot be made
 * ends the program; a connection that fails is told like one that ends. */
#ifndef BENCH_SUPPORT_CROWD_H
#define BENCH_SUPPORT_CROWD_H

#include "lib/base/wire.h"

#include <netinet/in.h>
#include <stdbool.h>

struct crowd_member {
    int fd; /* -1: not connected, or no more */
    bool waits_to_send;
    struct wire_writer out; /* what the other side has not taken yet begins at `sent` */
    size_t sent;
    struct wire_writer in; /* what has come and was not taken with crowd_take() */
};

struct crowd {
    int epoll, size;
    struct sockaddr_in address;
    struct crowd_member *members;
    void *context;

    /* More has come: members[index].in. */
    void (*on_bytes)(struct crowd *crowd, int index);

    /* The other side has ended the connection, or refused it; it is closed. */
    void (*on_end)(struct crowd *crowd, int index);
};

/* `address` is "127.0.0.1:PORT". Raises the limit of descriptors; ends the program if it is too
 * low. */
void crowd_init(struct crowd *crowd, const char *address, int size);
void crowd_fini(struct crowd *crowd);

/* From 127.0.0.`from`, so that no more than 28 000 ports of one address are used up. Bytes that
 * were put before go out as soon as there is a connection. */
void crowd_dial(struct crowd *crowd, int index, int from);
void crowd_put(struct crowd *crowd, int index, const void *data, size_t length);
void crowd_take(struct crowd *crowd, int index, size_t length);
void crowd_close(struct crowd *crowd, int index);

/* Does what can be done now, or within `timeout_ms`. False if nothing could be. */
bool crowd_turn(struct crowd *crowd, int timeout_ms);

#endif
