/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a worker does: init, a barrier, shutdown. How long a job of these takes is what
 * the rendezvous costs, beside what starting processes costs. */
#include "hvd.h"

#include <stdio.h>

int main(void)
{
    if (hvd_init() == HVD_OK && hvd_barrier() == HVD_OK && hvd_shutdown() == HVD_OK)
        return 0;
    fprintf(stderr, "%s\n", hvd_last_error());
    return 1;
}
