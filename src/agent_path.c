/* SPDX-License-Identifier: Apache-2.0 */
/* Finding hvdagent; see agent_path.h. */
#include "src/agent_path.h"

#include "launcher/xalloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory this program lies in, with a slash at the end; "" if the system does not tell. */
static char *own_directory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    while (length > 0 && path[length - 1] != '/')
        length--;
    return xstrndup(path, length > 0 ? (size_t)length : 0);
}

char *agent_path_find(void)
{
    static const char *const beside[] = { "hvdagent", "../libexec/hvdrun/hvdagent" };
    char *directory = own_directory();
    char *path = NULL;
    for (size_t i = 0; !path && *directory && i < sizeof beside / sizeof *beside; i++) {
        path = xasprintf("%s%s", directory, beside[i]);
        if (access(path, X_OK) < 0) {
            free(path);
            path = NULL;
        }
    }
    free(directory);
    if (!path && access(AGENT_DIRECTORY "/hvdagent", X_OK) == 0)
        path = xstrdup(AGENT_DIRECTORY "/hvdagent");
    return path;
}
