/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that libhvd itself can open, by a module that is installed beside it
 * (lib/device/device_load.h), and the default device, which HVD_DEVICE names.
 *
 * Opening fails as the module does. The default device stays open when a world ends. */
#ifndef LIB_VENDOR_H
#define LIB_VENDOR_H

#include "lib/base/settings.h"
#include "lib/base/status.h"

struct vendor_place {
    int ordinal;                /* of the accelerator; -1: by local rank */
    int local_rank, local_size; /* -1, 0: not known */
};

int vendor_open_cuda(const struct vendor_place *place, int *device, struct err *err);

/* Opens the default device if there is to be one. The error names HVD_DEVICE. */
int vendor_open_default(enum settings_device wanted, int local_rank, int local_size,
                        struct err *err);

/* The device was closed: if it was the default device, there is none until it is opened again. */
void vendor_forget(int device);

/* Its number; 0 when there is none. */
int vendor_default_device(void);

#endif
