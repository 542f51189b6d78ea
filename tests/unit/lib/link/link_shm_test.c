/* SPDX-License-Identifier: Apache-2.0 */
/* Links over shared memory, both ends in this process: bytes, offers of both kinds, the
 * beginning. */
#include "lib/link/link_shm_impl.h"
#include "lib/memory/copy.h"
#include "tests/support/shm_pair.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static struct err err;

/* Sends the vector by offers from end 0 as far as they are accepted, by copies where they are not,
 * and receives it at end 1. Returns how much was offered. */
static uint64_t send_vector(const unsigned char *data, size_t size)
{
    uint64_t offered = 0;
    for (size_t sent = 0, got = 0; got < size;) {
        size_t piece = size - sent < OFFER ? size - sent : OFFER;
        ssize_t now = piece ? link_offer(ends[0], data + sent, piece, &err) : 0;
        ck_assert_int_ge(now, 0);
        offered += (uint64_t)now;
        if (now == 0)
            now = shm_send_some(ends[0], data + sent, piece);
        ck_assert_int_ge(now, 0);
        sent += (size_t)now;
        now = link_try_receive(ends[1], space + got, size - got, &err);
        ck_assert_int_ge(now, 0);
        got += (size_t)now;
    }
    ck_assert_mem_eq(space, data, size);
    return offered;
}

/* ---- bytes ---- */

START_TEST(bytes_go_in_both_directions_in_parts)
{
    struct iovec words[] = { { (char[]){ "he" }, 2 }, { NULL, 0 }, { (char[]){ "llo" }, 3 } };
    char first[2], second[5] = "";
    struct iovec spaces[] = { { first, 2 }, { second, 4 } };
    ck_assert_int_eq(ends[0]->type->transport, TRANSPORT_SHM);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(link_try_receive(ends[!i], second, 4, &err), 0);
        ck_assert_int_eq(link_try_send(ends[i], words, 3, &err), 5);
        ck_assert_int_eq(link_try_receive_parts(ends[!i], spaces, 2, &err), 5);
        ck_assert_mem_eq(first, "he", 2);
        ck_assert_str_eq(second, "llo");
    }
}
END_TEST

START_TEST(what_was_sent_is_counted)
{
    uint64_t sent = 0;
    unsigned char *shared = shm_exported_vector(OFFER);
    ends[0]->sent = &sent;
    ck_assert_int_eq(shm_send_some(ends[0], vector, 100), 100);
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), OFFER);
    ck_assert_uint_eq(sent, 100 + OFFER);
}
END_TEST

START_TEST(several_entries_are_received_at_once)
{
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(shm_send_some(ends[0], vector + 10 * i, 10), 10);
    ck_assert_int_eq(link_try_receive(ends[1], space, 95, &err), 95);
    ck_assert_int_eq(link_try_receive(ends[1], space + 95, 95, &err), 5);
    ck_assert_mem_eq(space, vector, 100);
}
END_TEST

START_TEST(a_full_ring_takes_a_part)
{
    size_t sent = 0, got = 0;
    for (ssize_t now; (now = shm_send_some(ends[0], vector + sent, VECTOR - sent)) > 0;)
        sent += (size_t)now;
    ck_assert_uint_lt(sent, VECTOR);
    for (ssize_t now; (now = link_try_receive(ends[1], space + got, VECTOR - got, &err)) > 0;)
        got += (size_t)now;
    ck_assert_uint_eq(got, sent);
    ck_assert_mem_eq(space, vector, sent);
    ck_assert_int_gt(shm_send_some(ends[0], vector, 1), 0);
}
END_TEST

/* Odd places and sizes: lines that are only partly written, in front and behind. The ring goes
 * around several times. */
START_TEST(bytes_that_bypass_the_caches_arrive)
{
    static const size_t sizes[] = { 1, 4095, 4096, 4097, 32 * 1024 + 1, 100003, 3000001, 6000000 };
    shm_teardown();
    shm_pair_streams = true;
    shm_setup();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_uint_eq(send_vector(vector + 2 * i + 1, sizes[i]), 0);
        ck_assert_int_eq(link_shm_of(ends[0])->out.streams, copy_can_stream());
    }
}
END_TEST

START_TEST(only_bytes_to_a_far_processor_bypass_the_caches_and_only_where_that_is_possible)
{
    struct link_shm *shm = link_shm_of(ends[0]);
    for (int i = 0; i < 4; i++) {
        atomic_store(&shm->distance.pair->place, i & 1 ? SHM_PLACE_FAR : SHM_PLACE_NEAR);
        shm->streams = i & 2;
        send_vector(vector, 10000);
        ck_assert_int_eq(shm->out.streams, i == 3);
        ck_assert_int_eq(link_is_far(ends[0]), i == 3);
    }
}
END_TEST

START_TEST(bytes_are_looked_at_where_they_lie)
{
    size_t nbytes;
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    ck_assert_int_eq(shm_send_some(ends[0], vector, 1000), 1000);
    const void *piece = link_peek(ends[1], &nbytes);
    ck_assert_uint_eq(nbytes, 1000);
    ck_assert_mem_eq(piece, vector, 1000);
    ck_assert_int_eq(link_consume(ends[1], 300, &err), HVD_OK);
    ck_assert_ptr_eq(link_peek(ends[1], &nbytes), (const char *)piece + 300);
    ck_assert_uint_eq(nbytes, 700);
    ck_assert_int_eq(link_try_receive(ends[1], space, 1000, &err), 700);
    ck_assert_mem_eq(space, vector + 300, 700);
}
END_TEST

/* ---- offers ---- */

START_TEST(memory_of_the_heap_is_offered_and_mapped)
{
    size_t nbytes;
    unsigned char *shared = shm_exported_vector(OFFER);
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), OFFER);
    ck_assert_uint_eq(link_taken(ends[0]), 0);
    const unsigned char *piece = link_peek(ends[1], &nbytes);
    ck_assert_ptr_nonnull(piece);
    ck_assert_ptr_ne(piece, shared);
    shared[5] ^= 1; /* the same memory */
    ck_assert_mem_eq(piece, shared, nbytes);
    ck_assert_int_eq(link_consume(ends[1], 1000, &err), HVD_OK);
    ck_assert_uint_eq(link_taken(ends[0]), 1000);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), OFFER - 1000);
    ck_assert_mem_eq(space, shared + 1000, OFFER - 1000);
    ck_assert_uint_eq(link_taken(ends[0]), OFFER);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
}
END_TEST

START_TEST(a_large_vector_of_the_heap_is_only_offered)
{
    ck_assert_uint_eq(send_vector(shm_exported_vector(VECTOR), VECTOR), VECTOR);
    ck_assert_uint_eq(link_taken(ends[0]), VECTOR);
}
END_TEST

/* Each side counts what it offers or fetches; here both sides are of one process. */
START_TEST(offered_bytes_bring_the_next_measurement_nearer)
{
    struct shm_distance_pair *pair = link_shm_of(ends[0])->distance.pair;
    unsigned char *shared = shm_exported_vector(VECTOR);
    send_vector(shared, VECTOR);
    unsigned due = atomic_load(&pair->due);
    size_t since = atomic_load(&pair->since);
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), OFFER);
    ck_assert_uint_eq(atomic_load(&pair->since), since + OFFER);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), OFFER);
    ck_assert_uint_eq(atomic_load(&pair->since), since + 2 * OFFER);
    for (size_t sent = 0; sent < SHM_DISTANCE_AGAIN; sent += VECTOR)
        send_vector(shared, VECTOR);
    ck_assert_uint_gt(atomic_load(&pair->due), due);
}
END_TEST

START_TEST(what_lies_in_a_new_segment_is_copied_until_it_is_mapped)
{
    unsigned char *shared = shm_heap_vector(VECTOR);
    uint64_t offered = send_vector(shared, VECTOR);
    ck_assert_uint_lt(offered, VECTOR);
    ck_assert_uint_ge(offered, VECTOR / 2);
    ck_assert_uint_eq(send_vector(shared, VECTOR), VECTOR);
}
END_TEST

START_TEST(a_large_vector_of_private_memory_is_offered_after_a_while)
{
    uint64_t offered = send_vector(vector, VECTOR);
    if (link_shm_of(ends[0])->pid == 0)
        return; /* not permitted here */
    ck_assert_uint_gt(offered, 0);
    ck_assert_uint_lt(offered, VECTOR);
    ck_assert_uint_eq(link_taken(ends[0]), offered);
}
END_TEST

/* Messages of one piece, and how many of them are a trial. */
enum { MESSAGE = SHM_COST_LEAST, TRIAL = SHM_COST_TRIAL_MESSAGES };

/* As many pieces, of which the caller says that each belongs to a message of `nbytes`; returns how
 * many were offered. */
static int send_messages(size_t nbytes, bool exchanged, int pieces)
{
    int offered = 0;
    ends[0]->message = nbytes;
    ends[0]->exchanged = exchanged;
    for (int i = 0; i < pieces; i++)
        offered += send_vector(vector, SHM_COST_LEAST) > 0;
    return offered;
}

static struct shm_side_cost *reported(size_t nbytes, bool exchanged)
{
    return &link_shm_of(ends[0])->doorbell.other->costs[shm_cost_class(nbytes, exchanged)];
}

static struct shm_costs *known(int end, size_t nbytes, bool exchanged)
{
    return &link_shm_of(ends[end])->costs[shm_cost_class(nbytes, exchanged)];
}

/* What the receiver reports is replaced, since nobody knows how fast this machine is. */
static void pretend_costs(size_t nbytes, bool exchanged, uint32_t put, uint32_t get, uint32_t fetch)
{
    known(0, nbytes, exchanged)->put = put;
    atomic_store(&reported(nbytes, exchanged)->get, get);
    atomic_store(&reported(nbytes, exchanged)->fetch, fetch);
}

START_TEST(both_methods_of_an_exchange_are_measured)
{
    if (link_shm_of(ends[0])->pid == 0)
        return;
    ck_assert_int_eq(send_messages(MESSAGE, true, TRIAL), 0);
    ck_assert_uint_gt(atomic_load(&reported(MESSAGE, true)->get), 0);
    ck_assert_uint_gt(known(0, MESSAGE, true)->put, 0);
    ck_assert_uint_eq(atomic_load(&reported(MESSAGE, true)->fetch), 0);
    ck_assert_int_eq(send_messages(MESSAGE, true, TRIAL), TRIAL);
    ck_assert_uint_gt(atomic_load(&reported(MESSAGE, true)->fetch), 0);
}
END_TEST

START_TEST(what_is_exchanged_is_moved_by_the_method_that_costs_less)
{
    if (link_shm_of(ends[0])->pid == 0)
        return;
    send_messages(MESSAGE, true, 2 * TRIAL);
    pretend_costs(MESSAGE, true, 1 << 20, 1 << 20, 1);
    ck_assert_int_eq(send_messages(MESSAGE, true, 1), 1);
    pretend_costs(MESSAGE, true, 1, 1, 1 << 20);
    ck_assert_int_eq(send_messages(MESSAGE, true, 1), 0);
}
END_TEST

/* Of an exchange: whether the next bytes from end `from` are offered. Nobody receives them. */
static bool is_offered(int from, size_t nbytes)
{
    ends[from]->message = nbytes;
    ends[from]->exchanged = true;
    return link_offer(ends[from], vector, SHM_COST_LEAST, &err) > 0;
}

START_TEST(both_sides_of_an_exchange_move_bytes_by_the_same_method)
{
    const unsigned cost_class = shm_cost_class(MESSAGE, true);
    if (link_shm_of(ends[0])->pid == 0 || link_shm_of(ends[1])->pid == 0)
        return;
    ck_assert(link_shm_of(ends[0])->decides != link_shm_of(ends[1])->decides);
    int decides = link_shm_of(ends[1])->decides;
    struct shm_side *follower = link_shm_of(ends[decides])->doorbell.other;
    known(decides, MESSAGE, true)->moved = 2 * shm_cost_trial(cost_class);
    for (uint32_t fetch = 1; fetch < 4; fetch += 2) {
        known(decides, MESSAGE, true)->put = 1;
        atomic_store(&follower->costs[cost_class].get, 1);
        atomic_store(&follower->costs[cost_class].fetch, fetch);
        ck_assert(is_offered(decides, MESSAGE) == (fetch < 2));
        ck_assert(is_offered(!decides, MESSAGE) == (fetch < 2));
    }
}
END_TEST

/* It has nothing to follow: the other side has published no choice, or sends no more of them. */
START_TEST(a_side_decides_for_itself_while_the_other_side_sends_nothing_of_the_class)
{
    if (link_shm_of(ends[0])->pid == 0 || link_shm_of(ends[1])->pid == 0)
        return;
    int follows = link_shm_of(ends[0])->decides;
    const unsigned cost_class = shm_cost_class(MESSAGE, true);
    ck_assert(!is_offered(follows, MESSAGE));
    known(follows, MESSAGE, true)->moved = shm_cost_trial(cost_class);
    known(follows, MESSAGE, true)->put = 1;
    atomic_store(&link_shm_of(ends[follows])->doorbell.other->costs[cost_class].get, 1);
    if (_i) {
        ck_assert(!is_offered(!follows, MESSAGE));
        ck_assert(!is_offered(follows, MESSAGE));
        known(follows, MESSAGE, true)->moved =
            SHM_COST_PERIOD + shm_cost_first(cost_class) + shm_cost_trial(cost_class);
    }
    ck_assert(is_offered(follows, MESSAGE));
}
END_TEST

START_TEST(what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy_of_the_ring)
{
    if (link_shm_of(ends[0])->pid == 0)
        return;
    ck_assert_int_eq(send_messages(MESSAGE, false, 2 * TRIAL), TRIAL);
    pretend_costs(MESSAGE, false, 1 << 19, 1 << 20, (1 << 20) - 1);
    ck_assert_int_eq(send_messages(MESSAGE, false, 1), 1);
    pretend_costs(MESSAGE, false, 1 << 19, 1 << 20, 1 << 20);
    ck_assert_int_eq(send_messages(MESSAGE, false, 1), 0);
    ck_assert_uint_eq(known(0, MESSAGE, true)->moved, 0);
}
END_TEST

START_TEST(messages_of_each_size_have_costs_of_their_own)
{
    if (link_shm_of(ends[0])->pid == 0)
        return;
    for (int i = 0; i < 2; i++) {
        size_t nbytes = (size_t)MESSAGE << i;
        send_messages(nbytes, false, TRIAL << (i + 1));
        ck_assert_uint_eq(known(0, nbytes, false)->moved, MESSAGE * TRIAL << (i + 1));
    }
    pretend_costs(MESSAGE, false, 1 << 20, 1 << 20, 1);
    pretend_costs(2 * MESSAGE, false, 1, 1, 1 << 20);
    ck_assert_int_eq(send_messages(2 * MESSAGE - 1, false, 1), 1);
    ck_assert_int_eq(send_messages(2 * MESSAGE, false, 1), 0);
}
END_TEST

START_TEST(what_is_no_message_and_what_is_small_is_not_tried)
{
    ends[0]->exchanged = true;
    ck_assert_int_eq(link_offer(ends[0], vector, SHM_COST_LEAST, &err), 0);
    ends[0]->message = MESSAGE - 1;
    ck_assert_int_eq(link_offer(ends[0], vector, SHM_COST_LEAST, &err), 0);
    ends[0]->message = MESSAGE;
    ck_assert_int_eq(link_offer(ends[0], vector, SHM_COST_LEAST - 1, &err), 0);
    send_vector(vector, SHM_COST_LEAST - 1);
    ck_assert_uint_eq(known(0, MESSAGE, true)->moved, 0);
    ck_assert_uint_eq(atomic_load(&reported(MESSAGE, true)->get), 0);
}
END_TEST

/* A sender asks again and again while its peer does not read. */
START_TEST(what_does_not_move_uses_up_no_trial)
{
    ends[0]->message = 16 * (size_t)SHM_COST_TRIAL_MOST;
    ends[0]->exchanged = true;
    const struct shm_costs *costs = known(0, ends[0]->message, true);
    while (shm_send_some(ends[0], vector, VECTOR) > 0)
        ;
    uint64_t moved = costs->moved;
    ck_assert_uint_gt(moved, 0);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(link_offer(ends[0], vector, OFFER, &err), 0);
        ck_assert_int_eq(shm_send_some(ends[0], vector, OFFER), 0);
    }
    ck_assert_uint_eq(costs->moved, moved);
}
END_TEST

START_TEST(what_is_exchanged_is_copied_where_it_cannot_be_read)
{
    link_close(ends[0]);
    link_close(ends[1]);
    shm_pair_open(false);
    ck_assert_int_eq(send_messages(MESSAGE, true, 2 * TRIAL), 0);
}
END_TEST

START_TEST(an_offer_of_private_memory_is_not_shown)
{
    size_t nbytes, sent = 0;
    struct link_shm *shm = link_shm_of(ends[0]);
    struct shm_reference reference = { (uintptr_t)vector, 3000, 0 };
    if (shm->pid == 0)
        return;
    ck_assert_int_eq(shm_send_some(ends[0], vector, 10), 10);
    ck_assert_int_eq(shm_writer_refer(&shm->out, SHM_PRIVATE, &reference, &err), 1);
    ck_assert_int_eq(link_try_receive(ends[1], space, 10, &err), 10);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    struct iovec parts[] = { { space, 1 },      { space + 1, 2 },  { space + 3, 3 },
                             { space + 6, 4 },  { space + 10, 5 }, { space + 15, 6 },
                             { space + 21, 7 }, { space + 28, 8 }, { space + 36, 9 },
                             { space + 45, 10 } };
    for (ssize_t now; sent < 55; sent += (size_t)now) {
        int first = sent ? 8 : 0; /* eight in one call of the system */
        now = link_try_receive_parts(ends[1], parts + first, 10 - first, &err);
        ck_assert_int_gt(now, 0);
        if (now == 55)
            break;
        ck_assert_int_eq(now, 36);
    }
    ck_assert_mem_eq(space, vector, 55);
}
END_TEST

START_TEST(offers_and_copies_keep_their_order)
{
    unsigned char *shared = shm_exported_vector(2 * OFFER);
    size_t size = 0;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(shm_send_some(ends[0], vector, 100), 100);
        ck_assert_int_eq(link_offer(ends[0], shared + i, OFFER, &err), OFFER);
        size += 100 + OFFER;
    }
    ck_assert_int_eq(shm_receive_all(ends[1], space, size, &err), HVD_OK);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_mem_eq(space + i * (100 + OFFER), vector, 100);
        ck_assert_mem_eq(space + i * (100 + OFFER) + 100, shared + i, OFFER);
    }
    ck_assert_uint_eq(link_taken(ends[0]), 5 * OFFER);
}
END_TEST

START_TEST(more_segments_than_slots_are_mapped_in_turn)
{
    unsigned char *shared[SHM_SLOTS + 20];
    for (size_t i = 0; i < SHM_SLOTS + 20; i++)
        memset(shared[i] = shm_heap_alloc(64 * 1024), (int)i, 64 * 1024);
    for (size_t i = 0; i < 3 * SHM_SLOTS; i++) {
        const unsigned char *data = shared[i % (SHM_SLOTS + 20)];
        shm_export(data, 64 * 1024);
        ck_assert_int_eq(link_offer(ends[0], data, 64 * 1024, &err), 64 * 1024);
        ck_assert_int_eq(shm_receive_all(ends[1], space, 64 * 1024, &err), HVD_OK);
        ck_assert_mem_eq(space, data, 64 * 1024);
    }
}
END_TEST

START_TEST(only_so_many_new_segments_are_under_way)
{
    enum { SIZE = 64 * 1024, MORE = SHM_PASSED_MAX + 3 };
    unsigned char *shared[MORE];
    size_t nbytes;
    for (int i = 0; i < MORE; i++)
        ck_assert_int_eq(link_offer(ends[0], shared[i] = shm_heap_vector(SIZE), SIZE, &err), 0);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    for (int i = 0; i < MORE; i++)
        ck_assert_int_eq(link_offer(ends[0], shared[i], SIZE, &err), i < SHM_PASSED_MAX ? SIZE : 0);
    ck_assert_int_eq(shm_receive_all(ends[1], space, SHM_PASSED_MAX * SIZE, &err), HVD_OK);
    ck_assert_ptr_null(link_peek(ends[1], &nbytes));
    ck_assert_int_eq(link_offer(ends[0], shared[MORE - 1], SIZE, &err), SIZE);
}
END_TEST

START_TEST(who_has_gone_and_left_an_offer_is_known_without_a_byte_to_send)
{
    ck_assert_int_eq(link_try_send(ends[0], NULL, 0, &err), 0);
    ck_assert_int_eq(link_offer(ends[0], shm_exported_vector(OFFER), OFFER, &err), OFFER);
    ck_assert_int_eq(link_try_send(ends[0], NULL, 0, &err), 0);
    link_close(ends[1]);
    ends[1] = NULL;
    ck_assert(!shm_may_sleep(ends[0], POLLOUT));
    ck_assert_int_eq(link_try_send(ends[0], NULL, 0, &err), HVD_ERR_PEER_LOST);
}
END_TEST

START_TEST(who_has_taken_all_and_gone_owes_nothing)
{
    ck_assert_int_eq(link_offer(ends[0], shm_exported_vector(OFFER), OFFER, &err), OFFER);
    ck_assert_int_eq(link_try_receive(ends[1], space, OFFER, &err), OFFER);
    link_close(ends[1]);
    ends[1] = NULL;
    ck_assert_int_eq(link_try_send(ends[0], NULL, 0, &err), 0);
    ck_assert_uint_eq(link_taken(ends[0]), OFFER);
}
END_TEST

START_TEST(an_offer_without_room_is_refused)
{
    unsigned char *shared = shm_exported_vector(OFFER);
    while (link_offer(ends[0], shared, OFFER, &err) > 0)
        ;
    ck_assert_int_eq(link_offer(ends[0], shared, OFFER, &err), 0);
    ck_assert_int_eq(shm_send_some(ends[0], shared, OFFER), 0);
}
END_TEST

START_TEST(little_is_not_offered)
{
    ck_assert_int_eq(link_offer(ends[0], shm_heap_vector(4096), 4096, &err), 0);
}
END_TEST

START_TEST(private_memory_is_copied_where_it_cannot_be_read)
{
    link_close(ends[0]);
    link_close(ends[1]);
    shm_pair_open(false);
    ck_assert_uint_eq(send_vector(vector, VECTOR), 0);
    ck_assert_uint_eq(send_vector(shm_exported_vector(OFFER), OFFER), OFFER);
}
END_TEST

/* ---- the beginning ---- */

START_TEST(memory_that_is_too_small_is_refused)
{
    struct segment segment;
    struct shm_peer peer = { .pid = 0 };
    ck_assert_int_eq(segment_create(&segment, 4096, &err), HVD_OK);
    ck_assert_ptr_null(link_shm_create(0, &segment, true, &peer, &err));
    ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
    ck_assert_int_ge(segment.fd, 0);
    segment_close(&segment);
}
END_TEST

/* Calls of calloc() fail from now on. */
static bool out_of_memory;
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return out_of_memory ? NULL : __real_calloc(count, size);
}

START_TEST(out_of_memory_all_is_still_the_callers)
{
    struct segment segment;
    struct shm_peer peer = { .pid = 0 };
    ck_assert_int_eq(segment_create(&segment, link_shm_size(), &err), HVD_OK);
    out_of_memory = true;
    ck_assert_ptr_null(link_shm_create(0, &segment, true, &peer, &err));
    out_of_memory = false;
    ck_assert_int_eq(err.code, HVD_ERR_NOMEM);
    ck_assert_int_ge(fcntl(segment.fd, F_GETFD), 0);
    segment.memory[0] = 1;
    segment_close(&segment);
}
END_TEST

START_TEST(a_token_is_kept_and_is_another_processes_own)
{
    unsigned char before[SHM_TOKEN_SIZE], zeros[SHM_TOKEN_SIZE] = { 0 };
    memcpy(before, link_shm_own_token(), sizeof before);
    ck_assert_mem_eq(before, link_shm_own_token(), sizeof before);
    ck_assert_mem_ne(before, zeros, sizeof before);
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    if (fork() == 0)
        _exit(write(pipes[1], link_shm_own_token(), sizeof zeros) < 0);
    ck_assert_int_eq(read(pipes[0], zeros, sizeof zeros), sizeof zeros);
    ck_assert_mem_ne(before, zeros, sizeof before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link_shm");
    TCase *tcase = tcase_create("link_shm");
    tcase_add_checked_fixture(tcase, shm_setup, shm_teardown);
    tcase_add_test(tcase, bytes_go_in_both_directions_in_parts);
    tcase_add_test(tcase, what_was_sent_is_counted);
    tcase_add_test(tcase, several_entries_are_received_at_once);
    tcase_add_test(tcase, a_full_ring_takes_a_part);
    tcase_add_test(tcase, bytes_that_bypass_the_caches_arrive);
    tcase_add_test(tcase,
                   only_bytes_to_a_far_processor_bypass_the_caches_and_only_where_that_is_possible);
    tcase_add_test(tcase, bytes_are_looked_at_where_they_lie);
    tcase_add_test(tcase, memory_of_the_heap_is_offered_and_mapped);
    tcase_add_test(tcase, a_large_vector_of_the_heap_is_only_offered);
    tcase_add_test(tcase, offered_bytes_bring_the_next_measurement_nearer);
    tcase_add_test(tcase, what_lies_in_a_new_segment_is_copied_until_it_is_mapped);
    tcase_add_test(tcase, a_large_vector_of_private_memory_is_offered_after_a_while);
    tcase_add_test(tcase, both_methods_of_an_exchange_are_measured);
    tcase_add_test(tcase, what_is_exchanged_is_moved_by_the_method_that_costs_less);
    tcase_add_test(
        tcase, what_goes_one_way_is_fetched_if_that_costs_less_than_the_dearer_copy_of_the_ring);
    tcase_add_test(tcase, both_sides_of_an_exchange_move_bytes_by_the_same_method);
    tcase_add_loop_test(
        tcase, a_side_decides_for_itself_while_the_other_side_sends_nothing_of_the_class, 0, 2);
    tcase_add_test(tcase, messages_of_each_size_have_costs_of_their_own);
    tcase_add_test(tcase, what_is_no_message_and_what_is_small_is_not_tried);
    tcase_add_test(tcase, what_does_not_move_uses_up_no_trial);
    tcase_add_test(tcase, what_is_exchanged_is_copied_where_it_cannot_be_read);
    tcase_add_test(tcase, an_offer_of_private_memory_is_not_shown);
    tcase_add_test(tcase, offers_and_copies_keep_their_order);
    tcase_add_test(tcase, more_segments_than_slots_are_mapped_in_turn);
    tcase_add_test(tcase, only_so_many_new_segments_are_under_way);
    tcase_add_test(tcase, who_has_gone_and_left_an_offer_is_known_without_a_byte_to_send);
    tcase_add_test(tcase, who_has_taken_all_and_gone_owes_nothing);
    tcase_add_test(tcase, an_offer_without_room_is_refused);
    tcase_add_test(tcase, little_is_not_offered);
    tcase_add_test(tcase, private_memory_is_copied_where_it_cannot_be_read);
    tcase_add_test(tcase, memory_that_is_too_small_is_refused);
    tcase_add_test(tcase, a_token_is_kept_and_is_another_processes_own);
    tcase_add_test(tcase, out_of_memory_all_is_still_the_callers);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
