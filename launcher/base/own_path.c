/* SPDX-License-Identifier: Apache-2.0 */
/* Walking along a path; see own_path.h. Each component is opened first and checked by its
 * descriptor: renaming it in between changes nothing. */
#include "launcher/base/own_path.h"

#include "launcher/base/bad_input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40, OPEN_DIRECTORY = O_PATH | O_DIRECTORY | O_CLOEXEC };

struct own_walk {
    int links;    /* followed so far */
    bool make;    /* create missing directories */
    bool foreign; /* the walk has met a link of another user */
    bool in_link; /* in the target of a link, of which the caller's path has no component */
};

static int walk(int at, const char *path, struct own_walk *walked, struct err *err);

static bool is_own(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

static int refuse_owner(struct err *err, const char *what, const struct stat *status)
{
    return fail(err, HVD_ERR_SYSTEM, "%s of another user (uid %u)", what, (unsigned)status->st_uid);
}

/* Reads the target of the link that is open as `fd`. */
static int read_link(int fd, const struct stat *status, char target[PATH_MAX],
                     struct own_walk *walked, struct err *err)
{
    walked->foreign = !is_own(status);
    if (walked->foreign)
        return refuse_owner(err, "a symbolic link", status);
    ssize_t length = readlinkat(fd, "", target, PATH_MAX);
    if (length < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "symbolic link");
    if (length == 0 || length == PATH_MAX || ++walked->links > LINKS_MAX)
        return fail_errno(err, HVD_ERR_SYSTEM, ELOOP, "symbolic link");
    target[length] = '\0';
    return HVD_OK;
}

/* Opens one component without following a link. If it does not exist, creates a directory if
 * `make`. Others may not write to that, whatever the umask: check_directory() would refuse it.
 * Opens the component as a directory first: only then autofs mounts it. */
static int open_component(int at, const char *name, bool make)
{
    int fd = openat(at, name, OPEN_DIRECTORY | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT && make && (mkdirat(at, name, 0775) == 0 || errno == EEXIST))
        fd = openat(at, name, OPEN_DIRECTORY | O_NOFOLLOW);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

/* Goes on from `at` to the target of a link. */
static int walk_link(int at, const char *target, struct own_walk *walked, struct err *err)
{
    bool in_link = walked->in_link;
    walked->in_link = true;
    int fd = walk(at, target, walked, err);
    walked->in_link = in_link;
    return fd;
}

/* Goes on from `at` to the component `name`, which a message names, unless it is the `last` one of
 * the caller's path: the caller names that. */
static int step(int at, const char *name, bool last, struct own_walk *walked, struct err *err)
{
    struct stat status;
    char target[PATH_MAX];
    int fd = open_component(at, name, walked->make);
    if (fd < 0 || fstat(fd, &status) < 0) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(code));
    }
    if (S_ISDIR(status.st_mode))
        return fd;
    int rc = S_ISLNK(status.st_mode) ? read_link(fd, &status, target, walked, err)
                                     : fail(err, HVD_ERR_SYSTEM, "%s", strerror(ENOTDIR));
    close(fd);
    struct shown shown;
    if (rc == HVD_OK)
        return walk_link(at, target, walked, err);
    return last && !walked->in_link
               ? rc
               : fail_context(err, "'%s'", show_token(&shown, name, strlen(name)));
}

/* Walks from `at`, or from the root, to a directory. */
static int walk(int at, const char *path, struct own_walk *walked, struct err *err)
{
    int fd = openat(at, *path == '/' ? "/" : ".", OPEN_DIRECTORY);
    if (fd < 0)
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(errno));
    for (size_t length; fd >= 0; path += length) {
        char name[NAME_MAX + 1];
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (length == 0)
            break;
        int from = fd;
        if (snprintf(name, sizeof name, "%.*s", (int)length, path) >= (int)sizeof name)
            fd = fail(err, HVD_ERR_SYSTEM, "%s", strerror(ENAMETOOLONG));
        else
            fd = step(from, name, !path[length + strspn(path + length, "/")], walked, err);
        close(from);
    }
    return fd;
}

/* Checks that files may be created in the directory. */
static int check_directory(int fd, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(errno));
    if (!is_own(&status))
        return refuse_owner(err, "a directory", &status);
    if ((status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
        return fail(err, HVD_ERR_SYSTEM, "others may write to this directory (mode %03o)",
                    (unsigned)status.st_mode & 0777);
    return HVD_OK;
}

int own_path_directory(int at, const char *path, struct err *err)
{
    struct own_walk walked = { .make = true };
    int fd = walk(at, path, &walked, err);
    int rc = fd < 0 ? fd : check_directory(fd, err);
    if (rc == HVD_OK)
        return fd;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Truncates a file opened for writing, after checking it. From now on writing may block. */
static int empty_file(int fd, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || fcntl(fd, F_SETFL, 0) < 0)
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(errno));
    if (!is_own(&status))
        return refuse_owner(err, "a file", &status);
    if (S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0)
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(errno));
    return HVD_OK;
}

static int own_path_create_last(int directory, const char *name, struct own_walk *walked,
                                struct err *err);

/* Follows a link in `directory` to the directory and name of its target. */
static int create_behind_link(int directory, const char *name, struct own_walk *walked,
                              struct err *err)
{
    struct stat status;
    char target[PATH_MAX];
    int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISLNK(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return fail(err, HVD_ERR_SYSTEM, "%s", strerror(ELOOP));
    }
    int rc = read_link(fd, &status, target, walked, err);
    close(fd);
    if (rc < 0)
        return rc;
    char *slash = strrchr(target, '/'), *last = slash ? slash + 1 : target;
    char folder[PATH_MAX] = "";
    memcpy(folder, target, (size_t)(last - target));
    int parent = walk_link(directory, folder, walked, err);
    if (parent < 0)
        return parent;
    rc = own_path_create_last(parent, last, walked, err);
    close(parent);
    return rc;
}

const char *own_path_write_error(int directory, const char *name, int code)
{
    struct stat status;
    bool is_pipe = fstatat(directory, name, &status, 0) == 0 && S_ISFIFO(status.st_mode);
    return code == ENXIO && is_pipe ? "a pipe that no process reads" : strerror(code);
}

static int own_path_create_last(int directory, const char *name, struct own_walk *walked,
                                struct err *err)
{
    /* O_NONBLOCK: a FIFO without a reader is an error (ENXIO) instead of a wait */
    int fd = openat(directory, name,
                    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 && errno == ELOOP)
        return create_behind_link(directory, name, walked, err);
    if (fd < 0)
        return fail(err, HVD_ERR_SYSTEM, "%s", own_path_write_error(directory, name, errno));
    int rc = empty_file(fd, err);
    if (rc == HVD_OK)
        return fd;
    close(fd);
    return rc;
}

int own_path_create(int directory, const char *name, struct err *err)
{
    struct own_walk walked = { .make = true };
    return own_path_create_last(directory, name, &walked, err);
}

int own_path_check(const char *path, struct err *err)
{
    struct own_walk walked = { 0 };
    struct err why = { 0 };
    int fd = walk(AT_FDCWD, path, &walked, &why);
    if (fd >= 0)
        close(fd);
    return walked.foreign ? fail(err, why.code, "%s", why.text) : HVD_OK;
}
