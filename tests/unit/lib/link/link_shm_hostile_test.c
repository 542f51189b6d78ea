/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory: a side that means harm is refused, whatever it writes there and sends
 * over the socket. */
#include "lib/link/link_shm_impl.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

static struct err err;

static void refer(enum shm_kind kind, uint64_t at, uint64_t nbytes, uint64_t slot)
{
    struct shm_reference reference = { at, nbytes, slot };
    ck_assert_int_eq(shm_writer_refer(&link_shm_of(ends[0])->out, kind, &reference, &err), 1);
}

static void refuses(int status)
{
    size_t nbytes;
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), status);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), status);
    ck_assert_int_eq(shm_send_some(ends[1], space, 1), status);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    ck_assert_int_eq(link_check(ends[1], &err), HVD_OK);
}

/* Slot 0 is a segment of 64 KiB. */
static const struct {
    uint64_t at, nbytes, slot;
} outside[] = {
    { 0, 65537, 0 },
    { 65536, 1, 0 },
    { 65535, 2, 0 },
    { UINT64_MAX, 2, 0 },
    { 2, UINT64_MAX, 0 },
    { 0, UINT64_MAX, 0 },
    { UINT64_MAX, UINT64_MAX, 0 },
    { 0, 0, 0 },
    { 0, 1, 1 },
    { 0, 1, SHM_SLOTS },
    { 0, 1, UINT64_MAX },
};

START_TEST(an_offer_outside_of_what_is_mapped_is_refused)
{
    shm_exported_vector(65536);
    refer(SHM_MAPPED, outside[_i].at, outside[_i].nbytes, outside[_i].slot);
    refuses(HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(private_memory_that_cannot_be_read_is_refused)
{
    link_shm_of(ends[1])->pid = 0;
    refer(SHM_PRIVATE, (uintptr_t)vector, 100, 0);
    refuses(HVD_ERR_PROTOCOL);
}
END_TEST

/* It is as good as memory that cannot be read: the other side is asked, and says nothing. */
START_TEST(who_offers_private_memory_that_is_none_is_waited_for_until_it_goes)
{
    if (link_shm_of(ends[1])->pid == 0)
        return;
    refer(SHM_PRIVATE, 16, 100, 0);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), 0);
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    link_close(ends[0]);
    ends[0] = NULL;
    refuses(HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(who_asks_for_what_was_not_offered_at_an_address_is_refused)
{
    ck_assert_int_eq(link_offer(ends[0], shm_exported_vector(65536), 65536, &err), 65536);
    atomic_store(&link_shm_of(ends[1])->doorbell.own->asked, 1);
    ck_assert_uint_eq(link_taken(ends[0]), 0);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(what_is_filled_unasked_is_not_looked_at)
{
    size_t nbytes;
    atomic_store(&link_shm_of(ends[0])->doorbell.own->filled, 7);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    ck_assert_int_eq(shm_send_some(ends[0], vector, 10), 10);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), 10);
}
END_TEST

static void pass(int fd)
{
    ck_assert(shm_doorbell_pass(&link_shm_of(ends[0])->doorbell, fd));
}

START_TEST(a_segment_that_is_not_what_was_said_is_refused)
{
    struct segment segment;
    int unsealed = memfd_create("test", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(unsealed, 65536), 0);
    ck_assert_int_eq(segment_create(&segment, 65536, &err), HVD_OK);
    pass(_i == 0 ? unsealed : segment.fd);
    static const uint64_t sizes[] = { 65536, 4096, 1 << 20, 65536 };
    static const uint64_t slots[] = { 0, 0, 0, SHM_SLOTS };
    refer(SHM_SEGMENT, 0, sizes[_i], slots[_i]);
    refuses(HVD_ERR_PROTOCOL);
    segment_close(&segment);
    close(unsealed);
}
END_TEST

START_TEST(who_offers_from_a_segment_that_never_came_is_refused)
{
    refer(SHM_SEGMENT, 0, 65536, _i ? 7 : SHM_SLOTS);
    if (_i)
        refer(SHM_MAPPED, 0, 65536, 7);
    refuses(HVD_ERR_PROTOCOL);
}
END_TEST

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

START_TEST(descriptors_that_nobody_wants_are_closed)
{
    int before = count_descriptors();
    for (int i = 0; i < 2 * SHM_PASSED_MAX; i++)
        pass(0);
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    for (int i = 0; i < 3; i++)
        link_try_receive(ends[1], space, 1, &err);
    ck_assert_int_le(count_descriptors(), before + SHM_PASSED_MAX);
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), HVD_ERR_PEER_LOST);
    link_close(ends[1]);
    ends[1] = NULL;
    ck_assert_int_eq(count_descriptors(), before - 1);
}
END_TEST

START_TEST(more_is_not_taken_than_was_offered)
{
    struct shm_side *liar = link_shm_of(ends[1])->doorbell.own;
    ck_assert_int_eq(link_offer(ends[0], shm_exported_vector(65536), 65536, &err), 65536);
    atomic_store(&liar->taken, 65537);
    ck_assert_uint_eq(link_taken(ends[0]), 0);
    atomic_store(&liar->taken, 10);
    ck_assert_uint_eq(link_taken(ends[0]), 10);
    atomic_store(&liar->taken, 9);
    ck_assert_uint_eq(link_taken(ends[0]), 10);
}
END_TEST

START_TEST(a_reader_that_lies_breaks_the_link)
{
    atomic_store(&link_shm_of(ends[1])->doorbell.own->read, 1000);
    for (int i = 0; i < SHM_ENTRIES; i++)
        ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(link_try_receive(ends[0], space, 1, &err), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(an_entry_that_cannot_be_breaks_the_link)
{
    atomic_store(&link_shm_of(ends[1])->in.ring->entries[0].word, 1);
    refuses(HVD_ERR_PROTOCOL);
}
END_TEST

/* With the bytes behind, to which the first class that does not exist would point. */
enum { COSTS_SIZE = sizeof(struct shm_side) - offsetof(struct shm_side, costs) };

/* Nobody checks the costs that a peer reports, since wrong ones only lose time. */
START_TEST(a_class_of_costs_that_does_not_exist_is_ignored)
{
    struct link_shm *shm = link_shm_of(ends[0]);
    struct parts parts = parts_begin(&(struct iovec){ vector, SHM_COST_LEAST }, 1);
    const struct shm_side_cost *costs = link_shm_of(ends[1])->doorbell.own->costs;
    unsigned char before[COSTS_SIZE];
    memcpy(before, costs, COSTS_SIZE);
    shm->out.cost_class = _i ? UINT8_MAX : SHM_COST_CLASSES;
    ck_assert_int_eq(shm_writer_put(&shm->out, &parts, &err), SHM_COST_LEAST);
    ck_assert_int_eq(link_try_receive(ends[1], space, SHM_COST_LEAST, &err), SHM_COST_LEAST);
    ck_assert_mem_eq(space, vector, SHM_COST_LEAST);
    if (link_shm_of(ends[1])->pid > 0) {
        refer(SHM_PRIVATE, (uintptr_t)vector, SHM_COST_LEAST, 0);
        ck_assert_int_eq(link_try_receive(ends[1], space, SHM_COST_LEAST, &err), SHM_COST_LEAST);
    }
    ck_assert_mem_eq(costs, before, COSTS_SIZE);
}
END_TEST

START_TEST(what_came_before_an_error_is_handed_out_first)
{
    ck_assert_int_eq(shm_send_some(ends[0], vector, 10), 10);
    refer(SHM_MAPPED, 0, 1, 0);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), 10);
    refuses(HVD_ERR_PROTOCOL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm_hostile");
    TCase *tcase = tcase_create("link_shm_hostile");
    tcase_add_checked_fixture(tcase, shm_setup, shm_teardown);
    tcase_add_loop_test(tcase, an_offer_outside_of_what_is_mapped_is_refused, 0,
                        sizeof outside / sizeof *outside);
    tcase_add_test(tcase, private_memory_that_cannot_be_read_is_refused);
    tcase_add_test(tcase, who_offers_private_memory_that_is_none_is_waited_for_until_it_goes);
    tcase_add_test(tcase, who_asks_for_what_was_not_offered_at_an_address_is_refused);
    tcase_add_test(tcase, what_is_filled_unasked_is_not_looked_at);
    tcase_add_loop_test(tcase, a_segment_that_is_not_what_was_said_is_refused, 0, 4);
    tcase_add_loop_test(tcase, who_offers_from_a_segment_that_never_came_is_refused, 0, 2);
    tcase_add_test(tcase, descriptors_that_nobody_wants_are_closed);
    tcase_add_test(tcase, more_is_not_taken_than_was_offered);
    tcase_add_test(tcase, a_reader_that_lies_breaks_the_link);
    tcase_add_test(tcase, an_entry_that_cannot_be_breaks_the_link);
    tcase_add_loop_test(tcase, a_class_of_costs_that_does_not_exist_is_ignored, 0, 2);
    tcase_add_test(tcase, what_came_before_an_error_is_handed_out_first);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
