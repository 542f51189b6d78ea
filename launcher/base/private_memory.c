/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel to keep our memory private; see private_memory.h. */
#include "launcher/base/private_memory.h"

#include <sys/prctl.h>

void private_memory_start(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

void private_memory_end(void)
{
    prctl(PR_SET_DUMPABLE, 1);
}
