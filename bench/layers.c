/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of a network, elements of each tensor, with commas: for peers that are not in C.
 *
 *     bench/layers resnet50 */
#include "bench/support/gradient_set.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct gradient_set set;
    if (argc != 2 || !gradient_set_make(&set, argv[1]))
        return fprintf(stderr, "usage: layers resnet50|resnet101|inception3|vgg16\n"), 2;
    for (int i = 0; i < set.ntensors; i++)
        printf("%s%zu", i ? "," : "", set.counts[i]);
    putchar('\n');
    return 0;
}
