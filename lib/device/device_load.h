/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a module (device_module.h): loads hvdrun/hvd_cuda.so beside this library, opens an
 * accelerator and registers its table.
 *
 * Fails with HVD_ERR_SYSTEM when the module is missing or is of another installation, when this
 * library was loaded by a relative path, and as the module does. The module stays loaded.
 * Thread-safe. */
#ifndef LIB_DEVICE_DEVICE_LOAD_H
#define LIB_DEVICE_DEVICE_LOAD_H

#include "lib/device/device_module.h"

int device_load_open(const struct device_module_options *options, int *device, struct err *err);

/* HVD_ERR_INVALID for a device that device_load_open() has not made, or that is in use. */
int device_load_close(int device, struct err *err);

/* Tells the opened devices that a process set was removed (device_module.h). */
void device_load_set_removed(int process_set, int serial);

/* The module's context of an opened device, which stays open until device_load_leave(). NULL and
 * `err` for a device that device_load_open() has not made. One thread at a time: another one waits
 * here, as it does to open and to close. */
void *device_load_enter(int device, const struct device_module **module, struct err *err);
void device_load_leave(void);

/* For tests: this module, instead of what is installed. */
void device_load_use(const struct device_module *module);

#endif
