/* SPDX-License-Identifier: Apache-2.0 */
/* The service key's file:
 *   open without blocking, look at what was opened and whose it is, read a few bytes, decode, wipe.
 *   Making one: create, write, sync; or remove it again.
 * Fails when others may read the file or could have created it, and when the file holds anything
 * but a key. */
#include "src/service/key_file.h"

#include "launcher/base/bad_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEX_LENGTH = JOB_KEY_HEX_SIZE - 1, PROBE = HEX_LENGTH + 2 };

/* "SOURCE: PROBLEM: 'path'HINT" */
static int key_file_refuse(const char *path, const char *source, const char *problem,
                           const char *hint, struct err *err)
{
    struct shown shown;
    return bad_input(err, source, "%s: '%s'%s", problem, show_token(&shown, path, strlen(path)),
                     hint);
}

static bool is_credential(const char *path)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    size_t length = directory ? strlen(directory) : 0;
    return length > 0 && strncmp(path, directory, length) == 0 && path[length] == '/' &&
           !strchr(path + length + 1, '/');
}

static int check_status(const struct stat *status, const char *path, const char *source,
                        struct err *err)
{
    char hint[80];
    mode_t others = is_credential(path) ? 037 : 077;
    if (!S_ISREG(status->st_mode))
        return key_file_refuse(path, source, "not a regular file", "", err);
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return key_file_refuse(path, source, "belongs to another user", "", err);
    if (!(status->st_mode & others))
        return HVD_OK;
    snprintf(hint, sizeof hint, " (mode %03o; chmod 600 mends that)",
             (unsigned)status->st_mode & 0777);
    return key_file_refuse(path, source, "the key is open to others", hint, err);
}

/* `text` is the beginning of the file, one byte more than a key may have. */
static bool key_file_decode(struct job_key *key, const char *text, ssize_t length)
{
    if (length == HEX_LENGTH + 1 && text[HEX_LENGTH] == '\n')
        length--;
    return length == HEX_LENGTH && job_key_decode(key, text, HEX_LENGTH);
}

static int key_file_read_key(struct job_key *key, int fd, const char *path, const char *source,
                             struct err *err)
{
    char text[PROBE];
    ssize_t length = read(fd, text, sizeof text);
    bool is_key = key_file_decode(key, text, length);
    explicit_bzero(text, sizeof text);
    if (length < 0)
        return key_file_refuse(path, source, "cannot be read", "", err);
    if (!is_key)
        return key_file_refuse(path, source, "holds no key", " (expected 64 hexadecimal digits)",
                               err);
    return HVD_OK;
}

int key_file_read(struct job_key *key, const char *path, const char *source, struct err *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int errnum = errno;
        char problem[128];
        snprintf(problem, sizeof problem, "cannot be opened (%s)", strerror(errnum));
        return key_file_refuse(path, source, problem, "", err);
    }
    int rc = fstat(fd, &status) < 0 ? key_file_refuse(path, source, "cannot be looked at", "", err)
                                    : check_status(&status, path, source, err);
    if (rc == HVD_OK)
        rc = key_file_read_key(key, fd, path, source, err);
    close(fd);
    return rc;
}

/* 0 or an errno. */
static int write_key(int fd)
{
    struct job_key key;
    char hex[JOB_KEY_HEX_SIZE];
    job_key_generate(&key);
    job_key_format(&key, hex);
    hex[HEX_LENGTH] = '\n';
    errno = EIO; /* for a short write */
    bool written = fchmod(fd, 0600) == 0 && write(fd, hex, sizeof hex) == (ssize_t)sizeof hex &&
                   fsync(fd) == 0;
    int errnum = errno;
    explicit_bzero(hex, sizeof hex);
    job_key_wipe(&key);
    return written ? 0 : errnum;
}

int key_file_create(const char *path, struct err *err)
{
    struct shown shown;
    show_token(&shown, path, strlen(path));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot create '%s'", shown.text);
    int errnum = write_key(fd);
    if (close(fd) < 0 && errnum == 0)
        errnum = errno;
    if (errnum == 0)
        return HVD_OK;
    unlink(path);
    return fail_errno(err, HVD_ERR_SYSTEM, errnum, "cannot write '%s'", shown.text);
}
