/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun-ssh. */
#include "src/hvdrun/ssh_transport.h"

const struct reach_way *ssh_way(void)
{
    return &reach_ssh_way;
}
