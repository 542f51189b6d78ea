/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking copies between ordinary memory and that of a registered device, through pinned memory,
 * for what happens seldom: checkpoints, filling in zeros. Not under the engine's lock.
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
