/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes of a host share without a name: a sealed memfd. A process that holds the
 * descriptor can map the segment. The memory is freed with its last mapping, even after crashes.
 * The segment lies on the kernel's own tmpfs, so the size of /dev/shm does not limit it.
 *
 * Fails with HVD_ERR_SYSTEM when the memory is refused or none is left, and with HVD_ERR_PROTOCOL
 * when a descriptor from outside is not such a segment. */
#ifndef LIB_MEMORY_SEGMENT_H
#define LIB_MEMORY_SEGMENT_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct segment {
    int fd; /* -1 once it has been given away, or closed */
    unsigned char *memory;
    size_t size; /* bytes, whole pages */
};

/* Zeroed, at least `size` bytes, sealed: the segment can neither shrink nor grow. Pages are
 * allocated when they are touched. */
int segment_create(struct segment *segment, size_t size, struct err *err);

/* Maps a segment that another process has made. Takes `fd` over on success. It must be sealed like
 * ours and hold `least` to `most` bytes: another process could shrink an unsealed one while we use
 * it. */
int segment_adopt(struct segment *segment, int fd, size_t least, size_t most, struct err *err);

/* Allocates the pages of [offset, offset + size) at once, which is faster than touching each. Where
 * the system does not overcommit memory (vm.overcommit_memory is 2), this call returns an error
 * instead of a later SIGBUS. */
int segment_populate(const struct segment *segment, size_t offset, size_t size, struct err *err);

/* True if vm.overcommit_memory is 2 now. */
bool segment_is_promised(void);

/* Gives the whole pages in the range back to the system, in all processes that map them; they read
 * as zeros until they are touched again. Without the descriptor this works only for private
 * memory. */
void segment_drop(const struct segment *segment, size_t offset, size_t size);

/* Unmaps and closes; a segment of zeros is fine if its fd is -1. */
void segment_close(struct segment *segment);

#endif
