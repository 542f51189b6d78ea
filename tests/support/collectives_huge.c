/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of 2^BITS + 1 elements of a byte, in place: numbers of elements and bytes that no
 * int32_t, or no uint32_t, can hold. They take little memory: the same pages lie behind most of a
 * tensor, again and again. An allreduce leaves anything there; what it must get right is in pages
 * of their own, in front, where the tensor is cut between two ranks, and around its last
 * element. */
#include "tests/support/collectives.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A period that no power of two is a multiple of: what comes out displaced is seen. */
enum { PAGE = 65536, PERIOD = 33 * PAGE, WINDOW = 2 * PAGE, WINDOWS = 3 };

struct huge {
    unsigned char *data;
    size_t count, windows[WINDOWS]; /* where each begins */
};

static void map(void *at, size_t nbytes, int fd)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *mapped = mmap(at, nbytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    require(mapped == at, "mmap of %zu bytes", nbytes);
}

static void make(struct huge *huge, int bits)
{
    size_t threshold = (size_t)1 << bits, nbytes = threshold + PAGE;
    *huge = (struct huge){ .count = threshold + 1,
                           .windows = { 0, threshold / 2 - PAGE, threshold - PAGE } };
    void *room = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int fd = memfd_create("period", MFD_CLOEXEC);
    require(room != MAP_FAILED && fd >= 0 && ftruncate(fd, PERIOD) == 0, "room for 2^%d", bits);
    huge->data = room;
    for (size_t at = 0; at < nbytes; at += PERIOD)
        map(huge->data + at, nbytes - at < PERIOD ? nbytes - at : PERIOD, fd);
    for (int i = 0; i < WINDOWS; i++)
        map(huge->data + huge->windows[i], WINDOW, -1);
    close(fd);
}

/* The value of a rank at a place; the sum of two values fits in an int8_t. */
static unsigned char mark(size_t at, int rank)
{
    return (unsigned char)((at % PERIOD * 7 + at / PERIOD + (size_t)rank * 5) % 61);
}

static size_t window_end(const struct huge *huge, int i)
{
    size_t end = huge->windows[i] + WINDOW;
    return end < huge->count ? end : huge->count;
}

static void fill_windows(struct huge *huge, bool marked)
{
    for (int i = 0; i < WINDOWS; i++)
        for (size_t at = huge->windows[i]; at < window_end(huge, i); at++)
            huge->data[at] = marked ? mark(at, my_rank) : 0;
}

/* Every element in them is the sum of what ranks `first` to `last` had. */
static void check_windows(const struct huge *huge, int first, int last, const char *what)
{
    for (int i = 0; i < WINDOWS; i++)
        for (size_t at = huge->windows[i]; at < window_end(huge, i); at++) {
            int expected = 0;
            for (int rank = first; rank <= last; rank++)
                expected += mark(at, rank);
            require(huge->data[at] == expected, "%s of %zu elements: element %zu is %d, not %d",
                    what, huge->count, at, huge->data[at], expected);
        }
}

static void check_allreduce(struct huge *huge, enum hvd_dtype dtype)
{
    const char *what = type_name(dtype);
    fill_windows(huge, true);
    int rc = hvd_allreduce(what, huge->data, huge->data, huge->count, dtype, HVD_SUM);
    require(rc == HVD_OK, "an allreduce of %zu %s", huge->count, what);
    check_windows(huge, 0, world_size - 1, what);
}

/* Behind the first window the whole period lies once. */
static void check_broadcast(struct huge *huge)
{
    int root = world_size - 1;
    fill_windows(huge, my_rank == root);
    for (size_t at = WINDOW; at < WINDOW + PERIOD; at++)
        huge->data[at] = my_rank == root ? mark(at % PERIOD, root) : 0;
    int rc = hvd_broadcast("broadcast", huge->data, huge->count, HVD_UINT8, root);
    require(rc == HVD_OK, "a broadcast of %zu bytes", huge->count);
    check_windows(huge, root, root, "broadcast");
    for (size_t at = WINDOW; at < WINDOW + PERIOD; at++)
        require(huge->data[at] == mark(at % PERIOD, root), "broadcast of %zu bytes: byte %zu is %d",
                huge->count, at, huge->data[at]);
}

void test_huge(int argc, char **argv)
{
    struct huge huge;
    int bits = argc > 0 ? atoi(argv[0]) : 31;
    require(bits >= 24 && bits <= 40, "'%d' bits", bits);
    join_world();
    make(&huge, bits);
    check_allreduce(&huge, HVD_UINT8);
    check_allreduce(&huge, HVD_INT8);
    check_broadcast(&huge);
}
