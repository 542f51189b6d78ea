/* SPDX-License-Identifier: Apache-2.0 */
/* Copies through pinned buffers; see transfer.h. */
#include "lib/device/transfer.h"

#include <string.h>

int transfer_begin(struct transfer *transfer, struct device *device, enum hvd_device_queue queue,
                   void *host, const void *memory, size_t nbytes, struct err *err)
{
    *transfer = (struct transfer){ .device = device,
                                   .queue = queue,
                                   .host = host,
                                   .memory = (unsigned char *)memory,
                                   .nbytes = nbytes };
    transfer->pieces = (nbytes + DEVICE_CHUNK - 1) / DEVICE_CHUNK;
    while (transfer->nbuffers < TRANSFER_BUFFERS && (size_t)transfer->nbuffers < transfer->pieces) {
        struct device_buffer *buffer = device_take_buffer(device, err);
        if (!buffer)
            break;
        transfer->buffers[transfer->nbuffers++] = buffer;
    }
    return transfer->nbuffers > 0 || nbytes == 0 ? HVD_OK : err->code;
}

static struct device_buffer *buffer_of(const struct transfer *transfer, size_t piece)
{
    return transfer->buffers[piece % (size_t)transfer->nbuffers];
}

static size_t length_of(const struct transfer *transfer, size_t piece)
{
    size_t left = transfer->nbytes - piece * DEVICE_CHUNK;
    return left < DEVICE_CHUNK ? left : DEVICE_CHUNK;
}

static const char *what(const struct transfer *transfer)
{
    return transfer->queue == HVD_DEVICE_TO_HOST ? "copy to the host" : "copy from the host";
}

static int begin_piece(struct transfer *transfer, struct err *err)
{
    size_t piece = transfer->begun, at = piece * DEVICE_CHUNK, nbytes = length_of(transfer, piece);
    struct device_buffer *buffer = buffer_of(transfer, piece);
    int rc, recorded = HVD_OK;
    if (transfer->queue == HVD_DEVICE_FROM_HOST)
        memcpy(buffer->memory, transfer->host + at, nbytes);
    device_begin(transfer->device);
    if (transfer->queue == HVD_DEVICE_TO_HOST)
        rc = device_copy_to_host(transfer->device, buffer->memory, transfer->memory + at, nbytes,
                                 err);
    else
        rc = device_copy_from_host(transfer->device, transfer->memory + at, buffer->memory, nbytes,
                                   err);
    if (rc == HVD_OK)
        recorded = device_record(buffer, transfer->queue, err);
    device_end(transfer->device);
    if (recorded < 0) { /* nothing tells when the copy has passed */
        device_lose_buffer(buffer, false);
        transfer->buffers[piece % (size_t)transfer->nbuffers] = NULL;
        return recorded;
    }
    transfer->begun += rc == HVD_OK;
    return rc;
}

/* 1 if the oldest piece under way is copied, 0 if not. */
static int finish_piece(struct transfer *transfer, struct err *err)
{
    size_t piece = transfer->finished;
    struct device_buffer *buffer = buffer_of(transfer, piece);
    int rc = device_passed(transfer->device, buffer->event, what(transfer), err);
    if (rc > 0 && transfer->queue == HVD_DEVICE_TO_HOST)
        memcpy(transfer->host + piece * DEVICE_CHUNK, buffer->memory, length_of(transfer, piece));
    if (rc != 0)
        transfer->finished++;
    return rc;
}

int transfer_move(struct transfer *transfer, struct err *err)
{
    int rc = 1;
    if (transfer->finished < transfer->begun)
        rc = finish_piece(transfer, err);
    while (rc >= 0 && transfer->begun < transfer->pieces &&
           transfer->begun - transfer->finished < (size_t)transfer->nbuffers) {
        int begun = begin_piece(transfer, err);
        rc = begun < 0 ? begun : rc;
    }
    return rc < 0 ? rc : transfer->finished == transfer->pieces;
}

void transfer_stop(struct transfer *transfer)
{
    transfer->pieces = transfer->begun;
}

bool transfer_is_quiet(struct transfer *transfer)
{
    struct err err;
    while (transfer->finished < transfer->begun) {
        struct device_buffer *buffer = buffer_of(transfer, transfer->finished);
        if (device_passed(transfer->device, buffer->event, what(transfer), &err) == 0)
            return false;
        transfer->finished++;
    }
    return true;
}

void transfer_end(struct transfer *transfer)
{
    for (size_t piece = transfer->finished; piece < transfer->begun; piece++) {
        device_lose_buffer(buffer_of(transfer, piece), true);
        transfer->buffers[piece % (size_t)transfer->nbuffers] = NULL;
    }
    for (int i = 0; i < transfer->nbuffers; i++)
        device_put_buffer(transfer->buffers[i]);
    *transfer = (struct transfer){ 0 };
}
