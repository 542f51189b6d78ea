/* SPDX-License-Identifier: Apache-2.0 */
/* HVD_CHECK_NUMERICS: finds the rank that contributes a NaN or an infinity to a reduction, and the
 * tensor.
 *
 * The result is the same on all ranks and does not show whose input was not finite. So each rank
 * checks its own input when it offers the tensor. Depending on the setting, the rank logs one line,
 * once for each tensor of a process set; or the rank breaks the world, and every rank learns rank,
 * tensor and element.
 *
 * Only floating-point tensors in host memory are checked, not tensors in a device's memory. */
#ifndef LIB_ENGINE_NUMERICS_H
#define LIB_ENGINE_NUMERICS_H

#include "lib/base/status.h"
#include "lib/hvd.h"

#include <stddef.h>
#include <stdint.h>

enum { NUMERICS_TOLD_MAX = 64 }; /* tensors that a rank reports; a diverged model has NaN in all */

struct numerics {
    uint64_t told[NUMERICS_TOLD_MAX]; /* hashes of names and process sets */
    int ntold;
};

/* The index of the first NaN or infinity; `count` if there is none, or the type has none. */
size_t numerics_find(enum hvd_dtype dtype, const void *data, size_t count);

struct tensor;

/* For settings that ask for it: checks a tensor that is about to be offered. If the check fails the
 * tensor must not be offered: other ranks might have the result before they hear of the failure. */
int numerics_check(const struct tensor *tensor, struct err *err);

#endif
