/* SPDX-License-Identifier: Apache-2.0 */
/* A file given with -i:
 *   open without blocking, see what it is, read its first bytes, look at who may read it.
 * Fails before anything is started. Otherwise every host would fail, one by one. */
#include "src/hvdrun/identity_file.h"

#include "launcher/base/bad_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As in launcher/ssh/ssh_key_file.c: a larger file is no key. */
enum { PROBE = 64, KEY_FILE_BYTES = 64 * 1024 };

/* "SOURCE: PROBLEM: 'path'" */
static int identity_file_refuse(const char *path, const char *source, const char *problem,
                                const char *hint, struct err *err)
{
    struct shown shown;
    return bad_input(err, source, "%s: '%s'%s", problem, show_token(&shown, path, strlen(path)),
                     hint);
}

/* The beginnings of files with public keys. */
static const char *const public_starts[] = {
    "ssh-",
    "ecdsa-sha2-",
    "sk-",
    "---- BEGIN SSH2 PUBLIC KEY",
    "-----BEGIN PUBLIC KEY",
    "-----BEGIN RSA PUBLIC KEY",
};

static bool is_public_key(const char *start)
{
    for (size_t i = 0; i < sizeof public_starts / sizeof *public_starts; i++)
        if (strncmp(start, public_starts[i], strlen(public_starts[i])) == 0)
            return true;
    return false;
}

/* As strict as ssh: if the file is ours, only the owner may have rights. */
static int check_mode(const struct stat *status, const char *path, const char *source,
                      struct err *err)
{
    char hint[80];
    if (status->st_uid != getuid() || !(status->st_mode & 077))
        return HVD_OK;
    snprintf(hint, sizeof hint, " (mode %03o; chmod 600 mends that)",
             (unsigned)status->st_mode & 0777);
    return identity_file_refuse(path, source, "private key is open to others", hint, err);
}

static int check_start(int fd, const char *path, const char *source, struct err *err)
{
    char start[PROBE + 1];
    ssize_t n = read(fd, start, PROBE);
    if (n < 0)
        return identity_file_refuse(path, source, "cannot read private key", "", err);
    start[n] = '\0';
    if (n == 0)
        return identity_file_refuse(path, source, "private key is empty", "", err);
    if (is_public_key(start))
        return identity_file_refuse(path, source, "is a public key", " (expected the private one)",
                                    err);
    return HVD_OK;
}

static int check_open(int fd, const char *path, const char *source, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
        return identity_file_refuse(path, source, "private key is not a regular file", "", err);
    if (S_ISDIR(status.st_mode))
        return identity_file_refuse(path, source, "private key is a directory", "", err);
    if (status.st_size > KEY_FILE_BYTES)
        return identity_file_refuse(path, source, "is no private key", " (larger than 64 KiB)",
                                    err);
    int rc = check_start(fd, path, source, err);
    return rc < 0 ? rc : check_mode(&status, path, source, err);
}

int check_identity_file(const char *path, const char *source, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int errnum = errno;
        char problem[128];
        snprintf(problem, sizeof problem, "cannot open private key (%s)", strerror(errnum));
        return identity_file_refuse(path, source, problem, "", err);
    }
    int rc = check_open(fd, path, source, err);
    close(fd);
    return rc;
}
