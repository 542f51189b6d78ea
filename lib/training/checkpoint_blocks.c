/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a file and the states of its digest; see checkpoint_blocks.h. */
#include "lib/training/checkpoint_blocks.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATE_ALIGNMENT = 64 }; /* of a crypto_generichash_state */

#define NO_BLOCK UINT64_MAX

struct checkpoint_blocks {
    int fd;
    uint64_t size;
    crypto_generichash_state *states; /* before each block, and behind the last */
    unsigned char *buffer;
    uint64_t held; /* the block that is in the buffer, as it was scanned; or NO_BLOCK */
};

int checkpoint_read_at(int fd, uint64_t offset, void *bytes, size_t nbytes, struct err *err)
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

static uint64_t blocks_count(uint64_t size)
{
    return size / CHECKPOINT_BLOCK_SIZE + (size % CHECKPOINT_BLOCK_SIZE > 0);
}

static size_t block_length(const struct checkpoint_blocks *blocks, uint64_t block)
{
    uint64_t left = blocks->size - block * CHECKPOINT_BLOCK_SIZE;
    return left < CHECKPOINT_BLOCK_SIZE ? (size_t)left : CHECKPOINT_BLOCK_SIZE;
}

static struct checkpoint_blocks *blocks_create(int fd, uint64_t size, struct err *err)
{
    struct checkpoint_blocks *blocks = calloc(1, sizeof *blocks);
    size_t nbytes, count = (size_t)blocks_count(size) + 1;
    bool fits = !__builtin_mul_overflow(count, sizeof *blocks->states, &nbytes);
    if (blocks) {
        *blocks = (struct checkpoint_blocks){ .fd = fd, .size = size, .held = NO_BLOCK };
        blocks->states = fits ? aligned_alloc(STATE_ALIGNMENT, nbytes) : NULL;
        blocks->buffer = malloc(CHECKPOINT_BLOCK_SIZE);
    }
    if (blocks && blocks->states && blocks->buffer)
        return blocks;
    checkpoint_blocks_destroy(blocks);
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

static void digest_of(const crypto_generichash_state *state,
                      unsigned char digest[CHECKPOINT_DIGEST_SIZE])
{
    crypto_generichash_state last = *state;
    crypto_generichash_final(&last, digest, CHECKPOINT_DIGEST_SIZE);
}

/* Reads a block into the buffer; `state` runs over it. */
static int read_block(struct checkpoint_blocks *blocks, uint64_t block,
                      crypto_generichash_state *state, struct err *err)
{
    size_t length = block_length(blocks, block);
    blocks->held = NO_BLOCK;
    int rc =
        checkpoint_read_at(blocks->fd, block * CHECKPOINT_BLOCK_SIZE, blocks->buffer, length, err);
    if (rc == HVD_OK)
        crypto_generichash_update(state, blocks->buffer, length);
    return rc;
}

struct checkpoint_blocks *checkpoint_blocks_scan(int fd, uint64_t size,
                                                 unsigned char digest[CHECKPOINT_DIGEST_SIZE],
                                                 struct err *err)
{
    struct checkpoint_blocks *blocks = blocks_create(fd, size, err);
    if (!blocks)
        return NULL;
    crypto_generichash_init(&blocks->states[0], NULL, 0, CHECKPOINT_DIGEST_SIZE);
    uint64_t count = blocks_count(size);
    for (uint64_t block = 0; block < count; block++) {
        blocks->states[block + 1] = blocks->states[block];
        if (read_block(blocks, block, &blocks->states[block + 1], err) < 0) {
            checkpoint_blocks_destroy(blocks);
            return NULL;
        }
    }
    digest_of(&blocks->states[count], digest);
    return blocks;
}

/* Loads a block into the buffer, if it has not changed. */
static int hold(struct checkpoint_blocks *blocks, uint64_t block, struct err *err)
{
    unsigned char found[CHECKPOINT_DIGEST_SIZE], expected[CHECKPOINT_DIGEST_SIZE];
    if (blocks->held == block)
        return HVD_OK;
    crypto_generichash_state state = blocks->states[block];
    int rc = read_block(blocks, block, &state, err);
    if (rc < 0)
        return rc;
    digest_of(&state, found);
    digest_of(&blocks->states[block + 1], expected);
    if (memcmp(found, expected, sizeof found) != 0)
        return fail(err, HVD_ERR_SYSTEM, "was changed while it was read");
    blocks->held = block;
    return HVD_OK;
}

int checkpoint_blocks_read(struct checkpoint_blocks *blocks, uint64_t offset, void *bytes,
                           size_t nbytes, struct err *err)
{
    unsigned char *to = bytes;
    while (nbytes > 0) {
        uint64_t block = offset / CHECKPOINT_BLOCK_SIZE;
        size_t skip = (size_t)(offset % CHECKPOINT_BLOCK_SIZE);
        int rc = hold(blocks, block, err);
        if (rc < 0)
            return rc;
        size_t part = block_length(blocks, block) - skip;
        part = part < nbytes ? part : nbytes;
        memcpy(to, blocks->buffer + skip, part);
        to += part;
        offset += part;
        nbytes -= part;
    }
    return HVD_OK;
}

void checkpoint_blocks_destroy(struct checkpoint_blocks *blocks)
{
    if (!blocks)
        return;
    free(blocks->states);
    free(blocks->buffer);
    free(blocks);
}
