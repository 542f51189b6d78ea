/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking copies between ordinary memory and the memory of a registered device, through pinned
 * memory. They are for rare tasks: checkpoints, filling in zeros. Callers must not hold the
 * engine's lock.
 *
 * Fail when there is no such device, it has no pinned memory, or a copy fails; the text names the
 * device. */
#ifndef LIB_DEVICE_DEVICE_COPY_H
#define LIB_DEVICE_DEVICE_COPY_H

#include "lib/base/status.h"

#include <stddef.h>

int device_read(int device, void *host, const void *memory, size_t nbytes, struct err *err);
int device_write(int device, void *memory, const void *host, size_t nbytes, struct err *err);

#endif
