/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a checkpoint (checkpoint_file.h):
 *   open the file, check head and size, compute the digest of the whole, read the list; then data,
 *   on request, each block as it was when the digest was computed (checkpoint_blocks.h).
 * Fails when the file is not a plain file, cannot be opened or read, is no checkpoint, has another
 * version, is cut off, too long or damaged, or becomes shorter or changes while it is read; and
 * when memory runs out. Memory for a list is allocated only after the digest has proved to be
 * right, in proportion to the file's true size. */
#include "lib/training/checkpoint_file.h"

#include "lib/base/auth.h"
#include "lib/training/checkpoint_blocks.h"
#include "lib/training/checkpoint_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct checkpoint_file nothing = { .fd = -1 };

/* Stores the true size in `size`. */
static int read_head(int fd, struct checkpoint_head *head, struct err *err)
{
    struct stat status;
    unsigned char bytes[CHECKPOINT_HEAD_SIZE] = { 0 };
    if (fstat(fd, &status) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be read");
    if (!S_ISREG(status.st_mode))
        return fail(err, HVD_ERR_INVALID, "is no checkpoint, not even a plain file");
    uint64_t size = (uint64_t)status.st_size;
    int rc =
        checkpoint_read_at(fd, 0, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes, err);
    return rc < 0 ? rc : checkpoint_head_decode(head, bytes, size, err);
}

/* From then on only checked bytes are read. */
static int check_digest(struct checkpoint_file *file, const struct checkpoint_head *head,
                        struct err *err)
{
    unsigned char expected[CHECKPOINT_DIGEST_SIZE], found[CHECKPOINT_DIGEST_SIZE];
    uint64_t end = head->size - CHECKPOINT_DIGEST_SIZE;
    file->blocks = checkpoint_blocks_scan(file->fd, end, expected, err);
    int rc = file->blocks ? checkpoint_read_at(file->fd, end, found, sizeof found, err) : err->code;
    if (rc == HVD_OK && memcmp(expected, found, sizeof found) != 0)
        rc = fail(err, HVD_ERR_INVALID, "is damaged: its digest differs");
    return rc;
}

/* Reads the head again and compares it: a changed head would make the rest unreadable. */
static int read_checked_head(struct checkpoint_file *file, struct checkpoint_head *head,
                             struct err *err)
{
    unsigned char bytes[CHECKPOINT_HEAD_SIZE];
    uint64_t size = head->size;
    int rc = checkpoint_blocks_read(file->blocks, 0, bytes, sizeof bytes, err);
    return rc < 0 ? rc : checkpoint_head_decode(head, bytes, size, err);
}

/* ---- the file ---- */

static int checkpoint_read_list(struct checkpoint_file *file, const struct checkpoint_head *head,
                                struct err *err)
{
    unsigned char *list = malloc(head->list_size + (size_t)1);
    file->entries = calloc(head->count + (size_t)1, sizeof *file->entries);
    file->count = head->count;
    int rc = list && file->entries ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
    if (rc == HVD_OK)
        rc = checkpoint_blocks_read(file->blocks, CHECKPOINT_HEAD_SIZE, list, head->list_size, err);
    if (rc == HVD_OK)
        rc = checkpoint_list_decode(file->entries, head, list, err);
    free(list);
    return rc;
}

static int checkpoint_read_all(struct checkpoint_file *file, struct err *err)
{
    struct checkpoint_head head;
    /* Opening a pipe must not wait for a writer. */
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "cannot be read");
    int rc = read_head(file->fd, &head, err);
    if (rc == HVD_OK)
        rc = check_digest(file, &head, err);
    if (rc == HVD_OK)
        rc = read_checked_head(file, &head, err);
    return rc < 0 ? rc : checkpoint_read_list(file, &head, err);
}

int checkpoint_file_open(struct checkpoint_file *file, const char *path, struct err *err)
{
    char shown[CHECKPOINT_PATH_SHOWN + 1];
    *file = nothing;
    file->path = path;
    int rc = auth_init(err);
    if (rc == HVD_OK)
        rc = checkpoint_read_all(file, err);
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
    int rc =
        checkpoint_blocks_read(file->blocks, file->entries[entry].offset + at, bytes, nbytes, err);
    if (rc < 0)
        fail_context(err, "%s", checkpoint_path_text(shown, file->path));
    return rc;
}

void checkpoint_file_close(struct checkpoint_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    checkpoint_blocks_destroy(file->blocks);
    free(file->entries);
    *file = nothing;
}
