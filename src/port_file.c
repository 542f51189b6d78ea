/* SPDX-License-Identifier: Apache-2.0 */
/* The file with the port:
 *   write a temporary file beside it, then give it the name.
 * Fails when the folder cannot be written to, or is full; then neither file is left. */
#include "src/port_file.h"

#include "launcher/bad_input.h"
#include "launcher/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes and names it; 0 or an errno. */
static int put(struct port_file *file, int fd, const char *temporary, const char *path, int port)
{
    struct stat status;
    errno = ENOSPC; /* of a write that is short */
    int length = dprintf(fd, "%d\n", port);
    if (length < 2 || fchmod(fd, 0644) < 0 || fstat(fd, &status) < 0 || rename(temporary, path) < 0)
        return errno;
    *file = (struct port_file){ path, status.st_dev, status.st_ino };
    return 0;
}

int port_file_write(struct port_file *file, const char *path, int port, struct err *err)
{
    char *temporary = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    int errnum = fd < 0 ? errno : put(file, fd, temporary, path, port);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && errnum != 0)
        unlink(temporary);
    free(temporary);
    struct shown shown;
    if (errnum != 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errnum, "cannot create '%s'",
                          show_token(&shown, path, strlen(path)));
    return HVD_OK;
}

void port_file_remove(struct port_file *file)
{
    struct stat status;
    if (file->path && lstat(file->path, &status) == 0 && status.st_dev == file->device &&
        status.st_ino == file->inode)
        unlink(file->path);
    file->path = NULL;
}
