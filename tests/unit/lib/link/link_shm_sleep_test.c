/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory: who sleeps, who is woken, and the end of either side. Linked with
 * -Wl,--wrap=send. */
#include "lib/link/link_shm_impl.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct err err;

/* What the kernel says to who rings a doorbell; 0: it is rung. */
static int refusal;
ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (refusal == 0)
        return __real_send(fd, data, size, flags);
    errno = refusal;
    return -1;
}

/* ---- sleeping ---- */

START_TEST(who_sleeps_is_woken_by_bytes)
{
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    ck_assert(!shm_is_readable(ends[1]));
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    ck_assert(shm_is_readable(ends[1]));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 1);
    ck_assert(!shm_is_readable(ends[1]));
}
END_TEST

START_TEST(who_does_not_sleep_is_not_rung_for)
{
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    ck_assert(!shm_is_readable(ends[1]));
    ck_assert(shm_may_sleep(ends[0], POLLOUT) == false);
    ck_assert(shm_may_sleep(ends[0], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 1);
    ck_assert(!shm_is_readable(ends[0]));
}
END_TEST

START_TEST(who_sleeps_is_rung_for_once)
{
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    char bytes[4];
    ck_assert_int_eq(recv(link_pollable(ends[1]), bytes, sizeof bytes, MSG_DONTWAIT), 1);
}
END_TEST

START_TEST(nobody_sleeps_while_something_is_there)
{
    ck_assert_int_eq(shm_send_some(ends[0], vector, 2), 2);
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 1);
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert(!shm_may_sleep(ends[1], POLLIN | POLLOUT));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 1);
    ck_assert(shm_may_sleep(ends[1], POLLIN));
}
END_TEST

START_TEST(who_waits_for_room_is_woken_when_much_was_read)
{
    while (shm_send_some(ends[0], vector, 100000) > 0)
        ;
    ck_assert(shm_may_sleep(ends[0], POLLOUT));
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), 100);
    ck_assert(!shm_is_readable(ends[0]));
    while (link_try_receive(ends[1], space, 100000, &err) > 0)
        ;
    ck_assert(shm_is_readable(ends[0]));
    ck_assert_int_gt(shm_send_some(ends[0], vector, 100000), 0);
    ck_assert(!shm_is_readable(ends[0]));
}
END_TEST

START_TEST(a_reader_that_sleeps_has_told_how_far_it_is)
{
    while (shm_send_some(ends[0], vector, 1) > 0)
        ;
    ck_assert_int_eq(link_try_receive(ends[1], space, 3, &err), 3);
    ck_assert(shm_may_sleep(ends[0], POLLOUT));
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert(shm_is_readable(ends[0]));
    ck_assert_int_eq(shm_send_some(ends[0], vector, 100), 100);
}
END_TEST

START_TEST(who_waits_for_what_was_offered_is_woken_when_it_was_taken)
{
    ck_assert_int_eq(link_offer(ends[0], shm_exported_vector(OFFER), OFFER, &err), OFFER);
    ck_assert(shm_may_sleep(ends[0], POLLOUT));
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), OFFER);
    ck_assert(shm_is_readable(ends[0]));
    ck_assert(!shm_may_sleep(ends[0], POLLOUT));
    ck_assert_uint_eq(link_taken(ends[0]), OFFER);
}
END_TEST

/* Bytes that nobody has asked for, and that came too late: poll() must not return for them for
 * ever. */
START_TEST(bytes_that_woke_nobody_wake_once)
{
    for (int i = 0; i < 2; i++) {
        ck_assert(shm_may_sleep(ends[1], POLLIN));
        ck_assert_int_eq(send(link_pollable(ends[0]), "www", 3, 0), 3);
        ck_assert(shm_is_readable(ends[1]));
        if (i == 0)
            ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 0);
        ck_assert(shm_may_sleep(ends[1], POLLIN));
        ck_assert(!shm_is_readable(ends[1]));
    }
}
END_TEST

START_TEST(a_doorbell_that_is_full_rings_all_the_same)
{
    char bytes[4096] = "";
    while (send(link_pollable(ends[0]), bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    link_shm_of(ends[1])->doorbell.asleep = true;
    atomic_store(&link_shm_of(ends[1])->doorbell.own->waits, SHM_WAITS_FOR_ENTRIES);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    ck_assert(shm_is_readable(ends[1]));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), 1);
}
END_TEST

/* ---- the end ---- */

START_TEST(what_was_sent_before_the_end_arrives)
{
    unsigned char *shared = shm_exported_vector(OFFER);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 100), 100);
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), OFFER);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER + 100, &err), OFFER + 100);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 7), 7);
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert(!shm_may_sleep(ends[1], POLLIN));
    ck_assert_int_eq(link_check(ends[1], &err), HVD_OK);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), 8);
    ck_assert_int_eq(link_try_receive(ends[1], space, 100, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "closed by the other side");
}
END_TEST

START_TEST(who_sleeps_is_woken_by_the_end)
{
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert(shm_is_readable(ends[1]));
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(what_is_sent_to_the_end_is_lost_until_all_was_read)
{
    size_t nbytes;
    ck_assert_int_eq(shm_send_some(ends[0], vector, 7), 7);
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert_int_eq(shm_send_some(ends[1], vector, 7), 7);
    ck_assert_int_eq(link_offer(ends[1], shm_heap_vector(OFFER), OFFER, &err), 0);
    ck_assert_int_eq(link_try_receive(ends[1], space, 7, &err), 7);
    ck_assert_int_eq(shm_send_some(ends[1], vector, 7), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(link_offer(ends[1], vector, OFFER, &err), 0);
    ck_assert_int_eq(link_try_receive(ends[1], space, 7, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "closed by the other side");
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
}
END_TEST

START_TEST(who_has_no_room_at_the_end_does_not_wait)
{
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), 1);
    while (shm_send_some(ends[1], vector, 100000) > 0)
        ;
    ck_assert(shm_may_sleep(ends[1], POLLOUT));
    link_close(ends[0]);
    ends[0] = NULL;
    ck_assert(shm_is_readable(ends[1]));
    ck_assert(!shm_may_sleep(ends[1], POLLOUT));
    ck_assert_int_eq(shm_send_some(ends[1], vector, 100), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(link_try_receive(ends[1], space, 7, &err), 1);
}
END_TEST

START_TEST(an_offer_that_was_given_up_is_not_believed)
{
    size_t nbytes;
    unsigned char *shared = shm_exported_vector(OFFER);
    ck_assert_int_eq(shm_send_some(ends[0], vector, 7), 7);
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), OFFER);
    ck_assert_int_eq(link_try_receive(ends[1], space, 3, &err), 3);
    if (_i < 2)
        link_close(ends[0]);
    ck_assert_int_eq(link_try_receive(ends[1], space, 4, &err), 4);
    if (_i < 2) {
        ck_assert(_i == 0 || link_peek(ends[1], &nbytes) == NULL);
        ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), HVD_ERR_PEER_LOST);
    } else {
        ck_assert_ptr_nonnull(link_peek(ends[1], &nbytes));
        link_close(ends[0]);
        memset(shared, 0, OFFER);
        ck_assert_int_eq(link_consume(ends[1], 10, &err), HVD_ERR_PEER_LOST);
    }
    ends[0] = NULL;
    ck_assert_str_eq(err.text, "given up by the other side");
    ck_assert_int_eq(link_try_receive(ends[1], space, 1, &err), HVD_ERR_PEER_LOST);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
}
END_TEST

static const struct {
    int error;
    const char *text;
} refusals[] = {
    { ENOMEM, "wake the other side: Cannot allocate memory" },
    { ENOBUFS, "wake the other side: No buffer space available" },
    { EPIPE, "closed by the other side" },
};

START_TEST(why_a_doorbell_could_not_be_rung_is_told_though_the_other_side_closes_later)
{
    ck_assert(shm_may_sleep(ends[1], POLLIN));
    refusal = refusals[_i].error;
    shm_send_some(ends[0], vector, 1);
    refusal = 0;
    link_close(ends[1]);
    ends[1] = NULL;
    ck_assert(!shm_may_sleep(ends[0], POLLIN));
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(link_try_receive(ends[0], space, 1, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, refusals[_i].text);
}
END_TEST

START_TEST(a_side_that_closes_has_closed_though_standard_input_has_too)
{
    close(STDIN_FILENO);
    link_close(ends[1]);
    ends[1] = NULL;
    ck_assert(!shm_may_sleep(ends[0], POLLIN));
    ck_assert_int_eq(link_try_receive(ends[0], space, 1, &err), HVD_ERR_PEER_LOST);
    ck_assert_str_eq(err.text, "closed by the other side");
    ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm_sleep");
    TCase *tcase = tcase_create("link_shm_sleep");
    tcase_add_checked_fixture(tcase, shm_setup, shm_teardown);
    tcase_add_test(tcase, who_sleeps_is_woken_by_bytes);
    tcase_add_test(tcase, who_does_not_sleep_is_not_rung_for);
    tcase_add_test(tcase, who_sleeps_is_rung_for_once);
    tcase_add_test(tcase, nobody_sleeps_while_something_is_there);
    tcase_add_test(tcase, who_waits_for_room_is_woken_when_much_was_read);
    tcase_add_test(tcase, a_reader_that_sleeps_has_told_how_far_it_is);
    tcase_add_test(tcase, who_waits_for_what_was_offered_is_woken_when_it_was_taken);
    tcase_add_test(tcase, bytes_that_woke_nobody_wake_once);
    tcase_add_test(tcase, a_doorbell_that_is_full_rings_all_the_same);
    tcase_add_test(tcase, what_was_sent_before_the_end_arrives);
    tcase_add_test(tcase, who_sleeps_is_woken_by_the_end);
    tcase_add_test(tcase, what_is_sent_to_the_end_is_lost_until_all_was_read);
    tcase_add_test(tcase, who_has_no_room_at_the_end_does_not_wait);
    tcase_add_loop_test(tcase, an_offer_that_was_given_up_is_not_believed, 0, 3);
    tcase_add_loop_test(tcase,
                        why_a_doorbell_could_not_be_rung_is_told_though_the_other_side_closes_later,
                        0, sizeof refusals / sizeof *refusals);
    tcase_add_test(tcase, a_side_that_closes_has_closed_though_standard_input_has_too);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
