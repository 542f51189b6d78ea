/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint as a file: named tensors and scalars, and a digest that detects any damage. Needs no
 * world.
 *
 *    0 magic "HVDCKPT"   7 version, u8   8 size of the file, u64
 *   16 size of the list, u32   20 number of entries, u32
 *   24 the list
 *      then the data of each entry, in the order of the list, with nothing between them
 *      and in the last 32 bytes the BLAKE2b-256 digest of all bytes before
 *
 * An entry of the list:
 *
 *    0 kind, u8: 0 tensor, 1 scalar   1 dtype, u8: enum hvd_dtype   2 ndims, u8   3 zero
 *    4 dims, ndims x u64   then the name: its length, u32, and so many bytes of UTF-8
 *
 * All numbers are little-endian, and so are the elements, in row-major order. A scalar has no dims.
 * No two entries of a kind have the same name. */
#ifndef LIB_TRAINING_CHECKPOINT_FILE_H
#define LIB_TRAINING_CHECKPOINT_FILE_H

#include "lib/base/status.h"
#include "lib/hvd_optimizer.h"

#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_VERSION = 2 };

enum checkpoint_kind { CHECKPOINT_TENSOR = 0, CHECKPOINT_SCALAR = 1 };

struct checkpoint_entry {
    enum checkpoint_kind kind;
    enum hvd_dtype dtype;
    int ndims;
    int64_t dims[HVD_DIMS_MAX];
    char name[HVD_PARAMETER_NAME_MAX + 1];
    uint64_t nbytes; /* of its data; follows from dtype and dims */
    uint64_t offset; /* of its data in the file; the reader's */
};

/* Copies bytes `at` to `at + nbytes` of an entry's data. Returns HVD_OK, or fails. */
typedef int checkpoint_source_fn(void *arg, size_t entry, uint64_t at, void *bytes, size_t nbytes,
                                 struct err *err);

/* Writes to a temporary file beside `path`, and renames the temporary file when it is complete and
 * on disk: at any time `path` is the whole old file or the whole new one. Follows a symbolic link.
 * The texts begin with the path. */
int checkpoint_file_write(const char *path, const struct checkpoint_entry *entries, size_t count,
                          checkpoint_source_fn *source, void *arg, struct err *err);

struct checkpoint_blocks;

struct checkpoint_file {
    int fd;
    struct checkpoint_blocks *blocks; /* owned */
    const char *path;                 /* borrowed */
    struct checkpoint_entry *entries; /* owned; as in the file */
    size_t count;
};

/* Reads the list and checks every byte of the file. HVD_ERR_INVALID if the file is no checkpoint,
 * has another version, is cut off, too long or damaged; HVD_ERR_SYSTEM if it cannot be read; then
 * `file` is empty. The texts begin with the path. */
int checkpoint_file_open(struct checkpoint_file *file, const char *path, struct err *err);

/* Reads bytes `at` to `at + nbytes` of an entry's data, which has as many: the checked bytes, or
 * HVD_ERR_SYSTEM if the file has been changed since. */
int checkpoint_file_read(const struct checkpoint_file *file, size_t entry, uint64_t at, void *bytes,
                         size_t nbytes, struct err *err);

/* Empty is fine. */
void checkpoint_file_close(struct checkpoint_file *file);

/* The path in front of messages: its end, if it is long, and printable. */
enum { CHECKPOINT_PATH_SHOWN = 200 };
const char *checkpoint_path_text(char text[CHECKPOINT_PATH_SHOWN + 1], const char *path);

#endif
