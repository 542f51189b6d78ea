/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells of mounts and control groups (launcher/process/cgroup.c).
 *
 *   u8 length of the first text, u8 size of the path, the text, the other one
 *
 * Whatever they say: the path fits, ends, and has no way up but what the mount point has itself. */
#include "launcher/process/cgroup.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static FILE *open_text(uint8_t *bytes, size_t length)
{
    FILE *file = length > 0 ? fmemopen(bytes, length, "r") : fopen("/dev/null", "r");
    PROMISE(file);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    size_t length, rest_length, room = 1 + fuzz_u8(&input);
    uint8_t *mounts = fuzz_bytes(&input, &length), *rest = fuzz_rest(&input, &rest_length);
    FILE *mountinfo = open_text(mounts, length), *membership = open_text(rest, rest_length);
    char *path = malloc(room);
    PROMISE(path);
    if (cgroup_find(path, room, mountinfo, membership)) {
        PROMISE(memchr(path, '\0', room) && *path);
        PROMISE(!strstr(path, "/../") || memmem(mounts, length, "/..", 3));
    }
    free(path);
    fclose(mountinfo);
    fclose(membership);
    free(mounts);
    free(rest);
    return 0;
}
