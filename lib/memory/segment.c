/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory without a name:
 *   create: memfd, its size, seals, mapping.    adopt: check seals and size, mapping.
 * Fails when the kernel or a filter refuses the memfd, when a limit of the process forbids its size
 * (files, address space, descriptors), or when an adopted descriptor is not a sealed memfd of the
 * right size. */
#include "lib/memory/segment.h"

#include "lib/base/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* A system may demand that nothing in a memfd can be executed; older systems do not know the
 * flag. */
static int open_memory(void)
{
    struct standard_streams held;
    standard_streams_hold(&held);
    int fd = memfd_create("hvd", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("hvd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fd = standard_streams_lift(fd); /* the program writes there, be it closed or not */
    standard_streams_release(&held);
    return fd;
}

/* ftruncate() beyond this limit sends SIGXFSZ, which would end the program. */
static bool file_may_have(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           size <= limit.rlim_cur;
}

static int map(struct segment *segment, int fd, size_t size, struct err *err)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "map %zu bytes of shared memory", size);
    *segment = (struct segment){ fd, memory, size };
    return HVD_OK;
}

/* No fallocate(): it would allocate all pages now, when half of a segment may never be touched. Its
 * benefit, an error instead of SIGBUS, matters only where memory is not overcommitted
 * (segment_populate()); elsewhere a page that cannot be allocated ends a process as any other page
 * does. */
static int fill_segment(struct segment *segment, int fd, size_t size, struct err *err)
{
    if (ftruncate(fd, (off_t)size) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "%zu bytes of shared memory", size);
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "seal shared memory");
    return map(segment, fd, size, err);
}

int segment_create(struct segment *segment, size_t size, struct err *err)
{
    size_t page = page_size(), whole = size > 0 ? (size + page - 1) / page * page : page;
    *segment = (struct segment){ .fd = -1 };
    if (size > PTRDIFF_MAX - page || !file_may_have(whole))
        return fail(err, HVD_ERR_SYSTEM, "%zu bytes of shared memory are too many", size);
    int fd = open_memory();
    if (fd < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "create shared memory");
    int rc = fill_segment(segment, fd, whole, err);
    if (rc < 0)
        close(fd);
    return rc;
}

/* Only a memfd has these seals: for another file the kernel returns EINVAL, or seals that say it
 * can never be sealed. */
static int check_imported(int fd, size_t least, size_t most, size_t *size, struct err *err)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || (seals & F_SEAL_WRITE))
        return fail(err, HVD_ERR_PROTOCOL, "a descriptor that is no sealed shared memory");
    if (fstat(fd, &status) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "look at shared memory");
    *size = (size_t)status.st_size;
    if (*size < least || *size > most || *size == 0 || *size % page_size() != 0)
        return fail(err, HVD_ERR_PROTOCOL, "shared memory of %zu bytes, not %zu to %zu", *size,
                    least, most);
    return HVD_OK;
}

int segment_adopt(struct segment *segment, int fd, size_t least, size_t most, struct err *err)
{
    size_t size = 0;
    *segment = (struct segment){ .fd = -1 };
    int rc = check_imported(fd, least, most, &size, err);
    if (rc == HVD_OK)
        rc = map(segment, fd, size, err);
    if (rc == HVD_OK)
        madvise(segment->memory, size, MADV_DONTDUMP); /* the core dump of its maker has it */
    return rc;
}

/* For kernels without MADV_POPULATE_WRITE. Works in pieces: a signal undoes the piece that it
 * interrupts. */
static int allocate_pages(int fd, size_t offset, size_t size)
{
    enum { PIECE = 2 << 20 };
    for (size_t done = 0, piece; done < size; done += piece) {
        piece = size - done < PIECE ? size - done : PIECE;
        while (fallocate(fd, 0, (off_t)(offset + done), (off_t)piece) < 0)
            if (errno != EINTR)
                return errno;
    }
    return 0;
}

int segment_populate(const struct segment *segment, size_t offset, size_t size, struct err *err)
{
    size_t page = page_size(), first = offset / page * page;
    size_t end = (offset + size + page - 1) / page * page;
    if (size == 0 || madvise(segment->memory + first, end - first, MADV_POPULATE_WRITE) == 0)
        return HVD_OK;
    int error = errno == EINVAL ? allocate_pages(segment->fd, first, end - first) : errno;
    if (error == 0)
        return HVD_OK;
    return fail_errno(err, HVD_ERR_SYSTEM, error, "%zu bytes of shared memory", size);
}

bool segment_is_promised(void)
{
    char mode = '0';
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    bool is_promised = fd >= 0 && read(fd, &mode, 1) == 1 && mode == '2';
    if (fd >= 0)
        close(fd);
    return is_promised;
}

void segment_drop(const struct segment *segment, size_t offset, size_t size)
{
    size_t page = page_size(), first = (offset + page - 1) / page * page;
    size_t end = (offset + size) / page * page;
    if (first < end && segment->fd < 0)
        madvise(segment->memory + first, end - first, MADV_DONTNEED);
    else if (first < end)
        fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
                  (off_t)(end - first));
}

void segment_close(struct segment *segment)
{
    if (segment->memory)
        munmap(segment->memory, segment->size);
    if (segment->fd >= 0)
        close(segment->fd);
    *segment = (struct segment){ .fd = -1 };
}
