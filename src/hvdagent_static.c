/* SPDX-License-Identifier: Apache-2.0 */
/* What a static hvdagent must not take from libc: a look into the user database, which would load
 * shared libraries of the very libc it was linked with. libuv has a call that needs it and that
 * hvdagent never makes. */
#include <errno.h>
#include <pwd.h>
#include <stddef.h>

int getpwuid_r(uid_t uid, struct passwd *entry, char *memory, size_t size, struct passwd **result)
{
    (void)uid;
    (void)entry;
    (void)memory;
    (void)size;
    *result = NULL;
    return ENOSYS;
}
