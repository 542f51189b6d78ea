/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file twice and detects any change in between. A scan computes the digest of the whole
 * file and keeps the state of the computation at every block. A read computes the digest of the
 * blocks that it needs again and compares the states, before it returns a byte.
 *
 * So a checkpoint is known to be whole before anything is changed, and a read returns exactly the
 * checked bytes, even if the file is written to in between. The states take less than a thousandth
 * of the file's size.
 *
 * Fails when the file cannot be read, has become shorter, or has changed (HVD_ERR_SYSTEM), and when
 * memory runs out (HVD_ERR_NOMEM). */
#ifndef LIB_TRAINING_CHECKPOINT_BLOCKS_H
#define LIB_TRAINING_CHECKPOINT_BLOCKS_H

#include "lib/base/status.h"
#include "lib/training/checkpoint_layout.h"

#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_BLOCK_SIZE = 1 << 20 };

struct checkpoint_blocks;

/* Reads any bytes of the file, without checking them. */
int checkpoint_read_at(int fd, uint64_t offset, void *bytes, size_t nbytes, struct err *err);

/* Scans the first `size` bytes of a file, which is borrowed; `digest` is theirs. NULL on
 * failure. */
struct checkpoint_blocks *checkpoint_blocks_scan(int fd, uint64_t size,
                                                 unsigned char digest[CHECKPOINT_DIGEST_SIZE],
                                                 struct err *err);

/* Reads some of these bytes. After a failure `bytes` holds those of the blocks before. */
int checkpoint_blocks_read(struct checkpoint_blocks *blocks, uint64_t offset, void *bytes,
                           size_t nbytes, struct err *err);

/* NULL is fine. */
void checkpoint_blocks_destroy(struct checkpoint_blocks *blocks);

#endif
