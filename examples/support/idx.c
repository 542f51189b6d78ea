/* SPDX-License-Identifier: Apache-2.0 */
/* Reading IDX files:
 *   open, read the header and check it, read exactly the bytes it announces, check that no more
 *   follow; then labels against images.
 * Fails when a file is missing, is no IDX file of the right kind, has images of another size or an
 * absurd count (refused before memory is asked for), ends early, goes on too long, is damaged
 * inside its gzip packing, holds a label that is no class, or does not match the other file. */
#include "examples/support/idx.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAGIC_LABELS = 0x801, MAGIC_IMAGES = 0x803, COUNT_MAX = 10 * 1000 * 1000 };

struct idx_file {
    gzFile stream;
    const char *path; /* borrowed */
    struct problem *problem;
};

/* The path, of which a very long one is cut, and what is wrong with the file. */
#define DATA_PROBLEM(file, format, ...)                                                            \
    problem_set((file)->problem, EXIT_STATUS_DATA, "%.400s: " format, (file)->path, ##__VA_ARGS__)

static int file_open(struct idx_file *file, const char *path, struct problem *problem)
{
    *file = (struct idx_file){ .path = path, .problem = problem };
    errno = 0;
    file->stream = gzopen(path, "rb");
    if (file->stream == NULL)
        return DATA_PROBLEM(file, "%s, expected an IDX file", strerror(errno ? errno : ENOMEM));
    gzbuffer(file->stream, 1 << 17);
    return 0;
}

/* Reads `size` bytes of `what`, or fails: ended early, or damaged. */
static int file_read(struct idx_file *file, const char *what, void *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t part = size - done < 1 << 30 ? size - done : 1 << 30;
        int got = gzread(file->stream, (char *)data + done, (unsigned)part);
        int code;
        const char *reason = gzerror(file->stream, &code);
        if (got < 0 && code != Z_BUF_ERROR)
            return DATA_PROBLEM(file, "damaged: %s, expected an IDX file",
                                code == Z_ERRNO ? strerror(errno) : reason);
        if (got <= 0)
            return DATA_PROBLEM(file, "ends after %zu of the expected %zu bytes of %s", done, size,
                                what);
        done += (size_t)got;
    }
    return 0;
}

/* After the last byte: nothing follows, and the gzip checksum is right. */
static int file_expect_end(struct idx_file *file)
{
    char extra;
    int got = gzread(file->stream, &extra, 1);
    if (got > 0)
        return DATA_PROBLEM(file, "goes on after the last byte that its header announces");
    if (got < 0 || gzclose_r(file->stream) != Z_OK) {
        file->stream = NULL;
        return DATA_PROBLEM(file, "damaged: the gzip checksum at its end is wrong or missing");
    }
    file->stream = NULL;
    return 0;
}

static void file_close(struct idx_file *file)
{
    if (file->stream != NULL)
        gzclose_r(file->stream);
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Reads the header: `fields` integers after the magic number. */
static int read_header(struct idx_file *file, uint32_t magic, uint32_t *fields, size_t count)
{
    unsigned char bytes[16];
    if (file_read(file, "header", bytes, 4 + 4 * count) < 0)
        return -1;
    if (big_endian(bytes) != magic)
        return DATA_PROBLEM(file, "magic number 0x%08x, expected 0x%08x (IDX %s)",
                            big_endian(bytes), magic, magic == MAGIC_IMAGES ? "images" : "labels");
    for (size_t i = 0; i < count; i++)
        fields[i] = big_endian(bytes + 4 + 4 * i);
    if (fields[0] < 1 || fields[0] > COUNT_MAX)
        return DATA_PROBLEM(file, "%u items announced, expected 1 to %d", fields[0], COUNT_MAX);
    return 0;
}

/* Reads all that follows the header into memory that the caller owns. */
static unsigned char *read_body(struct idx_file *file, const char *what, size_t size)
{
    unsigned char *body = malloc(size);
    if (body == NULL)
        problem_nomem(file->problem);
    else if (file_read(file, what, body, size) == 0 && file_expect_end(file) == 0)
        return body;
    free(body);
    return NULL;
}

static int read_images(struct idx_set *set, const struct idx_shape *shape, struct idx_file *file)
{
    uint32_t fields[3];
    if (read_header(file, MAGIC_IMAGES, fields, 3) < 0)
        return -1;
    if (fields[1] != (uint32_t)shape->height || fields[2] != (uint32_t)shape->width)
        return DATA_PROBLEM(file, "images of %u x %u, expected %d x %d", fields[1], fields[2],
                            shape->height, shape->width);
    set->count = (long)fields[0];
    set->pixels = read_body(file, "pixels", (size_t)fields[0] * fields[1] * fields[2]);
    return set->pixels == NULL ? -1 : 0;
}

static int read_labels(struct idx_set *set, const struct idx_shape *shape, struct idx_file *file)
{
    uint32_t count = 0;
    if (read_header(file, MAGIC_LABELS, &count, 1) < 0)
        return -1;
    if (count != set->count)
        return DATA_PROBLEM(file, "%u labels, expected %ld, one for each image", count, set->count);
    if ((set->labels = read_body(file, "labels", count)) == NULL)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (set->labels[i] >= shape->classes)
            return DATA_PROBLEM(file, "item %u has label %d, expected 0 to %d", i, set->labels[i],
                                shape->classes - 1);
    return 0;
}

int idx_read(struct idx_set *set, const struct idx_shape *shape, const char *images_path,
             const char *labels_path, struct problem *problem)
{
    *set = (struct idx_set){ 0 };
    struct idx_file images = { 0 }, labels = { 0 };
    int rc = -1;
    if (file_open(&images, images_path, problem) == 0 &&
        file_open(&labels, labels_path, problem) == 0 && read_images(set, shape, &images) == 0)
        rc = read_labels(set, shape, &labels);
    file_close(&images);
    file_close(&labels);
    if (rc < 0)
        idx_fini(set);
    return rc;
}

void idx_fini(struct idx_set *set)
{
    free(set->pixels);
    free(set->labels);
    *set = (struct idx_set){ 0 };
}
