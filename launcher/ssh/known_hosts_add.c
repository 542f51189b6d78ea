/* SPDX-License-Identifier: Apache-2.0 */
/* Adding a line to known_hosts:
 *   make the directory, open the file, end its last line if that has no end, append in one write.
 * Fails when a line cannot hold the name, the directory or file cannot be made or written, the file
 * is no regular one, or the disk is full. Two programs that append at once do not mix their
 * lines. */
#include "launcher/base/xalloc.h"
#include "launcher/ssh/known_hosts.h"
#include "launcher/ssh/known_hosts_line.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SSH_PORT = 22, KEY_BYTES_MAX = 1 << 16 };

/* False for bytes that would end the name, or have a meaning in a line. */
static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr(",*?!|@#[]", *at))
            return false;
    return *name != '\0';
}

/* The NAMES field, owned by the caller. */
static char *make_names(const char *name, int port, bool hashed)
{
    char *names = port == SSH_PORT ? xstrdup(name) : xasprintf("[%s]:%d", name, port);
    for (char *at = names; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    if (!hashed)
        return names;
    unsigned char salt[HOST_HASH_BYTES];
    char *text = xmalloc(HASHED_NAME_SIZE);
    randombytes_buf(salt, sizeof salt);
    known_name_hash(text, salt, names);
    free(names);
    return text;
}

/* "NAMES TYPE KEY\n" with a newline in front, owned by the caller. */
static char *make_line(const char *names, const char *type, const unsigned char *blob,
                       size_t nbytes)
{
    size_t size = sodium_base64_encoded_len(nbytes, sodium_base64_VARIANT_ORIGINAL);
    char *key = xmalloc(size);
    sodium_bin2base64(key, size, blob, nbytes, sodium_base64_VARIANT_ORIGINAL);
    char *line = xasprintf("\n%s %s %s\n", names, type, key);
    free(key);
    return line;
}

/* Creates the last directory of the path; its parents must exist. */
static int make_directory(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return HVD_OK;
    char *directory = xstrndup(path, (size_t)(slash - path));
    int rc = mkdir(directory, 0700);
    int code = errno;
    free(directory);
    if (rc < 0 && code != EEXIST)
        return fail_errno(err, HVD_ERR_SYSTEM, code, "make the directory of %s", path);
    return HVD_OK;
}

static bool lacks_newline(int fd)
{
    char last;
    off_t end = lseek(fd, 0, SEEK_END);
    return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* Truncates the file, unless bytes have come after ours. */
static bool take_back(int fd, off_t nbytes)
{
    off_t end = lseek(fd, 0, SEEK_CUR); /* end of the bytes that we have written */
    return end >= nbytes && lseek(fd, 0, SEEK_END) == end && ftruncate(fd, end - nbytes) == 0;
}

/* A line that was written in part is removed again. */
static int known_hosts_add_append(int fd, const char *line, const char *path, struct err *err)
{
    const char *text = line + (lacks_newline(fd) ? 0 : 1);
    size_t length = strlen(text);
    ssize_t n;
    do
        n = write(fd, text, length);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)length)
        return HVD_OK;
    if (n < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "write %s", path);
    if (!take_back(fd, n))
        return fail(err, HVD_ERR_SYSTEM, "write %s: the disk is full, its last line is cut", path);
    return fail(err, HVD_ERR_SYSTEM, "write %s: the disk is full", path);
}

/* What is written to a device, such as /dev/null, or into a pipe is known to nobody. */
static bool is_regular_file(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

static int append_to(const char *path, const char *line, struct err *err)
{
    int rc = make_directory(path, err);
    if (rc < 0)
        return rc;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "open %s", path);
    rc = is_regular_file(fd) ? known_hosts_add_append(fd, line, path, err)
                             : fail(err, HVD_ERR_SYSTEM, "not a regular file");
    if (close(fd) < 0 && rc == HVD_OK)
        rc = fail_errno(err, HVD_ERR_SYSTEM, errno, "write %s", path);
    return rc;
}

int known_hosts_add(const char *path, const char *name, int port, bool hashed,
                    const unsigned char *blob, size_t nbytes, struct err *err)
{
    char type[64], quoted[QUOTED_SIZE];
    if (!is_plain_name(name))
        return fail(err, HVD_ERR_INVALID, "'%s' cannot stand in known_hosts",
                    quote_token(quoted, sizeof quoted, name, strlen(name)));
    if (nbytes > KEY_BYTES_MAX || !known_hosts_blob_type(type, sizeof type, blob, nbytes))
        return fail(err, HVD_ERR_INVALID, "a key without a type cannot stand in known_hosts");
    char *names = make_names(name, port, hashed);
    char *line = make_line(names, type, blob, nbytes);
    int rc = append_to(path, line, err);
    free(names);
    free(line);
    return rc;
}
