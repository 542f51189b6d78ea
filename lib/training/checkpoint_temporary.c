/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files of checkpoints; see checkpoint_temporary.h.
 *
 * A writer that makes a file may find the file locked, or removed, when it tries to lock it:
 * another process has cleaned up in between. Then the writer makes another file. Where files cannot
 * be locked, a process never removes files that another process has made. */
#include "lib/training/checkpoint_temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOOT_DIGITS = 8, RANDOM_DIGITS = 8, ATTEMPTS = 100 };

static const char mark[] = ".tmp-";

int checkpoint_move_off_streams(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int errnum = errno;
    close(fd);
    errno = errnum;
    return higher;
}

static const char no_boot[BOOT_DIGITS + 1] = "00000000"; /* the kernel has no boot id */

static void read_boot(char boot[BOOT_DIGITS + 1])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file || fread(boot, 1, BOOT_DIGITS, file) != BOOT_DIGITS)
        memcpy(boot, no_boot, BOOT_DIGITS);
    boot[BOOT_DIGITS] = '\0';
    if (file)
        fclose(file);
}

/* ---- abandoned files ---- */

/* Matches "BASE.tmp-BOOT-RANDOM"; returns where BOOT is, or NULL. */
static const char *boot_in(const char *name, const char *base)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || strncmp(name + length, mark, sizeof mark - 1) != 0)
        return NULL;
    const char *boot = name + length + sizeof mark - 1;
    bool fits = strspn(boot, digits) == BOOT_DIGITS && boot[BOOT_DIGITS] == '-' &&
                strspn(boot + BOOT_DIGITS + 1, digits) == RANDOM_DIGITS &&
                boot[BOOT_DIGITS + 1 + RANDOM_DIGITS] == '\0';
    return fits ? boot : NULL;
}

static bool is_old(const struct stat *file, const struct stat *now)
{
    return now->st_mtime - file->st_mtime > CHECKPOINT_TEMPORARY_AGE_S;
}

/* `fd` is locked. True if the name still stands for this file, and the file may be removed. */
static bool is_abandoned(int directory, const char *name, int fd, bool own_kernel,
                         const struct stat *now)
{
    struct stat file, named;
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
           fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == file.st_dev && named.st_ino == file.st_ino &&
           (own_kernel || is_old(&file, now));
}

static void remove_abandoned(int directory, const char *name, bool own_kernel,
                             const struct stat *now)
{
    int fd = checkpoint_move_off_streams(
        openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_abandoned(directory, name, fd, own_kernel, now))
        unlinkat(directory, name, 0);
    close(fd);
}

/* Kernels without a boot id cannot be told apart. */
static bool is_own_kernel(const char *by, const char *boot)
{
    return strcmp(boot, no_boot) != 0 && strncmp(by, boot, BOOT_DIGITS) == 0;
}

/* `now` is the time of a file that was made just now, by the clock of the file system. */
static void clean_up(const char *temporary, const char *target, const char *boot,
                     const struct stat *now)
{
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    char *path = slash ? strndup(target, (size_t)(slash - target) + 1) : strdup(".");
    DIR *directory = path ? opendir(path) : NULL;
    free(path);
    if (!directory)
        return;
    const char *own = temporary + (base - target);
    for (struct dirent *entry; (entry = readdir(directory));) {
        const char *by = boot_in(entry->d_name, base);
        if (by && strcmp(entry->d_name, own) != 0)
            remove_abandoned(dirfd(directory), entry->d_name, is_own_kernel(by, boot), now);
    }
    closedir(directory);
}

/* ---- the own file ---- */

/* True if another process has removed the file while cleaning up. */
static bool is_taken(int fd, struct stat *status)
{
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return true;
    return fstat(fd, status) == 0 && status->st_nlink == 0;
}

static int try_make(const char *temporary, struct stat *status)
{
    int fd =
        checkpoint_move_off_streams(open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd < 0 || !is_taken(fd, status))
        return fd;
    unlink(temporary); /* a process that has it locked may leave it, as it is young */
    close(fd);
    errno = EEXIST;
    return -1;
}

int checkpoint_temporary_make(const char *target, char **temporary, struct err *err)
{
    char boot[BOOT_DIGITS + 1];
    struct stat status = { .st_mtime = 0 };
    read_boot(boot);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (asprintf(temporary, "%s%s%s-%08x", target, mark, boot, randombytes_random()) < 0) {
            *temporary = NULL;
            return fail(err, HVD_ERR_NOMEM, "out of memory");
        }
        int fd = try_make(*temporary, &status);
        if (fd >= 0) {
            clean_up(*temporary, target, boot, &status);
            return fd;
        }
        int errnum = errno;
        free(*temporary);
        *temporary = NULL;
        errno = errnum;
        if (errnum != EEXIST)
            break;
    }
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
}
