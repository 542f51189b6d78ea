/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a checkpoint: temporary file, header, tensors, values, fsync, rename.
 *   Fails when a file cannot be made, written or renamed; the temporary file is then removed.
 * Reading: header, tensors, then values, whose size must be what is left of the file.
 *   Fails when the file is missing, is no checkpoint, is of another version, is cut off or too
 *   long, or announces what cannot be (checked against its true size, before memory is taken). */
#include "examples/support/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "HVDCKPT1";

struct file_header {
    char magic[8];
    uint32_t version, tensors;
};

struct file_tensor {
    char name[TENSOR_NAME_SIZE];
    uint32_t dimensions, shape[TENSOR_DIMENSIONS];
};

_Static_assert(sizeof(struct file_header) == 16 && sizeof(struct file_tensor) == 52, "no padding");

static bool write_all(FILE *file, const struct tensor *tensors, size_t count)
{
    struct file_header header = { .version = 1, .tensors = (uint32_t)count };
    memcpy(header.magic, magic, sizeof magic);
    bool good = fwrite(&header, sizeof header, 1, file) == 1;
    for (size_t i = 0; good && i < count; i++) {
        struct file_tensor entry = { .dimensions = (uint32_t)tensors[i].dimensions };
        memcpy(entry.name, tensors[i].name, sizeof entry.name);
        for (int k = 0; k < TENSOR_DIMENSIONS; k++)
            entry.shape[k] = (uint32_t)tensors[i].shape[k];
        good = fwrite(&entry, sizeof entry, 1, file) == 1;
    }
    for (size_t i = 0; good && i < count; i++)
        good = fwrite(tensors[i].values, sizeof(float), tensors[i].count, file) == tensors[i].count;
    return good && fflush(file) == 0 && fsync(fileno(file)) == 0;
}

/* Writes the file and closes it; keeps errno of what failed first. */
static bool write_file(const char *path, const struct tensor *tensors, size_t count)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL)
        return false;
    bool good = write_all(file, tensors, count);
    int errnum = errno;
    if (fclose(file) != 0 && good)
        return false;
    errno = errnum;
    return good;
}

int checkpoint_write(const char *path, const struct tensor *tensors, size_t count,
                     struct problem *problem)
{
    char *temporary;
    if (asprintf(&temporary, "%s.tmp-%ld", path, (long)getpid()) < 0)
        return problem_nomem(problem);
    int rc = 0;
    if (!write_file(temporary, tensors, count) || rename(temporary, path) < 0) {
        rc = problem_set(problem, EXIT_STATUS_DATA, "%s: cannot write the checkpoint: %s", path,
                         strerror(errno));
        unlink(temporary);
    }
    free(temporary);
    return rc;
}

static int damaged(struct problem *problem, const char *path, const char *how)
{
    return problem_set(problem, EXIT_STATUS_DATA, "%s: %s, expected a checkpoint of version 1",
                       path, how);
}

/* Takes over one tensor's entry and asks for its memory, of which at most *left bytes may be. */
static bool take_entry(struct tensor *tensor, const struct file_tensor *entry, size_t *left)
{
    if (entry->name[TENSOR_NAME_SIZE - 1] != '\0' || entry->dimensions < 1 ||
        entry->dimensions > TENSOR_DIMENSIONS)
        return false;
    memcpy(tensor->name, entry->name, sizeof tensor->name);
    tensor->dimensions = (int)entry->dimensions;
    tensor->count = 1;
    for (int k = 0; k < TENSOR_DIMENSIONS; k++) {
        if (entry->shape[k] < 1 || entry->shape[k] > *left / sizeof(float) / tensor->count)
            return false;
        tensor->shape[k] = (int)entry->shape[k];
        tensor->count *= entry->shape[k];
    }
    *left -= tensor->count * sizeof(float);
    tensor->values = malloc(tensor->count * sizeof(float));
    return tensor->values != NULL;
}

static int read_tensors(struct checkpoint *checkpoint, FILE *file, size_t left, const char *path,
                        struct problem *problem)
{
    size_t entries = checkpoint->count * sizeof(struct file_tensor);
    if (entries > left)
        return damaged(problem, path, "it is cut off");
    left -= entries;
    for (size_t i = 0; i < checkpoint->count; i++) {
        struct file_tensor entry;
        if (fread(&entry, sizeof entry, 1, file) != 1 ||
            !take_entry(&checkpoint->tensors[i], &entry, &left))
            return damaged(problem, path, "it is cut off or damaged");
    }
    if (left != 0)
        return damaged(problem, path, "it is longer than its tensors");
    for (size_t i = 0; i < checkpoint->count; i++) {
        struct tensor *tensor = &checkpoint->tensors[i];
        if (fread(tensor->values, sizeof(float), tensor->count, file) != tensor->count)
            return damaged(problem, path, "it cannot be read to its end");
    }
    return 0;
}

static int read_file(struct checkpoint *checkpoint, FILE *file, const char *path,
                     struct problem *problem)
{
    struct file_header header;
    struct stat status;
    if (fstat(fileno(file), &status) < 0 || !S_ISREG(status.st_mode))
        return damaged(problem, path, "it is no plain file");
    if (fread(&header, sizeof header, 1, file) != 1 ||
        memcmp(header.magic, magic, sizeof magic) != 0)
        return damaged(problem, path, "it has another magic number");
    if (header.version != 1 || header.tensors > CHECKPOINT_TENSORS_MAX)
        return damaged(problem, path, "it has another version or too many tensors");
    checkpoint->tensors = calloc(header.tensors + 1, sizeof *checkpoint->tensors);
    if (checkpoint->tensors == NULL)
        return problem_nomem(problem);
    checkpoint->count = header.tensors;
    size_t left = (size_t)status.st_size - sizeof header;
    return read_tensors(checkpoint, file, left, path, problem);
}

int checkpoint_read(struct checkpoint *checkpoint, const char *path, struct problem *problem)
{
    *checkpoint = (struct checkpoint){ 0 };
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return problem_set(problem, EXIT_STATUS_DATA, "%s: %s, expected a checkpoint", path,
                           strerror(errno));
    int rc = read_file(checkpoint, file, path, problem);
    fclose(file);
    if (rc < 0)
        checkpoint_fini(checkpoint);
    return rc;
}

void checkpoint_fini(struct checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->count; i++)
        free(checkpoint->tensors[i].values);
    free(checkpoint->tensors);
    *checkpoint = (struct checkpoint){ 0 };
}
