/* SPDX-License-Identifier: Apache-2.0 */
/* Finding what is installed; see install_path.h. BINARY_DIRECTORY, AGENT_DIRECTORY and
 * PYTHON_DIRECTORY are the configured installation directories of hvdrun, of hvdagent and of the
 * package `horovod`. */
#include "src/hvdrun/install_path.h"

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

/* `candidate` if it is there and can be used that way (access(2)), else NULL; takes ownership. */
static char *usable(char *candidate, int mode)
{
    if (access(candidate, mode) == 0)
        return candidate;
    free(candidate);
    return NULL;
}

static char *find_program(const char *name)
{
    char *directory = own_directory();
    char *root = staging_root(directory);
    char *path = usable(xasprintf("%s/%s", directory, name), X_OK);
    if (!path && root)
        path = usable(xasprintf("%s%s/%s", root, AGENT_DIRECTORY, name), X_OK);
    if (!path && !root)
        path = usable(xasprintf("%s/../libexec/hvdrun/%s", directory, name), X_OK);
    if (!path)
        path = usable(xasprintf("%s/%s", AGENT_DIRECTORY, name), X_OK);
    free(root);
    free(directory);
    return path;
}

char *agent_path_find(void)
{
    return find_program("hvdagent");
}

char *ssh_program_find(void)
{
    return find_program("hvdssh");
}

char *python_path_find(void)
{
    char *directory = own_directory();
    char *root = staging_root(directory);
    char *path = root ? usable(xasprintf("%s%s", root, PYTHON_DIRECTORY), R_OK)
                      : usable(xasprintf("%s/../share/hvdrun/compat", directory), R_OK);
    free(root);
    free(directory);
    return path ? path : xstrdup(PYTHON_DIRECTORY);
}
