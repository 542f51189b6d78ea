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

/* Zeroed, at least `size` bytes, sealed: it can neither shrink nor grow. The pages come into being
 * when they are touched. */
int segment_create(struct segment *segment, size_t size, struct err *err);

/* Maps what another process has made. Takes `fd` over when it succeeds. It must be sealed as above
 * and hold `least` to `most` bytes: an unsealed one could be cut under our feet. */
int segment_adopt(struct segment *segment, int fd, size_t least, size_t most, struct err *err);

/* Brings the pages of [offset, offset + size) into being, all at once: faster than when each is
 * touched first. And where the system promises no more memory than it has (vm.overcommit_memory is
 * 2), an error here is what would be SIGBUS then. */
int segment_populate(const struct segment *segment, size_t offset, size_t size, struct err *err);

/* Is it 2? As the system says now. */
bool segment_is_promised(void);

/* The opposite: gives the whole pages in there back to the system, in whichever process they are
 * mapped; they read as zeros until they are touched again. Without the descriptor it does so with
 * private memory only. */
void segment_drop(const struct segment *segment, size_t offset, size_t size);

/* Unmaps and closes; a segment of zeros is fine if its fd is -1. */
void segment_close(struct segment *segment);

#endif
