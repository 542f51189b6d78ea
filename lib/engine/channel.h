/* SPDX-License-Identifier: Apache-2.0 */
/* The data link to one other rank of a process set, shared by the operations under way.
 *
 *   0 number of the operation u32   4 length u32, of which the upper 12 bits are a sum
 *   (checksum.h) of the number and the other 20   8 data
 *
 * All ranks start the operations of a set in the same order and number them alike; a few are under
 * way at once (the window). The operation with the lowest number that has something to send sends
 * the next frame. The receiver passes a frame to the operation of that number. It holds the frame
 * back while it has not started that operation, or while the operation has no space.
 *
 * Three rules prevent a deadlock. A frame of an operation beyond the receiver's window comes from a
 * rank that has finished the lowest operation of that window. An operation that has been started
 * takes incoming data at once, except alltoall, which waits for the numbers of rows from all ranks
 * (operation.h). Those numbers can be sent from the start, so that on every link an operation's
 * numbers come before any data of a later operation.
 *
 * A header that was corrupted on the way would break these rules, so each header has a sum. The
 * data have no sum besides that of TCP.
 *
 * Fails with HVD_ERR_PEER_LOST when the link breaks; with HVD_ERR_PROTOCOL when a frame has a wrong
 * sum, belongs to an operation that is done, is empty, is longer than CHANNEL_FRAME_MAX, or has
 * more data than its operation takes; and with the failures of the operation. */
#ifndef LIB_ENGINE_CHANNEL_H
#define LIB_ENGINE_CHANNEL_H

#include "lib/collective/operation.h"
#include "lib/link/link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WINDOW_SIZE = 4, CHANNEL_HEADER = 8, CHANNEL_LENGTH_BITS = 20 };

/* A frame is one system call on each side of a socket. Each call ends with a short packet, and
 * while one rank sends and the other receives on the same connection, they contend for the locks of
 * both sockets. So few large calls are faster: over TCP within a host, 1 MiB of 2 ranks takes 132
 * us with frames of this length, 149 with 256 KiB, 185 with 128 KiB. With 1 MiB, 64 MiB of 4 ranks
 * take 6 percent longer. */
enum { CHANNEL_FRAME_MAX = 512 * 1024 };
enum { CHANNEL_OFFER_LEAST = 4096, CHANNEL_DEBTS = 32 };

/* Operations first, first + 1, ..., end - 1 are under way, at most WINDOW_SIZE; number n is
 * at[n % WINDOW_SIZE], NULL when it is done already. Numbers wrap around. */
struct operation_window {
    uint32_t first, end;
    struct operation *at[WINDOW_SIZE];
};

/* Bytes that the link has, and whose sending has not been reported to the operation yet: offered
 * bytes, or bytes copied behind offered ones. */
struct channel_debt {
    uint32_t number; /* of the operation */
    size_t nbytes;
    bool offered;
};

struct channel {
    struct link *link; /* owned by the maker of the channel */
    int peer;          /* rank in the set */

    /* A queue in a ring; of the first debt, so many bytes are done already. */
    struct channel_debt debts[CHANNEL_DEBTS];
    unsigned first_debt, debt_count;
    uint64_t completed; /* how many of all offered bytes have been reported */

    /* The frame that is being sent: out_left bytes of its data are missing. */
    unsigned char out_header[CHANNEL_HEADER];
    size_t out_header_sent; /* CHANNEL_HEADER when no header is under way */
    size_t out_left;
    uint32_t out_number;

    /* The frame that is being received: in_left bytes of its data are missing. If none are, the
     * header of the next one is on its way. */
    unsigned char in_header[CHANNEL_HEADER];
    size_t in_header_received;
    size_t in_left;
    uint32_t in_number;
};

void channel_header_encode(unsigned char header[CHANNEL_HEADER], uint32_t number, uint32_t length);

void channel_init(struct channel *channel, struct link *link, int peer);

/* Sends and receives what can be moved at once, a frame or so each way. 1 if something moved, 0 if
 * nothing could, or a negative status. */
int channel_move(struct channel *channel, struct operation_window *window, struct err *err);

/* The events to wait for on the link before channel_move() can do more: POLLIN unless a frame waits
 * for its operation, POLLOUT if there is something to send, or something is offered and not taken.
 * Ask again when an operation has been started, moved by another channel, or is done. */
short channel_events(const struct channel *channel, const struct operation_window *window);

/* True if no rest of a begun frame is left to be sent. */
bool channel_is_flushed(const struct channel *channel);

/* True if there is data that the link does not have yet and would take when it has room. */
bool channel_has_output(const struct channel *channel, const struct operation_window *window);

#endif
