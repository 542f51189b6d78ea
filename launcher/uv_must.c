/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors or the end; see uv_must.h. */
#include "launcher/uv_must.h"

#include "launcher/exit_status.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

void uv_must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, uv_strerror(rc));
    _exit(STATUS_RESOURCE);
}
