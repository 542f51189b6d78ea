/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint that somebody else wrote.
 *
 *   u8 how, the file: 0 as it is   1 with magic, version, size and digest made right
 *
 * Whatever it is: it is opened, or refused as invalid with a text; of one that is opened all data
 * lie between the list and the digest, in its order; and its list encodes to the same bytes. */
#include "lib/training/checkpoint_layout.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE_MAX_HERE = 1 << 16 };

/* The input as a file; at least as long as one can be if it is to be made right. */
static size_t take_file(unsigned char *bytes, struct fuzz_input input, bool right)
{
    size_t size = input.left < SIZE_MAX_HERE ? input.left : SIZE_MAX_HERE;
    if (size > 0)
        memcpy(bytes, input.at, size);
    if (!right)
        return size;
    if (size < CHECKPOINT_SIZE_MIN)
        size = CHECKPOINT_SIZE_MIN;
    memcpy(bytes, "HVDCKPT\2", 8);
    for (int i = 0; i < 8; i++)
        bytes[8 + i] = (unsigned char)((uint64_t)size >> (8 * i));
    size_t end = size - CHECKPOINT_DIGEST_SIZE;
    crypto_generichash(bytes + end, CHECKPOINT_DIGEST_SIZE, bytes, end, NULL, 0);
    return size;
}

static void check_list(const struct checkpoint_file *file, const unsigned char *bytes, size_t size)
{
    struct wire_writer again = { 0 };
    PROMISE(checkpoint_layout_encode(&again, file->entries, file->count, NULL) == HVD_OK);
    size_t at = again.length;
    PROMISE(at + CHECKPOINT_DIGEST_SIZE <= size);
    PROMISE(memcmp(again.data, bytes, at) == 0);
    wire_writer_fini(&again);
    for (size_t i = 0; i < file->count; i++) {
        PROMISE(file->entries[i].offset == at);
        at += file->entries[i].nbytes;
    }
    PROMISE(at + CHECKPOINT_DIGEST_SIZE == size);
}

static void check_data(const struct checkpoint_file *file, const unsigned char *bytes)
{
    for (size_t i = 0; i < file->count; i++) {
        size_t nbytes = (size_t)file->entries[i].nbytes;
        unsigned char *data = malloc(nbytes + 1);
        PROMISE(data && checkpoint_file_read(file, i, 0, data, nbytes, NULL) == HVD_OK);
        PROMISE(memcmp(data, bytes + file->entries[i].offset, nbytes) == 0);
        free(data);
    }
}

static void check_file(const char *path, const unsigned char *bytes, size_t size)
{
    struct checkpoint_file file;
    struct err err = { .code = HVD_OK };
    if (checkpoint_file_open(&file, path, &err) == HVD_OK) {
        check_list(&file, bytes, size);
        check_data(&file, bytes);
        checkpoint_file_close(&file);
        return;
    }
    PROMISE(err.code == HVD_ERR_INVALID);
    PROMISE(strncmp(err.text, path, strlen(path)) == 0 && strlen(err.text) > strlen(path) + 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char bytes[SIZE_MAX_HERE];
    char path[32];
    struct fuzz_input input = fuzz_begin(data, size);
    bool right = fuzz_u8(&input) % 2 == 1;
    memset(bytes, 0, CHECKPOINT_SIZE_MIN);
    size_t length = take_file(bytes, input, right);
    int fd = memfd_create("checkpoint", MFD_CLOEXEC);
    PROMISE(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check_file(path, bytes, length);
    close(fd);
    return 0;
}
