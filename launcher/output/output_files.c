/* SPDX-License-Identifier: Apache-2.0 */
/* Files for the ranks' output; see output_files.h. */
#include "launcher/output/output_files.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/own_path.h"
#include "launcher/base/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int digits(int number)
{
    int count = 1;
    for (; number >= 10; number /= 10)
        count++;
    return count;
}

char *output_file_path(const char *directory, int rank, int nranks, const char *stream)
{
    return xasprintf("%s/rank.%0*d/%s", directory, digits(nranks - 1), rank, stream);
}

/* Names the file or directory that could not be created. */
static int name_path(struct err *err, const char *path, size_t length)
{
    struct shown shown;
    return fail_context(err, "'%s'", show_token(&shown, path, length));
}

int output_file_create(const char *directory, int rank, int nranks, const char *stream,
                       struct err *err)
{
    int top = own_path_directory(AT_FDCWD, directory, err);
    if (top < 0)
        return name_path(err, directory, strlen(directory));
    char *path = output_file_path(directory, rank, nranks, stream);
    char *name = strrchr(path, '/');
    *name = '\0';
    int folder = own_path_directory(top, strrchr(path, '/') + 1, err);
    int fd = folder < 0 ? name_path(err, path, strlen(path)) : own_path_create(folder, stream, err);
    *name = '/';
    if (folder >= 0 && fd < 0)
        name_path(err, path, strlen(path));
    if (folder >= 0)
        close(folder);
    close(top);
    free(path);
    return fd;
}
