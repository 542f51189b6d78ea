/* SPDX-License-Identifier: Apache-2.0 */
/* Files for the ranks' output; see output_files.h. */
#include "launcher/output_files.h"

#include "launcher/bad_input.h"
#include "launcher/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* `errnum` was the answer to creating it. */
static int refuse(struct err *err, int errnum, const char *path)
{
    struct shown shown;
    return fail_errno(err, HVD_ERR_SYSTEM, errnum, "'%s'", show_token(&shown, path, strlen(path)));
}

/* mkdir -p of everything before the last slash. */
static int make_parents(char *path, struct err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0777) < 0 && errno != EEXIST ? errno : 0;
        if (failed) {
            refuse(err, failed, path);
            *slash = '/';
            return err->code;
        }
        *slash = '/';
    }
    return HVD_OK;
}

int output_file_create(const char *path, struct err *err)
{
    char *copy = xstrdup(path);
    int rc = make_parents(copy, err);
    free(copy);
    if (rc < 0)
        return rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    return fd < 0 ? refuse(err, errno, path) : fd;
}
