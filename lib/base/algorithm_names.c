/* SPDX-License-Identifier: Apache-2.0 */
/* Names of algorithms; see algorithm_names.h. */
#include "lib/base/algorithm_names.h"

#include <stddef.h>
#include <string.h>

static const char *const names[ALGORITHMS] = {
    [ALGORITHM_RING] = "ring",
    [ALGORITHM_DIRECT] = "direct",
    [ALGORITHM_RECURSIVE_DOUBLING] = "recursive-doubling",
    [ALGORITHM_HALVING_DOUBLING] = "halving-doubling",
    [ALGORITHM_TREE] = "tree",
    [ALGORITHM_TWO_LEVEL] = "two-level",
    [ALGORITHM_PAIRWISE] = "pairwise",
    [ALGORITHM_ADASUM] = "adasum",
    [ALGORITHM_LINEAR] = "linear",
};

const char *algorithm_name(enum algorithm algorithm)
{
    return algorithm < ALGORITHMS ? names[algorithm] : NULL;
}

int algorithm_parse(const char *name)
{
    for (int i = 0; i < ALGORITHMS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}
