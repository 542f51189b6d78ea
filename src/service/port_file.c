/* SPDX-License-Identifier: Apache-2.0 */
/* The file with the port:
 *   see that nothing of anybody's is lost, write a temporary file beside it, give it the name.
 * Fails when the existing file does not contain a port, and when the folder cannot be written to,
 * or is full; then neither file is left. */
#include "src/service/port_file.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A port, its newline, and one more byte to detect longer contents. */
enum { PORT_DIGITS = 5, TEXT_SIZE = PORT_DIGITS + 2 };

/* The facts about a file that decide who may replace or remove it. */
struct found {
    struct stat status;
    char text[TEXT_SIZE]; /* its beginning */
    size_t length;
};

/* Reads the facts. Only a regular file is opened: opening another kind may have effects. Returns 0
 * or an errno; EEXIST: it is no regular file. */
static int port_file_look(struct found *found, const char *path)
{
    *found = (struct found){ 0 };
    if (lstat(path, &found->status) < 0)
        return errno;
    if (!S_ISREG(found->status.st_mode))
        return EEXIST;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno;
    ssize_t n = fstat(fd, &found->status) < 0 ? -1 : read(fd, found->text, sizeof found->text);
    int errnum = n < 0 ? errno : 0;
    close(fd);
    found->length = n < 0 ? 0 : (size_t)n;
    return errnum;
}

/* Empty, or the contents of a port file. */
static bool is_port(const struct found *found)
{
    size_t digits = 0;
    while (digits < found->length && found->text[digits] >= '0' && found->text[digits] <= '9')
        digits++;
    return found->length == 0 || (digits > 0 && digits <= PORT_DIGITS &&
                                  found->length == digits + 1 && found->text[digits] == '\n');
}

static const char *kind(mode_t mode)
{
    static const struct {
        mode_t type;
        const char *name;
    } kinds[] = {
        { S_IFREG, "a file that holds something else" },
        { S_IFLNK, "a symbolic link" },
        { S_IFDIR, "a directory" },
        { S_IFIFO, "a FIFO" },
        { S_IFSOCK, "a socket" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == (mode & S_IFMT))
            return kinds[i].name;
    return "a device";
}

int port_file_check(const char *path, struct err *err)
{
    struct found found;
    struct shown shown;
    int errnum = port_file_look(&found, path);
    if (errnum == ENOENT || (errnum == 0 && is_port(&found)))
        return HVD_OK;
    show_token(&shown, path, strlen(path));
    if (errnum != 0 && errnum != EEXIST)
        return fail_errno(err, HVD_ERR_SYSTEM, errnum, "cannot create '%s'", shown.text);
    return fail(err, HVD_ERR_SYSTEM,
                "cannot create '%s': there is %s (expected nothing, or a file with a port)",
                shown.text, kind(found.status.st_mode));
}

/* Writes the file and names it; 0 or an errno. */
static int port_file_put(struct port_file *file, int fd, const char *temporary, const char *path,
                         int port)
{
    struct stat status;
    errno = ENOSPC; /* for a short write */
    int length = dprintf(fd, "%d\n", port);
    if (length < 2 || fchmod(fd, 0644) < 0 || fstat(fd, &status) < 0 || rename(temporary, path) < 0)
        return errno;
    *file = (struct port_file){ path, status.st_dev, status.st_ino, port };
    return 0;
}

int port_file_write(struct port_file *file, const char *path, int port, struct err *err)
{
    int rc = port_file_check(path, err);
    if (rc < 0)
        return rc;
    char *temporary = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    int errnum = fd < 0 ? errno : port_file_put(file, fd, temporary, path, port);
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

/* The inode number of a removed file is soon reused, so the number alone proves nothing. */
static bool is_ours(const struct port_file *file)
{
    struct found found;
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", file->port);
    return port_file_look(&found, file->path) == 0 && found.status.st_dev == file->device &&
           found.status.st_ino == file->inode && found.length == (size_t)length &&
           memcmp(found.text, text, found.length) == 0;
}

void port_file_remove(struct port_file *file)
{
    if (file->path && is_ours(file))
        unlink(file->path);
    file->path = NULL;
}
