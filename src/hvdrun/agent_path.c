/* SPDX-License-Identifier: Apache-2.0 */
/* Finding hvdagent; see agent_path.h. BINARY_DIRECTORY and AGENT_DIRECTORY are the configured
 * installation directories of hvdrun and hvdagent. */
#include "src/hvdrun/agent_path.h"

#include "launcher/base/xalloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory of this program, without a slash at the end; "" if the system does not tell. */
static char *own_directory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    while (length > 0 && path[length - 1] != '/')
        length--;
    return xstrndup(path, length > 1 ? (size_t)length - 1 : 0);
}

/* The part of `directory` before BINARY_DIRECTORY: "" in the configured place, more in a staged
 * installation (DESTDIR). NULL if hvdrun was moved elsewhere. */
static char *staging_root(const char *directory)
{
    size_t length = strlen(directory), tail = strlen(BINARY_DIRECTORY);
    if (length < tail || strcmp(directory + length - tail, BINARY_DIRECTORY) != 0)
        return NULL;
    return xstrndup(directory, length - tail);
}

/* `candidate` if it can be executed, else NULL; takes ownership. */
static char *executable(char *candidate)
{
    if (access(candidate, X_OK) == 0)
        return candidate;
    free(candidate);
    return NULL;
}

char *agent_path_find(void)
{
    char *directory = own_directory();
    char *root = staging_root(directory);
    char *path = executable(xasprintf("%s/hvdagent", directory));
    if (!path && root)
        path = executable(xasprintf("%s%s/hvdagent", root, AGENT_DIRECTORY));
    if (!path && !root)
        path = executable(xasprintf("%s/../libexec/hvdrun/hvdagent", directory));
    if (!path)
        path = executable(xstrdup(AGENT_DIRECTORY "/hvdagent"));
    free(root);
    free(directory);
    return path;
}
