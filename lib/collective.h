/* SPDX-License-Identifier: Apache-2.0 */
/* One collective of a rank, from its fingerprint to the last byte. Bytes out to the right, bytes in
 * from the left; no link, no thread.
 *
 *   fingerprint out and in, then its phases one after the other: allreduce is reduce-scatter and
 *   allgather, a barrier an allreduce of one element.
 * Fails when what the left neighbour does is something else (HVD_ERR_MISMATCH). */
#ifndef LIB_COLLECTIVE_H
#define LIB_COLLECTIVE_H

#include "lib/collective/ring_flow.h"
#include "lib/fingerprint.h"
#include "lib/request.h"

#include <stdint.h>
#include <sys/uio.h>

struct collective {
    struct fingerprint print;
    unsigned char print_out[FINGERPRINT_SIZE], print_in[FINGERPRINT_SIZE];
    size_t print_sent, print_received;
    int left; /* whose fingerprint is expected */
    int phase;
    struct ring_task task;
    struct ring_flow flow; /* of the phase */
    int32_t token;         /* what a barrier reduces */
};

/* `request` has been checked; `staging` is RING_SEGMENT bytes. The request's memory and `staging`
 * are borrowed until the collective is done or given up. `size` is at least 2. */
void collective_start(struct collective *collective, const struct request *request, int rank,
                      int size, uint64_t number, void *staging);

/* The same for a world of one rank: all is done at once. */
void collective_alone(const struct request *request);

/* What can be sent now, as at most two parts, and that so many bytes were. Returns the number of
 * parts. */
int collective_output(const struct collective *collective, struct iovec parts[2]);
void collective_sent(struct collective *collective, size_t nbytes);

/* Where what comes next belongs; `*nbytes` is 0 when nothing is awaited. Then: so much came. */
void *collective_space(struct collective *collective, size_t *nbytes);
int collective_received(struct collective *collective, size_t nbytes, struct err *err);

bool collective_done(const struct collective *collective);

#endif
