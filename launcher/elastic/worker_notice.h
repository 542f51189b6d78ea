/* SPDX-License-Identifier: Apache-2.0 */
/* The notification service of an unmodified Horovod worker: where it listens, what it is sent, and
 * what it answers, as bytes.
 *
 * The worker has told its addresses and a key, in base64 of a Python pickle. It takes one request
 * for each connection, and closes it after the answer:
 *
 *   0 HMAC-SHA256(key, body), 32 bytes   32 length of the body, int32, little-endian   36 body
 *
 * The body is a pickle of an object of the class PingRequest (answered with PingResponse) or
 * HostsUpdatedRequest (AckResponse). Pickles are written and read here only as far as these
 * messages need it; nothing in them is carried out. Fails with HVD_ERR_PROTOCOL on bytes that are
 * malformed, of another kind, or not proved by the key. */
#ifndef LAUNCHER_ELASTIC_WORKER_NOTICE_H
#define LAUNCHER_ELASTIC_WORKER_NOTICE_H

#include "lib/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { WORKER_ADDRESSES_MAX = 16, WORKER_NOTICE_KEY_SIZE = 32, WORKER_NOTICE_MAX = 1024 };

struct worker_address {
    struct {
        uint32_t ip; /* IPv4, the first octet is the highest */
        uint16_t port;
    } at[WORKER_ADDRESSES_MAX];
    int count; /* further ones are not kept */
    unsigned char key[WORKER_NOTICE_KEY_SIZE];
};

int worker_address_parse(struct worker_address *address, const char *base64, size_t length,
                         struct err *err);

enum worker_notice { WORKER_PING, WORKER_HOSTS_UPDATED };

/* Writes a request, and returns its length. `seconds` since 1970 are for WORKER_HOSTS_UPDATED: the
 * worker ignores a notice that is not later than the one before. The notice says that hosts were
 * both added and removed: with less the worker would not synchronise its state with new workers. */
size_t worker_notice_put(unsigned char out[WORKER_NOTICE_MAX], enum worker_notice notice,
                         const unsigned char key[WORKER_NOTICE_KEY_SIZE], int32_t seconds);

/* Checks all that the worker has sent until it closed the connection. */
int worker_notice_check(enum worker_notice notice, const unsigned char key[WORKER_NOTICE_KEY_SIZE],
                        const void *answer, size_t length, struct err *err);

#endif
