/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped segments of the other side; see shm_foreign.h. Their pages come into our page table when
 * they are touched: the kernel maps those around too, which is as fast as asking for all. */
#include "lib/link/shm_foreign.h"

#include <sys/mman.h>
#include <unistd.h>

static void unmap(struct shm_foreign *foreign, uint64_t slot)
{
    if (foreign->slots[slot].memory)
        munmap((void *)foreign->slots[slot].memory, foreign->slots[slot].size);
    foreign->slots[slot].memory = NULL;
    foreign->slots[slot].size = 0;
}

void shm_foreign_fini(struct shm_foreign *foreign)
{
    for (uint64_t slot = 0; slot < SHM_SLOTS; slot++)
        unmap(foreign, slot);
}

/* Nothing of ours writes there; and what a forked child holds on to, would never be free. */
static void keep(struct shm_foreign *foreign, uint64_t slot, struct segment *segment)
{
    mprotect(segment->memory, segment->size, PROT_READ);
    madvise(segment->memory, segment->size, MADV_DONTFORK);
    close(segment->fd);
    foreign->slots[slot].memory = segment->memory;
    foreign->slots[slot].size = segment->size;
}

static int check_slot(uint64_t slot, struct err *err)
{
    if (slot < SHM_SLOTS)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "shared memory: there is no slot %llu",
                (unsigned long long)slot);
}

int shm_foreign_map(struct shm_foreign *foreign, uint64_t slot, uint64_t size, int fd,
                    struct err *err)
{
    struct segment segment;
    int rc = check_slot(slot, err);
    if (rc == HVD_OK)
        unmap(foreign, slot);
    if (rc == HVD_OK && fd < 0)
        return fail(err, HVD_ERR_SYSTEM, "its descriptor did not come (too many open files here?)");
    if (rc == HVD_OK)
        rc = segment_adopt(&segment, fd, size, size, err);
    if (rc == HVD_OK)
        keep(foreign, slot, &segment);
    else if (fd >= 0)
        close(fd);
    return rc;
}

const unsigned char *shm_foreign_find(const struct shm_foreign *foreign, uint64_t slot, uint64_t at,
                                      uint64_t nbytes)
{
    if (slot >= SHM_SLOTS || nbytes == 0 || at > foreign->slots[slot].size ||
        nbytes > foreign->slots[slot].size - at)
        return NULL;
    return foreign->slots[slot].memory + at;
}
