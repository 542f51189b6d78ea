/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory whose receiver has no descriptor, or no address space, for a segment of
 * the other side, or that cannot read its memory any more: it refuses that, and what lies there
 * comes all the same. */
#include "lib/link/link_shm_impl.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static struct err err;

/* ---- what the receiver lacks ---- */

static bool no_address_space;
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!no_address_space)
        return __real_mmap(at, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* So many pieces can still be read, then none; -1: all. */
static int readable_pieces = -1;
static int read_error;
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long nhere,
                                const struct iovec *there, unsigned long nthere,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long nhere,
                                const struct iovec *there, unsigned long nthere,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long nhere,
                                const struct iovec *there, unsigned long nthere,
                                unsigned long flags)
{
    if (readable_pieces == 0) {
        errno = read_error;
        return -1;
    }
    readable_pieces -= readable_pieces > 0;
    return __real_process_vm_readv(pid, here, nhere, there, nthere, flags);
}

static void limit_descriptors(rlim_t count)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = count;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static rlim_t used_descriptors(void)
{
    int next = dup(0);
    close(next);
    return (rlim_t)next;
}

static const struct lack {
    const char *name;
    bool readable; /* may the private memory of the other side be read? */
    bool descriptors, address_space;
} lacks[] = {
    { "no descriptor", false, true, false },
    { "no descriptor, but all memory can be read", true, true, false },
    { "no address space", false, false, true },
    { "no address space, but all memory can be read", true, false, true },
};

enum { LACKS = sizeof lacks / sizeof *lacks };

/* End 1 cannot map a segment while this lasts. */
static void begin_lack(const struct lack *lack)
{
    no_address_space = lack->address_space;
    if (lack->descriptors)
        limit_descriptors(used_descriptors());
}

static void end_lack(void)
{
    no_address_space = false;
    limit_descriptors(1024);
}

static void open_pair(const struct lack *lack)
{
    link_close(ends[0]);
    link_close(ends[1]);
    shm_pair_open(lack->readable);
}

/* ---- what comes of it ---- */

/* Sends by offers from end 0, and by copies where they are not taken. Returns how much was
 * offered. */
static uint64_t send_vector(const unsigned char *data, size_t size)
{
    uint64_t offered = 0, taken = link_taken(ends[0]);
    memset(space, 0, size);
    for (size_t sent = 0, got = 0; got < size;) {
        size_t piece = size - sent < OFFER ? size - sent : OFFER;
        ssize_t now = piece ? link_offer(ends[0], data + sent, piece, &err) : 0;
        ck_assert_int_ge(now, 0);
        offered += (uint64_t)now;
        if (now == 0 && piece > 0)
            now = shm_send_some(ends[0], data + sent, piece);
        ck_assert_int_ge(now, 0);
        sent += (size_t)now;
        now = link_try_receive(ends[1], space + got, size - got, &err);
        ck_assert_msg(now >= 0, "%s", err.text);
        got += (size_t)now;
    }
    ck_assert_mem_eq(space, data, size);
    ck_assert_uint_eq(link_taken(ends[0]), taken + offered);
    return offered;
}

START_TEST(what_lies_in_a_segment_that_was_refused_is_copied_or_read)
{
    const struct lack *lack = &lacks[_i];
    open_pair(lack);
    unsigned char *shared = shm_heap_vector(VECTOR);
    begin_lack(lack);
    uint64_t offered = send_vector(shared, VECTOR);
    end_lack();
    ck_assert_uint_eq(atomic_load(&link_shm_of(ends[1])->doorbell.own->refused), 1);
    if (link_shm_of(ends[1])->pid == 0)
        ck_assert_msg(offered == 0, "%s", lack->name);
    else
        ck_assert_msg(offered > 0 && offered < VECTOR, "%s", lack->name);
}
END_TEST

START_TEST(another_segment_is_mapped_as_soon_as_that_is_possible)
{
    const struct lack *lack = &lacks[_i];
    open_pair(lack);
    unsigned char *refused = shm_heap_vector(VECTOR), *shared = shm_heap_vector(VECTOR);
    begin_lack(lack);
    shm_export(refused, OFFER);
    end_lack();
    shm_export(shared, OFFER);
    ck_assert_uint_eq(send_vector(shared, VECTOR), VECTOR);
    ck_assert_uint_lt(send_vector(refused, VECTOR), VECTOR);
}
END_TEST

START_TEST(a_slot_whose_segment_was_refused_may_get_another)
{
    enum { SIZE = 64 * 1024 };
    const struct lack *lack = &lacks[_i];
    open_pair(lack);
    unsigned char *refused = shm_heap_vector(SIZE);
    begin_lack(lack);
    shm_export(refused, SIZE);
    end_lack();
    for (int i = 0; i < SHM_SLOTS; i++)
        ck_assert_uint_eq(send_vector(shm_exported_vector(SIZE), SIZE), SIZE);
    ck_assert_uint_eq(atomic_load(&link_shm_of(ends[1])->doorbell.own->refused), 0);
    shm_export(refused, SIZE);
    ck_assert_int_eq(link_offer(ends[0], refused, SIZE, &err), SIZE);
}
END_TEST

START_TEST(a_slot_that_was_mapped_may_be_refused)
{
    enum { SIZE = 64 * 1024 };
    const struct lack *lack = &lacks[_i];
    open_pair(lack);
    for (int i = 0; i < SHM_SLOTS; i++)
        shm_exported_vector(SIZE);
    unsigned char *refused = shm_heap_vector(SIZE);
    begin_lack(lack);
    uint64_t offered = send_vector(refused, SIZE);
    end_lack();
    ck_assert_uint_eq(offered, 0);
    ck_assert_uint_eq(send_vector(refused, SIZE), 0);
    ck_assert_ptr_null(link_shm_of(ends[1])->imported.slots[0].memory);
}
END_TEST

/* A side that does not keep to what it was told. */
START_TEST(an_offer_from_a_segment_that_was_refused_breaks_the_link)
{
    const struct lack *lack = &lacks[_i];
    struct shm_reference reference = { 0, OFFER, 0 };
    open_pair(lack);
    unsigned char *refused = shm_heap_vector(OFFER);
    begin_lack(lack);
    shm_export(refused, OFFER);
    end_lack();
    ck_assert_int_eq(shm_writer_refer(&link_shm_of(ends[0])->out, SHM_MAPPED, &reference, &err), 1);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), HVD_ERR_PROTOCOL);
}
END_TEST

/* ---- memory that cannot be read any more ---- */

static const struct {
    int pieces, error;
} ends_of_reading[] = { { 0, EPERM }, { 0, EFAULT }, { 1, EPERM }, { 3, EFAULT }, { 5, ENOMEM } };

enum { ENDS_OF_READING = sizeof ends_of_reading / sizeof *ends_of_reading };

static void end_reading(int which)
{
    readable_pieces = ends_of_reading[which].pieces;
    read_error = ends_of_reading[which].error;
}

START_TEST(what_cannot_be_read_any_more_is_copied)
{
    if (link_shm_of(ends[1])->pid == 0)
        return;
    end_reading(_i);
    uint64_t offered = send_vector(vector, VECTOR);
    ck_assert_uint_gt(offered, 0);
    ck_assert(link_shm_of(ends[1])->declines);
    ck_assert_uint_eq(send_vector(vector, VECTOR), 0);
    ck_assert_uint_eq(send_vector(shm_exported_vector(OFFER), OFFER), OFFER);
}
END_TEST

/* 7 offers, each with 10 bytes behind it, before anything of them is taken: by copies, or in
 * place. */
START_TEST(what_was_offered_before_keeps_its_place)
{
    enum { OFFERS = 7, SIZE = OFFER + 10, FROM = VECTOR - OFFERS * SIZE };
    bool in_place = _i >= ENDS_OF_READING;
    if (link_shm_of(ends[1])->pid == 0)
        return;
    link_shm_of(ends[0])->runs.at[0].start = (uintptr_t)vector;
    link_shm_of(ends[0])->runs.at[0].end = (uintptr_t)vector + VECTOR;
    for (int i = 0; i < OFFERS; i++) {
        const unsigned char *data = vector + FROM + i * SIZE;
        ck_assert_int_eq(link_offer(ends[0], data, OFFER, &err), OFFER);
        link_shm_of(ends[0])->runs.at[0].end = (uintptr_t)vector + VECTOR;
        ck_assert_int_eq(shm_send_some(ends[0], data + OFFER, 10), 10);
    }
    end_reading(_i % ENDS_OF_READING);
    for (size_t got = 0, nbytes; got < OFFERS * SIZE; link_taken(ends[0])) {
        const void *piece = in_place ? link_peek(ends[1], &nbytes) : NULL;
        if (piece) {
            memcpy(space + got, piece, nbytes = nbytes > 1000 ? nbytes / 2 : nbytes);
            ck_assert_int_eq(link_consume(ends[1], nbytes, &err), HVD_OK);
            got += nbytes;
            continue;
        }
        ssize_t now = link_try_receive(ends[1], space + got, OFFERS * SIZE - got, &err);
        ck_assert_msg(now >= 0, "%s", err.text);
        got += (size_t)now;
    }
    ck_assert_mem_eq(space, vector + FROM, OFFERS * SIZE);
    ck_assert_uint_eq(link_taken(ends[0]), OFFERS * OFFER);
}
END_TEST

/* One offer that cannot be read and for which the other side was asked. */
static void offer_and_ask(void)
{
    link_shm_of(ends[0])->runs.at[0].start = (uintptr_t)vector;
    link_shm_of(ends[0])->runs.at[0].end = (uintptr_t)vector + VECTOR;
    ck_assert_int_eq(link_offer(ends[0], vector + VECTOR - OFFER, OFFER, &err), OFFER);
    ck_assert(shm_may_sleep(ends[0], POLLOUT));
    end_reading(0);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), 0);
}

START_TEST(who_sleeps_is_woken_when_it_is_asked_and_when_it_is_answered)
{
    if (link_shm_of(ends[1])->pid == 0)
        return;
    offer_and_ask();
    ck_assert(shm_is_readable(ends[0]));
    ck_assert(!shm_may_sleep(ends[0], POLLOUT));
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    ck_assert_uint_eq(link_taken(ends[0]), 0);
    ck_assert(shm_is_readable(ends[1]));
    ck_assert(shm_may_sleep(ends[0], POLLOUT));
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), SHM_FILL);
    ck_assert_mem_eq(space, vector + VECTOR - OFFER, SHM_FILL);
}
END_TEST

START_TEST(who_was_asked_and_goes_is_not_waited_for)
{
    if (link_shm_of(ends[1])->pid == 0)
        return;
    offer_and_ask();
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), HVD_ERR_PEER_LOST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm_refusal");
    TCase *tcase = tcase_create("link_shm_refusal");
    tcase_add_checked_fixture(tcase, shm_setup, shm_teardown);
    tcase_add_loop_test(tcase, what_lies_in_a_segment_that_was_refused_is_copied_or_read, 0, LACKS);
    tcase_add_loop_test(tcase, another_segment_is_mapped_as_soon_as_that_is_possible, 0, LACKS);
    tcase_add_loop_test(tcase, a_slot_whose_segment_was_refused_may_get_another, 0, LACKS);
    tcase_add_loop_test(tcase, a_slot_that_was_mapped_may_be_refused, 0, LACKS);
    tcase_add_loop_test(tcase, an_offer_from_a_segment_that_was_refused_breaks_the_link, 0, LACKS);
    tcase_add_loop_test(tcase, what_cannot_be_read_any_more_is_copied, 0, 3);
    tcase_add_loop_test(tcase, what_was_offered_before_keeps_its_place, 0, 2 * ENDS_OF_READING);
    tcase_add_test(tcase, who_sleeps_is_woken_when_it_is_asked_and_when_it_is_answered);
    tcase_add_test(tcase, who_was_asked_and_goes_is_not_waited_for);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
