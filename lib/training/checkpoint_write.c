/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a checkpoint (checkpoint_file.h):
 *   make a temporary file beside the target, and remove those of writers that are gone
 *   (checkpoint_temporary.h), give it the permissions of the old file, write head, list, data and
 *   digest, flush it to the disk, close it, rename it, flush the directory.
 * Fails when the target exists and is not a file, when the temporary file cannot be made, written,
 * flushed, closed or renamed, when the source of the data fails, and when memory runs out: then the
 * temporary file is removed, and the old file is unchanged. Fails, too, when the directory cannot
 * be flushed: then the new file exists, but may be gone after a power cut.
 *
 * Data pass through a buffer, so that no second copy of them is in memory. */
#include "lib/training/checkpoint_file.h"

#include "lib/base/auth.h"
#include "lib/base/text.h"
#include "lib/training/checkpoint_layout.h"
#include "lib/training/checkpoint_temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

struct output {
    int fd;
    crypto_generichash_state digest; /* of the bytes that have left the buffer */
    unsigned char *buffer;           /* owned */
    size_t used;
};

const char *checkpoint_path_text(char text[CHECKPOINT_PATH_SHOWN + 1], const char *path)
{
    size_t length = strlen(path), skipped = 0;
    if (length > CHECKPOINT_PATH_SHOWN)
        skipped = length - CHECKPOINT_PATH_SHOWN + 3;
    snprintf(text, CHECKPOINT_PATH_SHOWN + 1, "%s%s", skipped ? "..." : "", path + skipped);
    text_make_line(text);
    return text;
}

/* ---- bytes ---- */

static int checkpoint_write_all(int fd, const unsigned char *bytes, size_t nbytes, struct err *err)
{
    while (nbytes > 0) {
        ssize_t written = write(fd, bytes, nbytes);
        if (written < 0 && errno != EINTR)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
        bytes += written < 0 ? 0 : written;
        nbytes -= written < 0 ? 0 : (size_t)written;
    }
    return HVD_OK;
}

static int checkpoint_write_flush(struct output *output, struct err *err)
{
    size_t used = output->used;
    output->used = 0;
    crypto_generichash_update(&output->digest, output->buffer, used);
    return checkpoint_write_all(output->fd, output->buffer, used, err);
}

static int checkpoint_write_put(struct output *output, const unsigned char *bytes, size_t nbytes,
                                struct err *err)
{
    int rc = HVD_OK;
    while (nbytes > 0 && rc == HVD_OK) {
        size_t room = BUFFER_SIZE - output->used, part = nbytes < room ? nbytes : room;
        memcpy(output->buffer + output->used, bytes, part);
        output->used += part;
        bytes += part;
        nbytes -= part;
        if (output->used == BUFFER_SIZE)
            rc = checkpoint_write_flush(output, err);
    }
    return rc;
}

static int put_data(struct output *output, const struct checkpoint_entry *entries, size_t which,
                    checkpoint_source_fn *source, void *arg, struct err *err)
{
    int rc = HVD_OK;
    for (uint64_t at = 0; at < entries[which].nbytes && rc == HVD_OK;) {
        uint64_t left = entries[which].nbytes - at;
        size_t room = BUFFER_SIZE - output->used, part = left < room ? (size_t)left : room;
        rc = source(arg, which, at, output->buffer + output->used, part, err);
        output->used += part;
        at += part;
        if (rc == HVD_OK && output->used == BUFFER_SIZE)
            rc = checkpoint_write_flush(output, err);
    }
    return rc;
}

static int put_digest(struct output *output, struct err *err)
{
    unsigned char digest[CHECKPOINT_DIGEST_SIZE];
    int rc = checkpoint_write_flush(output, err);
    crypto_generichash_final(&output->digest, digest, sizeof digest);
    return rc < 0 ? rc : checkpoint_write_all(output->fd, digest, sizeof digest, err);
}

static int checkpoint_write_put_head(struct output *output, const struct checkpoint_entry *entries,
                                     size_t count, struct err *err)
{
    struct wire_writer head = { 0 };
    int rc = checkpoint_layout_encode(&head, entries, count, err);
    if (rc == HVD_OK)
        rc = checkpoint_write_put(output, head.data, head.length, err);
    wire_writer_fini(&head);
    return rc;
}

static int put_all(int fd, const struct checkpoint_entry *entries, size_t count,
                   checkpoint_source_fn *source, void *arg, struct err *err)
{
    struct output output = { .fd = fd, .buffer = malloc(BUFFER_SIZE) };
    if (!output.buffer)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    crypto_generichash_init(&output.digest, NULL, 0, CHECKPOINT_DIGEST_SIZE);
    int rc = checkpoint_write_put_head(&output, entries, count, err);
    for (size_t i = 0; i < count && rc == HVD_OK; i++)
        rc = put_data(&output, entries, i, source, arg, err);
    if (rc == HVD_OK)
        rc = put_digest(&output, err);
    if (rc == HVD_OK && fsync(fd) < 0)
        rc = fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
    free(output.buffer);
    return rc;
}

/* ---- files ---- */

/* The target of `path`, for free(); `path` itself if there is nothing yet. */
static char *find_target(const char *path, struct err *err)
{
    struct stat status;
    char *target = realpath(path, NULL);
    if (!target && errno == ENOENT)
        target = strdup(path);
    if (!target)
        fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
    else if (stat(target, &status) < 0 || S_ISREG(status.st_mode))
        return target;
    else
        fail(err, HVD_ERR_SYSTEM,
             "cannot write the checkpoint: there is something that is no file");
    free(target);
    return NULL;
}

/* A user who cannot read the old file must not be able to read the new one. Not every file system
 * has permissions. */
static int keep_permissions(int fd, const char *target, struct err *err)
{
    struct stat status;
    if (stat(target, &status) < 0 || fchmod(fd, status.st_mode & 0777) == 0 || errno == EPERM ||
        errno == ENOTSUP)
        return HVD_OK;
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
}

/* Not every file system can flush a directory. */
static int flush_directory(const char *target, struct err *err)
{
    char *directory = strdup(target);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (!directory)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (slash)
        slash[slash == directory] = '\0';
    int fd = checkpoint_move_off_streams(
        open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    free(directory);
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP);
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    return good
               ? HVD_OK
               : fail_errno(err, HVD_ERR_SYSTEM, errnum, "cannot flush the checkpoint's directory");
}

/* A second descriptor keeps the file locked until it is renamed, because the next writer removes
 * temporary files that are not locked. */
static int write_target(const char *target, const struct checkpoint_entry *entries, size_t count,
                        checkpoint_source_fn *source, void *arg, struct err *err)
{
    char *temporary;
    int fd = checkpoint_temporary_make(target, &temporary, err), lock = -1;
    int rc = fd < 0 ? fd : keep_permissions(fd, target, err);
    if (rc == HVD_OK)
        rc = put_all(fd, entries, count, source, arg, err);
    if (rc == HVD_OK)
        lock = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0 && close(fd) < 0 && rc == HVD_OK)
        rc = fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
    if (rc == HVD_OK && rename(temporary, target) < 0)
        rc = fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot write the checkpoint");
    if (rc < 0 && fd >= 0)
        unlink(temporary);
    if (lock >= 0)
        close(lock);
    free(temporary);
    return rc < 0 ? rc : flush_directory(target, err);
}

int checkpoint_file_write(const char *path, const struct checkpoint_entry *entries, size_t count,
                          checkpoint_source_fn *source, void *arg, struct err *err)
{
    char shown[CHECKPOINT_PATH_SHOWN + 1];
    char *target = NULL;
    int rc = auth_init(err);
    if (rc == HVD_OK && !(target = find_target(path, err)))
        rc = err->code;
    if (rc == HVD_OK)
        rc = write_target(target, entries, count, source, arg, err);
    free(target);
    if (rc < 0)
        fail_context(err, "%s", checkpoint_path_text(shown, path));
    return rc;
}
