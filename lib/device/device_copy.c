/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking copies; see device_copy.h. */
#include "lib/device/device_copy.h"

#include "lib/device/transfer.h"

#include <time.h>

enum { PAUSE_NS = 20000, DRAIN_PAUSES = 100000 }; /* two seconds and more */

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

static int device_copy_bytes(int number, enum hvd_device_queue queue, void *host,
                             const void *memory, size_t nbytes, struct err *err)
{
    struct transfer transfer;
    struct device *device = device_hold(number, err);
    if (!device)
        return err->code;
    int rc = transfer_begin(&transfer, device, queue, host, memory, nbytes, err);
    if (rc == HVD_OK)
        while ((rc = transfer_move(&transfer, err)) == 0)
            pause_shortly();
    for (int i = 0; !transfer_is_quiet(&transfer) && i < DRAIN_PAUSES; i++)
        pause_shortly();
    transfer_end(&transfer);
    device_release(device);
    return rc < 0 ? rc : HVD_OK;
}

int device_read(int device, void *host, const void *memory, size_t nbytes, struct err *err)
{
    return device_copy_bytes(device, HVD_DEVICE_TO_HOST, host, memory, nbytes, err);
}

int device_write(int device, void *memory, const void *host, size_t nbytes, struct err *err)
{
    return device_copy_bytes(device, HVD_DEVICE_FROM_HOST, (void *)host, memory, nbytes, err);
}
