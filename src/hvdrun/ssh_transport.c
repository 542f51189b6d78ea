/* SPDX-License-Identifier: Apache-2.0 */
/* The ssh transport in hvdrun-ssh. */
#include "src/hvdrun/ssh_transport.h"

const struct host_transport *ssh_transport(void)
{
    return &transport_ssh;
}
