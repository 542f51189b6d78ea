/* SPDX-License-Identifier: Apache-2.0 */
/* The files of images and labels that examples read.
 *
 *   u8: bit 0 the headers are made right; u8 length of the images' file; it; the labels' file
 *
 * Whatever they are: they are read, or refused with one line that names a file. What was read is as
 * many images and labels as the files hold, and no label is too large. */
#include "examples/support/idx.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEIGHT = 2, WIDTH = 3, CLASSES = 10, IMAGES_HEAD = 16, LABELS_HEAD = 8 };

static void put_u32(uint8_t *at, size_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * (3 - i));
}

/* As if somebody had counted. */
static void make_right(uint8_t *images, size_t nimages, uint8_t *labels, size_t nlabels)
{
    if (nimages < IMAGES_HEAD || nlabels < LABELS_HEAD)
        return;
    put_u32(images, 0x803);
    put_u32(images + 4, (nimages - IMAGES_HEAD) / (HEIGHT * WIDTH));
    put_u32(images + 8, HEIGHT);
    put_u32(images + 12, WIDTH);
    put_u32(labels, 0x801);
    put_u32(labels + 4, nlabels - LABELS_HEAD);
}

static int make_file(char path[32], const uint8_t *bytes, size_t length)
{
    int fd = memfd_create("idx", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static void take(const char *images, const char *labels)
{
    static const struct idx_shape shape = { HEIGHT, WIDTH, CLASSES };
    struct problem problem = { 0 };
    struct idx_set set;
    if (idx_read(&set, &shape, images, labels, &problem) < 0) {
        fuzz_check_line(problem.text, "");
        PROMISE(strstr(problem.text, "/proc/self/fd/"));
        PROMISE(!set.pixels && !set.labels && set.count == 0);
        return;
    }
    unsigned sum = 0; /* so that every byte is read */
    for (long i = 0; i < set.count; i++)
        PROMISE(set.labels[i] < CLASSES);
    for (long i = 0; i < set.count * HEIGHT * WIDTH; i++)
        sum += set.pixels[i];
    PROMISE(set.count > 0 && sum <= 255 * (unsigned)(set.count * HEIGHT * WIDTH));
    idx_fini(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    char images_path[32], labels_path[32];
    bool right = fuzz_u8(&input) & 1;
    size_t nimages, nlabels;
    uint8_t *images = fuzz_bytes(&input, &nimages), *labels = fuzz_rest(&input, &nlabels);
    if (right)
        make_right(images, nimages, labels, nlabels);
    int images_fd = make_file(images_path, images, nimages);
    int labels_fd = make_file(labels_path, labels, nlabels);
    take(images_path, labels_path);
    close(images_fd);
    close(labels_fd);
    free(images);
    free(labels);
    return 0;
}
