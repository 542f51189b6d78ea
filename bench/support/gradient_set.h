/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a network, tensor by tensor, in the order of its layers: those that
 * examples/models knows, e.g. resnet50 (161 tensors of 64 to 2 359 296 elements, 102 MB in all) and
 * vgg16 (32 tensors of 64 to 102 760 448 elements, 553 MB). */
#ifndef BENCH_SUPPORT_GRADIENT_SET_H
#define BENCH_SUPPORT_GRADIENT_SET_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GRADIENT_SET_MAX = 320 };

struct gradient_set {
    const char *name;
    int ntensors;
    size_t counts[GRADIENT_SET_MAX]; /* elements of each */
    size_t count;                    /* of all */
};

/* False if there is no network of this name, which is borrowed. */
bool gradient_set_make(struct gradient_set *set, const char *name);

#ifdef __cplusplus
}
#endif

#endif
