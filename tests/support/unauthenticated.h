/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of tests/support/unauthenticated.c: connections to the rendezvous under
 * attack. Each function ends the program on a failure that the rendezvous has not caused. */
#ifndef TESTS_SUPPORT_UNAUTHENTICATED_H
#define TESTS_SUPPORT_UNAUTHENTICATED_H

#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/wire.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The address of the rendezvous. */
extern const char *unauthenticated_address;
extern int unauthenticated_port;

void __attribute__((noreturn, format(printf, 1, 2))) stop(const char *format, ...);
uint64_t now_ms(void);

/* Connected, and blocking. */
int dial(void);

/* Bytes that cannot be sent are dropped: the rendezvous has closed the connection. */
void send_all(int fd, const void *data, size_t length);

/* Reads until so many bytes are there, or the end; false at the end. Ends the program after a
 * minute. */
bool read_until(int fd, struct wire_writer *received, size_t length);
bool read_to_end(int fd, struct wire_writer *received);

/* A client of the join protocol that may do as it likes. */
struct joiner {
    int fd;
    struct job_key key;
    char job[KEY_OWNER_SIZE];
    unsigned char nonce[NONCE_SIZE]; /* its own */
    struct seal seal;                /* from the CHALLENGE on */
    bool challenged;
    struct wire_writer received;
};

void joiner_init(struct joiner *joiner, const struct job_key *key, const char *job);
void joiner_fini(struct joiner *joiner);

/* Waits for it, once; false if none comes. */
bool joiner_challenged(struct joiner *joiner);

void joiner_put_open(const struct joiner *joiner, struct wire_writer *out, int version,
                     const char *job);

/* HELLO of somebody who wants `rank` of `size`; sealed for this connection. */
void joiner_put_hello(struct joiner *joiner, struct wire_writer *out, int rank, int size);

/* Names of the frames in what was received, with commas; "-": none. "?": bytes that are no
 * frame, but "HTTP" if they are that. */
enum { ANSWERS_SIZE = 128 };
void name_answers(const struct wire_writer *received, char answers[ANSWERS_SIZE]);

/* The parts; arguments are those behind the part's name. Each returns an exit status. */
int unauthenticated_requests(char **arguments);
int unauthenticated_rows(char **arguments);
int unauthenticated_mutants(char **arguments);
int unauthenticated_replays(char **arguments);
int unauthenticated_alike(char **arguments);
int unauthenticated_crowd(char **arguments);
int unauthenticated_gets(char **arguments);
int unauthenticated_joins(char **arguments);

#endif
