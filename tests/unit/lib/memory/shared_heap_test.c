/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that others may read where it lies: what is found of it, how few segments it takes, that
 * it goes back to the system, threads, forked children, and what happens where there is none.
 * Linked with -Wl,--wrap=memfd_create,--wrap=mmap,--wrap=madvise,--wrap=fallocate. */
#include "lib/hvd.h"
#include "lib/memory/shared_heap.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

int __real_memfd_create(const char *name, unsigned int flags);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_madvise(void *memory, size_t size, int advice);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __wrap_memfd_create(const char *name, unsigned int flags);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_madvise(void *memory, size_t size, int advice);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);

static bool is_refused;      /* memfd_create() */
static bool is_refused_once; /* the next */
static bool is_old;          /* madvise() for fork() */
static atomic_int countdown; /* to the mapping that fails; 0 when none does */
static atomic_int mappings;
static atomic_int holes; /* punched into segments */

int __wrap_memfd_create(const char *name, unsigned int flags)
{
    bool refuse = is_refused || is_refused_once;
    is_refused_once = false;
    if (!refuse)
        return __real_memfd_create(name, flags);
    errno = EPERM;
    return -1;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    mappings++;
    if (countdown == 0 || --countdown > 0)
        return __real_mmap(at, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __wrap_madvise(void *memory, size_t size, int advice)
{
    if (!is_old || advice != MADV_WIPEONFORK)
        return __real_madvise(memory, size, advice);
    errno = EINVAL;
    return -1;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
    holes += (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    return __real_fallocate(fd, mode, offset, size);
}

static unsigned char *get(size_t nbytes)
{
    unsigned char *memory = shared_heap_alloc(nbytes);
    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq((uintptr_t)memory % 64, 0);
    return memory;
}

static struct shared_place shared_place_at(const void *memory, size_t nbytes)
{
    struct shared_place place;
    ck_assert(shared_heap_find(memory, nbytes, &place));
    ck_assert_uint_ge(place.segment, 1);
    ck_assert_uint_le(place.offset + nbytes, place.size);
    return place;
}

static bool is_shared(const void *memory, size_t nbytes)
{
    struct shared_place place;
    return shared_heap_find(memory, nbytes, &place);
}

/* Bytes of a segment that lie in memory. */
static size_t resident(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return (size_t)status.st_blocks * 512;
}

START_TEST(nothing_is_found_before_anything_is_allocated)
{
    int variable = 0;
    ck_assert(!is_shared(&variable, sizeof variable));
    ck_assert(!is_shared(NULL, 0));
    shared_heap_free(NULL);
}
END_TEST

START_TEST(what_is_allocated_is_found_and_the_descriptor_shows_the_same_bytes)
{
    static const size_t sizes[] = { 0, 1, 64, 4095, 4096, 100000, 8 * MIB, 8 * MIB + 1, 100 * MIB };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = get(sizes[i]);
        struct shared_place place = shared_place_at(memory, sizes[i]);
        char seen;
        if (sizes[i] > 0) {
            memory[sizes[i] - 1] = (unsigned char)(i + 1);
            off_t last = (off_t)(place.offset + sizes[i] - 1);
            ck_assert_int_eq(pread(place.fd, &seen, 1, last), 1);
            ck_assert_int_eq(seen, (char)(i + 1));
            ck_assert(is_shared(memory + sizes[i] - 1, 1));
            ck_assert_uint_eq(shared_place_at(memory + sizes[i] / 2, 0).offset,
                              place.offset + sizes[i] / 2);
        }
        ck_assert(!is_shared(memory, place.size - place.offset + 1));
        ck_assert(!is_shared(memory, SIZE_MAX));
        shared_heap_free(memory);
    }
}
END_TEST

START_TEST(no_two_allocations_overlap)
{
    enum { COUNT = 300 };
    static unsigned char *pieces[COUNT];
    static size_t sizes[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            if (!pieces[i]) {
                sizes[i] = (size_t)(i * i * 7 % 50000) + (i % 50 == 0 ? 9 * MIB : 0);
                pieces[i] = get(sizes[i]);
                memset(pieces[i], i % 251, sizes[i]);
            }
        for (int i = 0; i < COUNT; i++)
            for (size_t k = 0; k < sizes[i]; k += 61)
                if (pieces[i][k] != i % 251)
                    ck_abort_msg("piece %d has changed", i);
        for (int i = round; i < COUNT; i += 2) {
            shared_heap_free(pieces[i]);
            pieces[i] = NULL;
        }
    }
}
END_TEST

START_TEST(hundreds_of_small_tensors_take_one_segment)
{
    uint64_t segment = shared_place_at(get(1000), 1000).segment;
    for (int i = 0; i < 600; i++)
        ck_assert_uint_eq(shared_place_at(get(1000), 1000).segment, segment);
}
END_TEST

/* 32 GiB that nobody touches; the number of segments is the greatest of their numbers. */
START_TEST(thousands_of_large_ones_take_some_dozen_segments)
{
    uint64_t last = 0;
    for (int i = 0; i < 2048; i++) {
        uint64_t segment = shared_place_at(get(16 * MIB), 16 * MIB).segment;
        last = segment > last ? segment : last;
    }
    ck_assert_uint_le(last, 100);
}
END_TEST

START_TEST(tens_of_thousands_of_small_ones_can_be_had_and_given_back)
{
    enum { COUNT = 30000 };
    static unsigned char *pieces[COUNT];
    for (int i = 0; i < COUNT; i++)
        pieces[i] = get(64);
    for (int i = 0; i < COUNT; i++)
        ck_assert(is_shared(pieces[i], 64));
    for (int i = 0; i < COUNT; i++)
        shared_heap_free(pieces[i]);
    ck_assert_ptr_nonnull(get(64));
}
END_TEST

START_TEST(what_is_freed_is_used_again)
{
    static const size_t sizes[] = { 100, 1 * MIB, 20 * MIB };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = get(sizes[i]);
        uint64_t segment = shared_place_at(memory, sizes[i]).segment;
        memory[0] = 1;
        shared_heap_free(memory);
        ck_assert_ptr_eq(get(sizes[i]), memory);
        ck_assert_uint_eq(shared_place_at(memory, sizes[i]).segment, segment);
    }
}
END_TEST

START_TEST(freed_pages_go_back_to_the_system_although_others_have_them_mapped)
{
    enum { COUNT = 20, SIZE = 5 * MIB };
    unsigned char *pieces[COUNT];
    int fds[COUNT];
    size_t left = 0;
    for (int i = 0; i < COUNT; i++) {
        pieces[i] = get(SIZE);
        memset(pieces[i], 1, SIZE);
        struct shared_place place = shared_place_at(pieces[i], SIZE);
        int seen = i > 0 && place.segment == shared_place_at(pieces[i - 1], SIZE).segment;
        fds[i] = seen ? -1 : dup(place.fd);
    }
    for (int i = 0; i < COUNT; i++)
        shared_heap_free(pieces[i]);
    for (int i = 0; i < COUNT; i++)
        left += fds[i] >= 0 ? resident(fds[i]) : 0;
    ck_assert_uint_le(left, 64 * MIB);
}
END_TEST

START_TEST(what_is_freed_and_used_again_keeps_its_pages)
{
    static const size_t sizes[] = { 1 * MIB, 60 * MIB };
    get(5000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int round = 0; round < 200; round++) {
            unsigned char *memory = get(sizes[i]);
            memory[0] = 1;
            shared_heap_free(memory);
        }
    ck_assert_int_eq(holes, 0);
}
END_TEST

/* What is kept may lie in any of the two. */
START_TEST(no_more_goes_back_than_is_too_much)
{
    enum { COUNT = 100, KEPT_LEAST = 48 };
    unsigned char *pieces[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            memset(pieces[i] = get(MIB / 2), 1, MIB / 2);
        unsigned char *large = get(40 * MIB);
        memset(large, 1, 40 * MIB);
        int fds[] = { shared_place_at(pieces[0], 1).fd, shared_place_at(large, 1).fd };
        ck_assert_int_eq(shared_place_at(pieces[COUNT - 1], 1).fd, fds[0]);
        shared_heap_free(large);
        for (int i = 0; i < COUNT; i++)
            shared_heap_free(pieces[i]);
        ck_assert_uint_ge(resident(fds[0]) + resident(fds[1]), KEPT_LEAST * MIB);
        ck_assert_uint_le(resident(fds[0]) + resident(fds[1]), 64 * MIB);
    }
}
END_TEST

START_TEST(many_small_ones_that_are_too_much_go_back_in_few_pieces)
{
    enum { COUNT = 3000 };
    static unsigned char *pieces[COUNT];
    unsigned char *large = get(63 * MIB);
    for (int i = 0; i < COUNT; i++)
        memset(pieces[i] = get(8 * KIB), 1, 8 * KIB);
    shared_heap_free(large);
    for (int i = 0; i < COUNT; i++)
        shared_heap_free(pieces[i]);
    ck_assert_int_gt(holes, 0);
    ck_assert_int_le(holes, COUNT / 100);
}
END_TEST

/* What all segments have in which one of these lies, which are in order. */
static size_t resident_of(unsigned char *const *pieces, int count)
{
    size_t sum = 0;
    int last = -1;
    for (int i = 0; i < count; i++) {
        int fd = shared_place_at(pieces[i], 1).fd;
        sum += fd != last ? resident(fd) : 0;
        last = fd;
    }
    return sum;
}

/* Every second one first: a page is all free when its last piece is. Of some pages a half is kept,
 * which makes a little more than 64 MiB. */
START_TEST(small_ones_give_pages_back_in_whichever_order_they_are_freed)
{
    enum { COUNT = 12000, SIZE = 2048 };
    static unsigned char *pieces[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        memset(pieces[i] = get(SIZE), 1, SIZE);
    memset(pieces[COUNT] = get(63 * MIB), 1, 63 * MIB);
    shared_heap_free(pieces[COUNT]);
    for (int first = 0; first < 2; first++)
        for (int i = first; i < COUNT; i += 2)
            shared_heap_free(pieces[i]);
    ck_assert_uint_le(resident_of(pieces, COUNT + 1), 72 * MIB);
}
END_TEST

START_TEST(a_large_one_that_is_freed_gives_pages_back_and_its_segment_serves_the_next)
{
    unsigned char *memory = get(100 * MIB);
    struct shared_place place = shared_place_at(memory, 100 * MIB);
    for (int round = 0; round < 3; round++) {
        memset(memory, 1, 100 * MIB);
        shared_heap_free(memory);
        ck_assert_uint_le(resident(place.fd), 64 * MIB);
        memory = get(90 * MIB);
        ck_assert_uint_eq(shared_place_at(memory, 90 * MIB).segment, place.segment);
    }
}
END_TEST

/* How many are kept for the next is an end, too: here sixteen of other sizes follow. */
START_TEST(a_large_one_that_nobody_wants_again_is_gone_and_its_number_never_comes_back)
{
    enum { COUNT = 16 };
    unsigned char *memory = get(100 * MIB), *others[COUNT];
    struct shared_place place = shared_place_at(memory, 100 * MIB);
    uint64_t last = 0;
    int fd = dup(place.fd);
    memset(memory, 1, 100 * MIB);
    shared_heap_free(memory);
    for (size_t i = 0; i < COUNT; i++)
        last = shared_place_at(others[i] = get((200 + i) * MIB), 1).segment;
    for (size_t i = 0; i < COUNT; i++)
        shared_heap_free(others[i]);
    ck_assert(!is_shared(memory, 1));
    ck_assert_uint_eq(resident(fd), 0);
    close(fd);
    ck_assert_uint_gt(shared_place_at(get(100 * MIB), 1).segment, last);
}
END_TEST

START_TEST(what_is_free_makes_room_for_what_cannot_be_had_otherwise)
{
    unsigned char *memory = get(100 * MIB);
    shared_heap_free(memory);
    is_refused_once = true;
    unsigned char *larger = get(200 * MIB);
    ck_assert(is_shared(larger, 200 * MIB));
    ck_assert(!is_shared(memory, 1) || (memory >= larger && memory < larger + 200 * MIB));
}
END_TEST

START_TEST(pages_of_private_memory_go_back_as_well)
{
    unsigned char *memory, present[1];
    is_refused = true;
    memory = get(100 * MIB);
    memset(memory, 1, 100 * MIB);
    shared_heap_free(memory);
    ck_assert_int_eq(mincore(memory + 99 * MIB, 4096, present), -1);
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(too_much_is_no_memory)
{
    ck_assert_ptr_null(shared_heap_alloc(SIZE_MAX));
    ck_assert_ptr_null(shared_heap_alloc(SIZE_MAX / 2));
    ck_assert_ptr_null(shared_heap_alloc((size_t)1 << 60));
    ck_assert_ptr_nonnull(get(1));
    ck_assert_ptr_null(hvd_alloc((size_t)1 << 60));
    ck_assert_str_eq(hvd_last_error(), "allocate 1152921504606846976 bytes: out of memory");
}
END_TEST

START_TEST(the_public_calls_use_this_heap)
{
    float *tensor = hvd_alloc(1000 * sizeof *tensor);
    ck_assert_ptr_nonnull(tensor);
    ck_assert(is_shared(tensor, 1000 * sizeof *tensor));
    hvd_free(tensor);
    hvd_free(NULL);
}
END_TEST

START_TEST(where_no_segment_can_be_had_memory_is_private)
{
    static const size_t sizes[] = { 0, 1, 5000, 1 * MIB, 20 * MIB };
    is_refused = true;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            unsigned char *memory = get(sizes[i]);
            memset(memory, 1, sizes[i]);
            ck_assert(!is_shared(memory, sizes[i]));
            shared_heap_free(memory);
        }
    unsigned char *private = get(100), *large = get(20 * MIB);
    is_refused = false;
    unsigned char *shared = get(20 * MIB);
    ck_assert(is_shared(shared, 20 * MIB));
    shared_heap_free(private);
    shared_heap_free(large);
    shared_heap_free(shared);
}
END_TEST

START_TEST(where_the_kernel_is_old_memory_is_private)
{
    is_old = true;
    for (int i = 0; i < 2; i++) {
        unsigned char *memory = get(5000);
        memset(memory, 1, 5000);
        ck_assert(!is_shared(memory, 5000));
        shared_heap_free(memory);
    }
}
END_TEST

/* Small and large, kept and given back. */
static bool use_heap(void)
{
    unsigned char *small = shared_heap_alloc(100), *large = shared_heap_alloc(70 * MIB);
    if (small)
        memset(small, 1, 100);
    if (large)
        large[70 * MIB - 1] = 1;
    bool complete = small && large;
    shared_heap_free(large);
    shared_heap_free(small);
    return complete;
}

/* In a process each: a heap is made once. Returns the mappings it took. */
static int use_heap_with_failure(int nth)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        countdown = nth;
        use_heap();
        countdown = 0;
        _exit(use_heap() ? mappings : 100);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_lt(WEXITSTATUS(status), 100);
    return WEXITSTATUS(status);
}

START_TEST(when_a_mapping_fails_the_next_request_is_served)
{
    int count = use_heap_with_failure(0);
    ck_assert_int_ge(count, 4);
    for (int nth = 1; nth <= count; nth++)
        use_heap_with_failure(nth);
}
END_TEST

START_TEST(a_mapping_that_fails_leaves_nothing_behind)
{
    use_heap();
    unsigned char *small = get(100);
    int next = dup(0);
    close(next);
    for (int nth = 1; nth <= 3; nth++) {
        countdown = nth;
        unsigned char *memory = shared_heap_alloc(70 * MIB);
        countdown = 0;
        shared_heap_free(memory);
    }
    ck_assert_int_eq(dup(0), next);
    shared_heap_free(small);
}
END_TEST

static int wait_for(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In a child: its exit status says what is wrong, 0 nothing. */
static int look_around(unsigned char *small, unsigned char *large)
{
    if (is_shared(small, 1) || is_shared(large, 1))
        return 1;
    if (small[0] != 's' || large[20 * MIB - 1] != 'l')
        return 2;
    shared_heap_free(small);
    shared_heap_free(large);
    if (small[0] != 's' || large[20 * MIB - 1] != 'l')
        return 3;
    unsigned char *own = shared_heap_alloc(100);
    if (!own || own == small || !is_shared(own, 100))
        return 4;
    memset(own, 'c', 100);
    shared_heap_free(own);
    return small[0] == 's' ? 0 : 5;
}

START_TEST(a_forked_child_has_an_empty_heap_and_still_reads_its_parents)
{
    unsigned char *small = get(100), *large = get(20 * MIB);
    small[0] = 's';
    large[20 * MIB - 1] = 'l';
    pid_t child = fork();
    if (child == 0)
        _exit(look_around(small, large));
    ck_assert_int_eq(wait_for(child), 0);
    ck_assert_int_eq(small[0], 's');
    ck_assert(is_shared(small, 100));
    shared_heap_free(small);
    shared_heap_free(large);
}
END_TEST

/* Ends a child at once: a thread checker would complain of threads that only its parent has. */
static void leave(int status)
{
    syscall(SYS_exit_group, status);
}

static atomic_bool is_over;

/* Keeps the heap busy; what it holds is its own, and found. */
static void *churn(void *arg)
{
    enum { HELD = 16 };
    unsigned char *held[HELD] = { 0 };
    size_t sizes[HELD] = { 0 };
    unsigned int state = *(unsigned int *)arg;
    for (int i = 0; i < 500; i++) {
        int k = (int)((state = state * 1664525 + 1013904223) >> 16) % HELD;
        if (held[k] && (!is_shared(held[k], sizes[k]) || held[k][sizes[k] - 1] != k))
            return "not found, or changed";
        shared_heap_free(held[k]);
        sizes[k] = i % 40 == 0 ? 9 * MIB + state % MIB : 1 + state % 20000;
        if (!(held[k] = shared_heap_alloc(sizes[k])))
            return "no memory";
        held[k][sizes[k] - 1] = (unsigned char)k;
    }
    for (int k = 0; k < HELD; k++)
        shared_heap_free(held[k]);
    return NULL;
}

/* Looks at one that stays, whatever the others do. */
static void *look(void *arg)
{
    struct shared_place first = shared_place_at(arg, 100);
    while (!is_over) {
        struct shared_place place;
        if (!shared_heap_find(arg, 100, &place) || place.segment != first.segment ||
            place.fd != first.fd || place.offset != first.offset || place.size != first.size)
            return "found elsewhere";
    }
    return NULL;
}

START_TEST(threads_allocate_and_find_at_the_same_time)
{
    enum { THREADS = 3 };
    unsigned int seeds[THREADS] = { 1, 2, 3 };
    pthread_t threads[THREADS], looking;
    void *wrong;
    unsigned char *stays = get(20 * MIB);
    ck_assert_int_eq(pthread_create(&looking, NULL, look, stays), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &seeds[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &wrong);
        ck_assert_msg(!wrong, "%s", (char *)wrong);
    }
    is_over = true;
    pthread_join(looking, &wrong);
    ck_assert_msg(!wrong, "%s", (char *)wrong);
}
END_TEST

START_TEST(a_child_forked_while_threads_use_the_heap_can_use_its_own)
{
    unsigned int seed = 4;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, churn, &seed), 0);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0)
            leave(use_heap() ? 0 : 1);
        ck_assert_int_eq(wait_for(child), 0);
    }
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shared_heap");
    TCase *tcase = tcase_create("shared_heap");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, nothing_is_found_before_anything_is_allocated);
    tcase_add_test(tcase, what_is_allocated_is_found_and_the_descriptor_shows_the_same_bytes);
    tcase_add_test(tcase, no_two_allocations_overlap);
    tcase_add_test(tcase, hundreds_of_small_tensors_take_one_segment);
    tcase_add_test(tcase, thousands_of_large_ones_take_some_dozen_segments);
    tcase_add_test(tcase, tens_of_thousands_of_small_ones_can_be_had_and_given_back);
    tcase_add_test(tcase, what_is_freed_is_used_again);
    tcase_add_test(tcase, freed_pages_go_back_to_the_system_although_others_have_them_mapped);
    tcase_add_test(tcase, what_is_freed_and_used_again_keeps_its_pages);
    tcase_add_test(tcase, no_more_goes_back_than_is_too_much);
    tcase_add_test(tcase, many_small_ones_that_are_too_much_go_back_in_few_pieces);
    tcase_add_test(tcase, small_ones_give_pages_back_in_whichever_order_they_are_freed);
    tcase_add_test(tcase,
                   a_large_one_that_is_freed_gives_pages_back_and_its_segment_serves_the_next);
    tcase_add_test(tcase,
                   a_large_one_that_nobody_wants_again_is_gone_and_its_number_never_comes_back);
    tcase_add_test(tcase, what_is_free_makes_room_for_what_cannot_be_had_otherwise);
    tcase_add_test(tcase, pages_of_private_memory_go_back_as_well);
    tcase_add_test(tcase, too_much_is_no_memory);
    tcase_add_test(tcase, the_public_calls_use_this_heap);
    tcase_add_test(tcase, where_no_segment_can_be_had_memory_is_private);
    tcase_add_test(tcase, where_the_kernel_is_old_memory_is_private);
    tcase_add_test(tcase, when_a_mapping_fails_the_next_request_is_served);
    tcase_add_test(tcase, a_mapping_that_fails_leaves_nothing_behind);
    tcase_add_test(tcase, a_forked_child_has_an_empty_heap_and_still_reads_its_parents);
    tcase_add_test(tcase, threads_allocate_and_find_at_the_same_time);
    tcase_add_test(tcase, a_child_forked_while_threads_use_the_heap_can_use_its_own);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
