/* SPDX-License-Identifier: Apache-2.0 */
/* Making a file that appears when it is whole; see report_file.h.
 *   a regular file: one without a name in the same folder, written, named beside it, renamed
 *   a device, a pipe, what our own stdout or stderr goes to: written as it is
 * Fails when the folder does not exist or may not be written, when an existing file may not be
 * replaced or no name fits beside it, when the path stands for a standard stream that is closed,
 * when a pipe has no reader or a slow one, when the disk is full, when another user's symbolic link
 * leads there. On file systems without unnamed files, the file has its temporary name from the
 * start. */
#include "src/hvdrun/report_file.h"

#include "launcher/base/own_path.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* The time limit for writing everything to a pipe or a terminal. */
enum { WRITE_MS = 2000 };

static int fail_path(struct err *err, const char *path, int code)
{
    char quoted[QUOTED_SIZE];
    return fail(err, HVD_ERR_SYSTEM, "'%s': %s",
                quote_token(quoted, sizeof quoted, path, strlen(path)),
                own_path_write_error(AT_FDCWD, path, code));
}

/* A name beside `path` that no other job uses. */
static char *temporary_name(const char *path)
{
    unsigned number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) < 0)
        number = (unsigned)getpid();
    return xasprintf("%s.%08x", path, number);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* The check that rename() will make in the end, in a folder that belongs to many. 0 or an errno. */
static int may_replace(const char *folder, const struct stat *old)
{
    struct stat status;
    uid_t self = geteuid();
    if (stat(folder, &status) < 0)
        return errno;
    bool others = old->st_uid != self && status.st_uid != self && self != 0;
    return others && (status.st_mode & S_ISVTX) ? EPERM : 0;
}

/* Gives the new file the rights of the old one, so that no other user can read it. 0 or an
 * errno. */
static int keep_rights(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) < 0 && fchown(fd, (uid_t)-1, old->st_gid) < 0)
        mode &= ~(mode_t)S_IRWXG; /* the rights of another group */
    return fchmod(fd, mode) < 0 ? errno : 0;
}

/* 0 or an errno. */
static int open_new(struct report_file *file, const char *folder)
{
    file->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file->fd >= 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOSYS)
        return errno;
    file->fd = open(file->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0666);
    file->named = file->fd >= 0;
    return file->named ? 0 : errno;
}

/* `old` is the file to be replaced, or NULL. 0 or an errno. */
static int open_regular(struct report_file *file, const struct stat *old)
{
    struct stat status;
    char *folder = folder_of(file->path);
    file->temporary = temporary_name(file->path);
    int code = old ? may_replace(folder, old) : 0;
    if (code == 0 && lstat(file->temporary, &status) < 0 && errno == ENAMETOOLONG)
        code = errno;
    if (code == 0)
        code = open_new(file, folder);
    free(folder);
    return code == 0 && old ? keep_rights(file->fd, old) : code;
}

/* Our own stdout or stderr, if it is this file under any name. The file may be a regular one; the
 * report then goes behind its contents. -1: neither. */
static int own_stream(const struct stat *status)
{
    struct stat own;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == status->st_dev && own.st_ino == status->st_ino)
            return fd;
    return -1;
}

static int open_in_place(struct report_file *file, const char *path, int own)
{
    file->path = xstrdup(path);
    file->in_place = true;
    file->own = own;
    file->fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                        : open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return file->fd < 0 ? errno : 0;
}

/* The target of a link, or NULL. */
static char *link_target(const char *path)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text);
    if (length <= 0 || (size_t)length == sizeof text)
        return NULL;
    if (text[0] == '/')
        return xstrndup(text, (size_t)length);
    char *folder = folder_of(path);
    char *target = xasprintf("%s/%.*s", folder, (int)length, text);
    free(folder);
    return target;
}

/* Opens a path at which nothing exists yet. A chain of links there ends, or stat() would have
 * failed with ELOOP. */
static int open_missing(struct report_file *file, const char *path)
{
    char *target = link_target(path);
    if (target) {
        int code = open_missing(file, target);
        free(target);
        return code;
    }
    file->path = xstrdup(path);
    return open_regular(file, NULL);
}

/* "/proc/self/fd/1" is 1; -1: another path. */
static int named_descriptor(const char *path)
{
    char own[32];
    char *folder = folder_of(path), *real = realpath(folder, NULL);
    const char *name = strrchr(path, '/');
    snprintf(own, sizeof own, "/proc/%d/fd", (int)getpid());
    bool is_own = name && real && strcmp(real, own) == 0;
    free(folder);
    free(real);
    return is_own && name[1] >= '0' && name[1] <= '2' && !name[2] ? name[1] - '0' : -1;
}

/* Does the path stand for a stream that was closed, as /dev/stdout may? */
static bool is_closed(const char *path, const bool closed[3])
{
    int fd = named_descriptor(path);
    char *target = fd < 0 ? link_target(path) : NULL;
    bool found = fd >= 0 ? closed[fd] : target && is_closed(target, closed);
    free(target);
    return found;
}

/* Replaces the target of a link, not the link. */
static int open_path(struct report_file *file, const char *path, const bool closed[3])
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno == ENOENT ? open_missing(file, path) : errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (is_closed(path, closed))
        return EBADF;
    int own = own_stream(&status);
    if (own >= 0 || !S_ISREG(status.st_mode))
        return open_in_place(file, path, own);
    char *real = realpath(path, NULL);
    file->path = xstrdup(real ? real : path);
    free(real);
    return open_regular(file, &status);
}

int report_file_open(struct report_file *file, const char *path, const bool closed[3],
                     struct err *err)
{
    char quoted[QUOTED_SIZE];
    *file = (struct report_file){ .fd = -1, .own = -1 };
    if (own_path_check(path, err) < 0)
        return fail_context(err, "'%s'", quote_token(quoted, sizeof quoted, path, strlen(path)));
    file->given = xstrdup(path);
    int code = open_path(file, path, closed);
    if (code == 0)
        return HVD_OK;
    report_file_close(file);
    return fail_path(err, path, code);
}

/* 0 or an errno. A pipe that has any room has room for PIPE_BUF bytes. */
static int report_file_write_all(int fd, const char *text, size_t length)
{
    uint64_t end_ms = uv_hrtime() / 1000000 + WRITE_MS;
    while (length > 0) {
        struct pollfd room = { .fd = fd, .events = POLLOUT };
        uint64_t now_ms = uv_hrtime() / 1000000;
        int ready = poll(&room, 1, now_ms < end_ms ? (int)(end_ms - now_ms) : 0);
        if (ready == 0)
            return ETIMEDOUT;
        ssize_t n = ready < 0 ? -1 : write(fd, text, length < PIPE_BUF ? length : PIPE_BUF);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        text += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Gives the file its name. An unnamed file gets a name beside the path first. */
static int put_in_place(struct report_file *file)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", file->fd);
    if (!file->named && linkat(AT_FDCWD, self, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) < 0)
        return errno;
    file->named = true;
    if (rename(file->temporary, file->path) < 0)
        return errno;
    file->named = false;
    return 0;
}

int report_file_write(struct report_file *file, const char *text, size_t length, struct err *err)
{
    int code = report_file_write_all(file->fd, text, length);
    if (code == 0 && !file->in_place && fsync(file->fd) < 0 && errno != EINVAL)
        code = errno; /* a full disk, or a network file system, may fail only now */
    if (code == 0 && !file->in_place)
        code = put_in_place(file);
    if (close(file->fd) < 0 && code == 0)
        code = errno;
    file->fd = -1;
    return code == 0 ? HVD_OK : fail_path(err, file->given, code);
}

void report_file_close(struct report_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->named)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    free(file->given);
    *file = (struct report_file){ .fd = -1, .own = -1 };
}
