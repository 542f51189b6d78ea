/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is read twice, and the second time only as it was the first time: a scan computes the
 * digest of it all and keeps the state of that computation at every block; a read computes it for
 * the blocks that it needs and compares, before it gives out a byte.
 *
 * So a checkpoint is known to be whole before anything is changed, and what is then read is what
 * was checked, also when the file is written to in between. The states take less than a thousandth
 * of the file's size.
 *
 * Fails when the file cannot be read, has become shorter, or is no longer what it was
 * (HVD_ERR_SYSTEM), and when memory runs out (HVD_ERR_NOMEM). */
#ifndef LIB_TRAINING_CHECKPOINT_BLOCKS_H
#define LIB_TRAINING_CHECKPOINT_BLOCKS_H

#include "lib/base/status.h"
#include "lib/training/checkpoint_layout.h"

#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_BLOCK_SIZE = 1 << 20 };

struct checkpoint_blocks;

/* Reads any bytes of the file, unchecked. */
int checkpoint_read_at(int fd, uint64_t offset, void *bytes, size_t nbytes, struct err *err);

/* Of the first `size` bytes of a file, which it borrows; `digest` is theirs. NULL if it fails. */
struct checkpoint_blocks *checkpoint_blocks_scan(int fd, uint64_t size,
                                                 unsigned char digest[CHECKPOINT_DIGEST_SIZE],
                                                 struct err *err);

/* Some of these bytes. Where it fails, `bytes` holds those of the blocks before. */
int checkpoint_blocks_read(struct checkpoint_blocks *blocks, uint64_t offset, void *bytes,
                           size_t nbytes, struct err *err);

/* NULL is fine. */
void checkpoint_blocks_destroy(struct checkpoint_blocks *blocks);

#endif
