/* SPDX-License-Identifier: Apache-2.0 */
/* A rendezvous for ranks that tests start by hand on several hosts:
 *
 *   meet SIZE    prints its port and the job's key, and serves until its stdin ends */
#include "tests/support/mini_rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;
    struct mini_rendezvous mini;
    struct mini_options options = { .size = argc > 1 ? atoi(argv[1]) : 0, .anywhere = true };
    mini_rendezvous_start(&mini, &options);
    printf("%d %s\n", mini.port, mini.key);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    mini_rendezvous_stop(&mini);
    return 0;
}
