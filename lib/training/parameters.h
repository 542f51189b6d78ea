/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of parameters and scalars: the check of a list, and the properties that all ranks must
 * share. */
#ifndef LIB_TRAINING_PARAMETERS_H
#define LIB_TRAINING_PARAMETERS_H

#include "lib/base/status.h"
#include "lib/base/wire.h"
#include "lib/hvd_training.h"
#include "lib/training/names.h"

#include <stddef.h>

/* Checks names, types, shapes, data and devices (not gradients), and returns the order of the
 * names: `count` of them, owned. HVD_ERR_INVALID, with a text that names the parameter, "parameter
 * 'w': dims[1] is -3, a dimension is 0 or more"; or HVD_ERR_NOMEM. */
int parameters_sort(const struct hvd_parameter *parameters, int count, struct named **order,
                    struct err *err);

/* The number of elements of a parameter that has been checked. */
size_t parameter_elements(const struct hvd_parameter *parameter);
size_t parameter_bytes(const struct hvd_parameter *parameter);

/* Appends a line for agreement_compare(), "conv1.weight float32 [3, 3]\n", which differs for each
 * other name, type or shape. */
void parameter_put_line(struct wire_writer *lines, const struct hvd_parameter *parameter);

/* The same for scalars. A scalar's line ends with its type: "step int64\n". */
int scalars_sort(const struct hvd_scalar *scalars, int count, struct named **order,
                 struct err *err);
void scalar_put_line(struct wire_writer *lines, const struct hvd_scalar *scalar);

#endif
