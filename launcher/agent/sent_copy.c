/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a sent copy; see sent_copy.h. The folder is held open, and no symbolic link is followed,
 * so that nobody can replace the folder meanwhile. */
#include "launcher/agent/sent_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int remove_program(int folder, struct err *err)
{
    struct stat status, file, program;
    if (fstat(folder, &status) < 0 || fstatat(folder, "hvdagent", &file, AT_SYMLINK_NOFOLLOW) < 0 ||
        stat("/proc/self/exe", &program) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "hvdagent");
    if (status.st_uid != geteuid() || (status.st_mode & 07777) != 0700)
        return fail(err, HVD_ERR_INVALID, "not a private folder");
    if (!is_same(&file, &program))
        return fail(err, HVD_ERR_INVALID, "hvdagent in it is not this one");
    if (unlinkat(folder, "hvdagent", 0) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "hvdagent");
    return HVD_OK;
}

/* Removes the folder `name` in `parent`, open as `folder`, and its contents. */
static int remove_folder(int parent, const char *name, int folder, struct err *err)
{
    struct stat held, named;
    int rc = remove_program(folder, err);
    if (rc < 0)
        return rc;
    if (fstat(folder, &held) < 0 || fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be found");
    if (!is_same(&held, &named))
        return fail(err, HVD_ERR_INVALID, "another one is in its place");
    if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be removed");
    return HVD_OK;
}

static int remove_in(int parent, const char *name, struct err *err)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be opened");
    int rc = remove_folder(parent, name, folder, err);
    close(folder);
    return rc;
}

int sent_copy_remove(const char *folder, struct err *err)
{
    char path[4096], quoted[QUOTED_SIZE];
    char *slash = NULL;
    if (snprintf(path, sizeof path, "%s", folder) < (int)sizeof path)
        slash = strrchr(path, '/');
    int rc = HVD_ERR_INVALID, parent = -1;
    if (!slash || !slash[1]) {
        fail(err, rc, "expected a path of a folder");
    } else {
        *slash = '\0';
        parent = open(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = parent < 0 ? fail_errno(err, HVD_ERR_SYSTEM, errno, "the folder around it")
                        : remove_in(parent, slash + 1, err);
    }
    if (parent >= 0)
        close(parent);
    if (rc < 0)
        fail_context(err, "'%s'", quote_token(quoted, sizeof quoted, folder, strlen(folder)));
    return rc;
}
