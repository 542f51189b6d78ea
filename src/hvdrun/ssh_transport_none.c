/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun. */
#include "src/hvdrun/ssh_transport.h"

#include <stddef.h>

const struct reach_way *ssh_way(void)
{
    return NULL;
}
