/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a stream of bytes at one of its offsets. Decides only: bytes in, bytes out.
 *
 *   cut         both ends see the other close, after the bytes before the offset
 *   reset       both ends see a reset
 *   flip=BIT    a bit of the byte at the offset is the other way round (0 to 7; 0)
 *   double=N    the N bytes at the offset come twice (1)
 *   drop=N      the N bytes at the offset do not come (1)
 *   garbage=N   N bytes that nobody has sent come before the offset (1)
 *   stall=MS    nothing comes from the offset on, for so long; 0: for ever, or until it is told (0)
 *
 * A fault that is never reached, since fewer bytes come, changes nothing. */
#ifndef TESTS_PROXY_WIRE_FAULT_H
#define TESTS_PROXY_WIRE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_act {
    WIRE_NOTHING,
    WIRE_CUT,
    WIRE_RESET,
    WIRE_FLIP,
    WIRE_DOUBLE,
    WIRE_DROP,
    WIRE_GARBAGE,
    WIRE_STALL,
    WIRE_ACTS
};

enum { WIRE_RANGE_MAX = 1 << 20 }; /* of N */

struct wire_fault {
    enum wire_act act;
    uint64_t offset, argument;
};

/* "OFFSET:ACT" or "OFFSET:ACT=ARGUMENT". NULL, or what was expected, if it is something else. */
const char *wire_fault_parse(struct wire_fault *fault, const char *text);

const char *wire_act_name(enum wire_act act);

/* Zeroed, with a fault, is a stream of which nothing has come. */
struct wire_stream {
    struct wire_fault fault;
    uint64_t came;         /* so many bytes */
    unsigned char *copied; /* of those to be doubled; owned */
};

void wire_stream_fini(struct wire_stream *stream);

/* What comes out: owned by whoever calls. */
struct wire_bytes {
    unsigned char *data;
    size_t length, capacity;
};

/* What becomes of the stream behind the bytes that have come out. */
enum wire_verdict { WIRE_GOES_ON, WIRE_IS_CUT, WIRE_IS_RESET, WIRE_STALLS };

/* `nbytes` have come: appends what comes out. WIRE_STALLS is said once; only the first `*prompt`
 * bytes of `out` come before it. After WIRE_IS_CUT and WIRE_IS_RESET there is no more to take. */
enum wire_verdict wire_stream_take(struct wire_stream *stream, const unsigned char *data,
                                   size_t nbytes, struct wire_bytes *out, size_t *prompt);

#endif
