/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a checkpoint (checkpoint_file.h):
 *   open it, look at its head and size, compute the digest of it all, read its list; then its data,
 *   as they are asked for.
 * Fails when it is no plain file, cannot be opened or read, is no checkpoint, of another version,
 * cut off, too long or damaged, memory runs out, or it becomes shorter while it is read. Memory is
 * asked for a list only after the digest has been found to be right, and at most in proportion to
 * the file's true size. */
#include "lib/training/checkpoint_file.h"

#include "lib/base/auth.h"
#include "lib/training/checkpoint_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

static const struct checkpoint_file nothing = { .fd = -1 };

static int read_at(int fd, uint64_t offset, void *bytes, size_t nbytes, struct err *err)
{
    unsigned char *at = bytes;
    while (nbytes > 0) {
        ssize_t got = pread(fd, at, nbytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be read");
        if (got == 0)
            return fail(err, HVD_ERR_SYSTEM, "became shorter while it was read");
        at += got;
        nbytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return HVD_OK;
}

/* The true size goes to `size`. */
static int read_head(int fd, struct checkpoint_head *head, struct err *err)
{
    struct stat status;
    unsigned char bytes[CHECKPOINT_HEAD_SIZE] = { 0 };
    if (fstat(fd, &status) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be read");
    if (!S_ISREG(status.st_mode))
        return fail(err, HVD_ERR_INVALID, "is no checkpoint, not even a plain file");
    uint64_t size = (uint64_t)status.st_size;
    int rc = read_at(fd, 0, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes, err);
    return rc < 0 ? rc : checkpoint_head_decode(head, bytes, size, err);
}

static int digest_until(int fd, uint64_t end, unsigned char *buffer,
                        unsigned char digest[CHECKPOINT_DIGEST_SIZE], struct err *err)
{
    int rc = HVD_OK;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, CHECKPOINT_DIGEST_SIZE);
    for (uint64_t at = 0; at < end && rc == HVD_OK;) {
        size_t part = end - at < BUFFER_SIZE ? (size_t)(end - at) : BUFFER_SIZE;
        rc = read_at(fd, at, buffer, part, err);
        if (rc == HVD_OK)
            crypto_generichash_update(&state, buffer, part);
        at += part;
    }
    crypto_generichash_final(&state, digest, CHECKPOINT_DIGEST_SIZE);
    return rc;
}

static int check_digest(int fd, const struct checkpoint_head *head, struct err *err)
{
    unsigned char expected[CHECKPOINT_DIGEST_SIZE], found[CHECKPOINT_DIGEST_SIZE];
    uint64_t end = head->size - CHECKPOINT_DIGEST_SIZE;
    unsigned char *buffer = malloc(BUFFER_SIZE);
    if (!buffer)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = digest_until(fd, end, buffer, expected, err);
    free(buffer);
    if (rc == HVD_OK)
        rc = read_at(fd, end, found, sizeof found, err);
    if (rc == HVD_OK && memcmp(expected, found, sizeof found) != 0)
        rc = fail(err, HVD_ERR_INVALID, "is damaged: its digest differs");
    return rc;
}

/* ---- the file ---- */

static int read_list(struct checkpoint_file *file, const struct checkpoint_head *head,
                     struct err *err)
{
    unsigned char *list = malloc(head->list_size + (size_t)1);
    file->entries = calloc(head->count + (size_t)1, sizeof *file->entries);
    file->count = head->count;
    int rc = list && file->entries ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
    if (rc == HVD_OK)
        rc = read_at(file->fd, CHECKPOINT_HEAD_SIZE, list, head->list_size, err);
    if (rc == HVD_OK)
        rc = checkpoint_list_decode(file->entries, head, list, err);
    free(list);
    return rc;
}

static int read_all(struct checkpoint_file *file, struct err *err)
{
    struct checkpoint_head head;
    /* Opening a pipe must not wait for its other end. */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be read");
    int rc = read_head(file->fd, &head, err);
    if (rc == HVD_OK)
        rc = check_digest(file->fd, &head, err);
    return rc < 0 ? rc : read_list(file, &head, err);
}

int checkpoint_file_open(struct checkpoint_file *file, const char *path, struct err *err)
{
    char shown[CHECKPOINT_PATH_SHOWN + 1];
    *file = nothing;
    file->path = path;
    int rc = auth_init(err);
    if (rc == HVD_OK)
        rc = read_all(file, err);
    if (rc < 0) {
        fail_context(err, "%s", checkpoint_path_text(shown, path));
        checkpoint_file_close(file);
    }
    return rc;
}

int checkpoint_file_read(const struct checkpoint_file *file, size_t entry, uint64_t at, void *bytes,
                         size_t nbytes, struct err *err)
{
    char shown[CHECKPOINT_PATH_SHOWN + 1];
    int rc = read_at(file->fd, file->entries[entry].offset + at, bytes, nbytes, err);
    if (rc < 0)
        fail_context(err, "%s", checkpoint_path_text(shown, file->path));
    return rc;
}

void checkpoint_file_close(struct checkpoint_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->entries);
    *file = nothing;
}
