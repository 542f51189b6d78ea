/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of any length between ordinary host memory and a device's, piece by piece through pinned
 * buffers: while the device copies one piece, the processor copies another.
 *
 * Does not wait: the caller polls. Only one thread at a time may use a transfer. Fails as device.h
 * does; after a failure, copies that are under way must still end (transfer_is_quiet()) before
 * memory is given back. */
#ifndef LIB_DEVICE_TRANSFER_H
#define LIB_DEVICE_TRANSFER_H

#include "lib/device/device.h"

enum { TRANSFER_BUFFERS = 2 };

/* Piece k lies in buffer k modulo their number. Pieces [finished, begun) are under way. */
struct transfer {
    struct device *device;
    enum hvd_device_queue queue; /* TO_HOST or FROM_HOST */
    unsigned char *host;
    unsigned char *memory; /* of the device: not an address in this process */
    size_t nbytes;
    size_t begun, finished, pieces;
    struct device_buffer *buffers[TRANSFER_BUFFERS];
    int nbuffers;
};

/* The device is held, and host memory borrowed, until transfer_end(). Fails when there is no pinned
 * memory (HVD_ERR_NOMEM). */
int transfer_begin(struct transfer *transfer, struct device *device, enum hvd_device_queue queue,
                   void *host, const void *memory, size_t nbytes, struct err *err);

/* Moves all that can be moved. 1 when everything is copied, 0 when not yet, or a negative
 * status. */
int transfer_move(struct transfer *transfer, struct err *err);

/* Begins no more pieces: transfer_move() then only waits for pieces that are under way. */
void transfer_stop(struct transfer *transfer);

/* After a failure: true if nothing is under way any more. */
bool transfer_is_quiet(struct transfer *transfer);

/* Gives the buffers back; buffers that are still under way are left to the vendor. */
void transfer_end(struct transfer *transfer);

#endif
