/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the PTX text of the kernels, for an assembler. */
#include "lib/cuda/kernels_ptx.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char *text = kernels_ptx(KERNEL_ACTS);
    int printed = text ? fputs(text, stdout) : EOF;
    free(text);
    return printed < 0 || fflush(stdout) != 0;
}
