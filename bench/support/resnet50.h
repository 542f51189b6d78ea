/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of ResNet-50 (He et al., 2015, with 1000 classes), in the order of the layers: 161
 * tensors of 25 557 032 elements, from 64 to 2 359 296 each. */
#ifndef BENCH_SUPPORT_RESNET50_H
#define BENCH_SUPPORT_RESNET50_H

#include <stddef.h>

enum { RESNET50_TENSORS = 161, RESNET50_ELEMENTS = 25557032 };

/* The number of elements of each. */
void resnet50_counts(size_t counts[RESNET50_TENSORS]);

#endif
