/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped segments of the peer; see shm_imported.h. Their pages come into our page table when they
 * are touched: the kernel then maps the neighbouring pages too, which is as fast as mapping all at
 * once. */
#include "lib/link/shm_imported.h"

#include <sys/mman.h>
#include <unistd.h>

static void unmap(struct shm_imported *imported, uint64_t slot)
{
    if (imported->slots[slot].memory)
        munmap((void *)imported->slots[slot].memory, imported->slots[slot].size);
    imported->slots[slot].memory = NULL;
    imported->slots[slot].size = 0;
}

void shm_imported_fini(struct shm_imported *imported)
{
    for (uint64_t slot = 0; slot < SHM_SLOTS; slot++)
        unmap(imported, slot);
}

/* We never write to the segment; and if a forked child kept the mapping, its memory would never be
 * free. */
static void shm_imported_keep(struct shm_imported *imported, uint64_t slot, struct segment *segment)
{
    mprotect(segment->memory, segment->size, PROT_READ);
    madvise(segment->memory, segment->size, MADV_DONTFORK);
    close(segment->fd);
    imported->slots[slot].memory = segment->memory;
    imported->slots[slot].size = segment->size;
}

static int check_slot(uint64_t slot, struct err *err)
{
    if (slot < SHM_SLOTS)
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "shared memory: there is no slot %llu",
                (unsigned long long)slot);
}

int shm_imported_map(struct shm_imported *imported, uint64_t slot, uint64_t size, int fd,
                     struct err *err)
{
    struct segment segment;
    int rc = check_slot(slot, err);
    if (rc == HVD_OK)
        unmap(imported, slot);
    if (rc == HVD_OK && fd < 0)
        return fail(err, HVD_ERR_SYSTEM, "its descriptor did not come (too many open files here?)");
    if (rc == HVD_OK)
        rc = segment_adopt(&segment, fd, size, size, err);
    if (rc == HVD_OK)
        shm_imported_keep(imported, slot, &segment);
    else if (fd >= 0)
        close(fd);
    return rc;
}

const unsigned char *shm_imported_find(const struct shm_imported *imported, uint64_t slot,
                                       uint64_t at, uint64_t nbytes)
{
    if (slot >= SHM_SLOTS || nbytes == 0 || at > imported->slots[slot].size ||
        nbytes > imported->slots[slot].size - at)
        return NULL;
    return imported->slots[slot].memory + at;
}
