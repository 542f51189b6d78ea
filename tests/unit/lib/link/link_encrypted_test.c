/* SPDX-License-Identifier: Apache-2.0 */
/* An encrypted link whose records somebody else holds on their way: what has been changed, dropped,
 * repeated, moved or cut is found at whatever byte, and nothing of it is given out. */
#include "lib/link/link_encrypted.h"

#include "lib/base/auth.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- a wire that the test holds ---- */

enum { WIRE_MAX = 1 << 20 };

/* The bytes from one end to the other; at both ends an inner link. */
static struct wire {
    unsigned char bytes[WIRE_MAX];
    size_t start, end;
    size_t room; /* how many more bytes it takes */
    size_t step; /* the most that one call moves */
    bool ended;  /* behind its last byte */
} there, back;

struct inner {
    struct link link;
    struct wire *out, *in;
};

static struct wire *wire_out(struct link *link)
{
    return ((struct inner *)(void *)link)->out;
}

static ssize_t inner_try_send(struct link *link, const struct iovec *parts, int count,
                              struct err *failure)
{
    struct wire *wire = wire_out(link);
    ck_assert_int_eq(count, 1);
    size_t nbytes = parts->iov_len;
    nbytes = nbytes < wire->room ? nbytes : wire->room;
    nbytes = nbytes < wire->step ? nbytes : wire->step;
    if (wire->ended)
        return (fail)(failure, HVD_ERR_PEER_LOST, "cut");
    ck_assert_uint_le(wire->end + nbytes, WIRE_MAX);
    memcpy(wire->bytes + wire->end, parts->iov_base, nbytes);
    wire->end += nbytes;
    wire->room -= nbytes;
    return (ssize_t)nbytes;
}

static ssize_t inner_try_receive(struct link *link, const struct iovec *parts, int count,
                                 struct err *failure)
{
    struct wire *wire = ((struct inner *)(void *)link)->in;
    ck_assert_int_eq(count, 1);
    size_t nbytes = wire->end - wire->start;
    nbytes = nbytes < parts->iov_len ? nbytes : parts->iov_len;
    nbytes = nbytes < wire->step ? nbytes : wire->step;
    if (nbytes == 0 && wire->ended)
        return (fail)(failure, HVD_ERR_PEER_LOST, "closed by the other side");
    memcpy(parts->iov_base, wire->bytes + wire->start, nbytes);
    wire->start += nbytes;
    return (ssize_t)nbytes;
}

static int inner_pollable(const struct link *link)
{
    (void)link;
    return -1;
}

static int inner_check(struct link *link, struct err *failure)
{
    (void)link;
    (void)failure;
    return HVD_OK;
}

static void inner_close(struct link *link)
{
    free(link);
}

static const struct link_type inner_type = {
    .transport = TRANSPORT_TCP,
    .try_send = inner_try_send,
    .try_receive = inner_try_receive,
    .pollable = inner_pollable,
    .check = inner_check,
    .close = inner_close,
};

/* ---- two ends ---- */

static const enum cipher both_ciphers[] = { CIPHER_AES256GCM, CIPHER_CHACHA20POLY1305 };
enum { CIPHERS = 2 };

static struct link *ends[2];
static struct err err;

static struct link *open_end(struct wire *out, struct wire *in, const struct link_keys *keys)
{
    struct inner *inner = malloc(sizeof *inner);
    *inner = (struct inner){ .link.type = &inner_type, .out = out, .in = in };
    return link_encrypted_create(&inner->link, keys);
}

static void close_ends(void)
{
    for (int i = 0; i < 2; i++)
        link_close(ends[i]);
    ends[0] = ends[1] = NULL;
}

/* The ends anew, at the beginning of their streams, with the `which`th cipher. */
static void open_ends(int which)
{
    enum cipher cipher = both_ciphers[which];
    if (!(cipher_supported() & 1u << cipher))
        cipher = CIPHER_CHACHA20POLY1305; /* this processor has no AES */
    struct link_keys keys = { .cipher = cipher };
    memset(&keys.send, 1, sizeof keys.send);
    memset(&keys.receive, 2, sizeof keys.receive);
    struct link_keys others = { .cipher = cipher, .send = keys.receive, .receive = keys.send };
    close_ends();
    struct wire *wires[] = { &there, &back };
    for (int i = 0; i < 2; i++) {
        wires[i]->start = wires[i]->end = 0;
        wires[i]->room = wires[i]->step = WIRE_MAX;
        wires[i]->ended = false;
    }
    ends[0] = open_end(&there, &back, &keys);
    ends[1] = open_end(&back, &there, &others);
}

static void setup(void)
{
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
}

static ssize_t send_from(int end, const void *data, size_t nbytes)
{
    struct iovec part = { (void *)data, nbytes };
    return link_try_send(ends[end], &part, 1, &err);
}

static ssize_t receive_at(int end, void *data, size_t size)
{
    return link_try_receive(ends[end], data, size, &err);
}

/* ---- a stream ---- */

static uint32_t seed;

static size_t random_up_to(size_t bound)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % bound;
}

static unsigned char byte_at(size_t index)
{
    return (unsigned char)(index * 7 + (index >> 8) * 13);
}

enum { STREAM = 700000, PIECE_MAX = 100000 };

/* Sends the next bytes of the stream in two parts. */
static size_t send_more(size_t sent)
{
    static unsigned char data[PIECE_MAX];
    size_t nbytes = 1 + random_up_to(random_up_to(2) ? 40 : PIECE_MAX);
    nbytes = nbytes < STREAM - sent ? nbytes : STREAM - sent;
    for (size_t i = 0; i < nbytes; i++)
        data[i] = byte_at(sent + i);
    size_t first = random_up_to(nbytes + 1);
    struct iovec parts[] = { { data, first }, { data + first, nbytes - first } };
    ssize_t taken = link_try_send(ends[0], parts, 2, &err);
    ck_assert_msg(taken >= 0, "%s", err.text);
    memset(data, 0, sizeof data); /* what was taken is the link's */
    return (size_t)taken;
}

static size_t receive_more(size_t received)
{
    static unsigned char data[PIECE_MAX];
    size_t room = 1 + random_up_to(random_up_to(2) ? 40 : PIECE_MAX);
    size_t first = random_up_to(room + 1);
    struct iovec parts[] = { { data, first }, { data + first, room - first } };
    ssize_t nbytes = link_try_receive_parts(ends[1], parts, 2, &err);
    ck_assert_msg(nbytes >= 0, "%s", err.text);
    for (size_t i = 0; i < (size_t)nbytes; i++)
        ck_assert_msg(data[i] == byte_at(received + i), "byte %zu", received + i);
    return (size_t)nbytes;
}

START_TEST(a_stream_arrives_whatever_moves_at_a_time_and_however_often_the_key_changes)
{
    size_t sent = 0, received = 0;
    seed = (uint32_t)_i;
    open_ends(_i % CIPHERS);
    link_encrypted_use_keys(ends[0], 3);
    link_encrypted_use_keys(ends[1], 3);
    there.room = 0;
    while (received < STREAM) {
        there.room += there.end - there.start < 90000 ? random_up_to(30000) : 0;
        there.step = 1 + random_up_to(70000);
        sent += send_more(sent);
        received += receive_more(received);
        if (there.start == there.end)
            there.start = there.end = 0;
        ck_assert_uint_le(received, sent + 1);
    }
    ck_assert_uint_eq(sent, STREAM);
}
END_TEST

START_TEST(what_was_taken_is_on_the_wire_as_records_and_not_as_it_was)
{
    unsigned char data[40000], got[40000];
    memset(data, 'x', sizeof data);
    open_ends(_i);
    ck_assert_int_eq(send_from(0, data, sizeof data), sizeof data);
    ck_assert_uint_eq(there.end, sizeof data + 3 * RECORD_OVERHEAD);
    ck_assert_ptr_null(memmem(there.bytes, there.end, "xxx", 3));
    ck_assert_int_eq(receive_at(1, got, sizeof got), sizeof got);
    ck_assert_mem_eq(got, data, sizeof got);
}
END_TEST

/* ---- a man in the middle ---- */

/* Three records of 20, 30 and 40 bytes. */
enum { RECORDS = 3, DATA = 20 + 30 + 40, WIRE = DATA + RECORDS * RECORD_OVERHEAD };
static const size_t sizes[RECORDS] = { 20, 30, 40 };

static void send_records(int which)
{
    unsigned char data[DATA];
    size_t sent = 0;
    open_ends(which);
    for (size_t i = 0; i < DATA; i++)
        data[i] = byte_at(i);
    for (int i = 0; i < RECORDS; i++) {
        ck_assert_int_eq(send_from(0, data + sent, sizes[i]), (ssize_t)sizes[i]);
        sent += sizes[i];
    }
    ck_assert_uint_eq(there.end, WIRE);
}

/* What comes is right as far as it comes; then `status`, for good. Returns how many bytes came. */
static size_t receive_until(int status)
{
    unsigned char data[64];
    size_t received = 0;
    for (;;) {
        ssize_t nbytes = receive_at(1, data, sizeof data);
        if (nbytes <= 0) {
            ck_assert_int_eq(nbytes, status);
            if (status < 0)
                ck_assert_int_eq(receive_at(1, data, sizeof data), status);
            return received;
        }
        for (size_t i = 0; i < (size_t)nbytes; i++)
            ck_assert_uint_eq(data[i], byte_at(received + i));
        received += (size_t)nbytes;
    }
}

/* The data of the records that lie wholly before byte `at` of the wire. */
static size_t data_before(size_t at)
{
    size_t data = 0, wire = 0;
    for (int i = 0; i < RECORDS && (wire += sizes[i] + RECORD_OVERHEAD) <= at; i++)
        data += sizes[i];
    return data;
}

START_TEST(every_flipped_bit_is_found_before_its_record_is_given_out)
{
    for (size_t bit = 0; bit < 8 * WIRE; bit++) {
        send_records(_i);
        there.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), data_before(bit / 8));
        ck_assert_ptr_nonnull(strstr(err.text, "has been changed on the way"));
    }
}
END_TEST

/* The end of the connection shows that the last byte is missing. */
START_TEST(every_dropped_byte_is_found)
{
    for (size_t at = 0; at < WIRE; at++) {
        send_records(_i);
        memmove(there.bytes + at, there.bytes + at + 1, --there.end - at);
        there.ended = true;
        bool is_last = at >= WIRE - sizes[RECORDS - 1] - RECORD_TAG_SIZE;
        size_t received = receive_until(is_last ? HVD_ERR_PEER_LOST : HVD_ERR_PROTOCOL);
        ck_assert_uint_eq(received, data_before(at));
    }
}
END_TEST

START_TEST(every_repeated_byte_is_found)
{
    for (size_t at = 0; at < WIRE; at++) {
        send_records(_i);
        memmove(there.bytes + at + 1, there.bytes + at, there.end++ - at);
        there.ended = true;
        size_t received = receive_until(at == WIRE - 1 ? HVD_ERR_PEER_LOST : HVD_ERR_PROTOCOL);
        ck_assert_uint_le(received, data_before(at + 1));
    }
}
END_TEST

START_TEST(every_cut_is_found_behind_the_whole_records)
{
    for (size_t at = 0; at <= WIRE; at++) {
        send_records(_i);
        there.end = at;
        there.ended = true;
        ck_assert_uint_eq(receive_until(HVD_ERR_PEER_LOST), data_before(at));
    }
}
END_TEST

enum { FIRST = 20 + RECORD_OVERHEAD, SECOND = 30 + RECORD_OVERHEAD };

START_TEST(a_dropped_record_is_found)
{
    send_records(_i);
    there.start = FIRST;
    ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), 0);
}
END_TEST

START_TEST(a_repeated_record_is_found)
{
    send_records(_i);
    memmove(there.bytes + FIRST, there.bytes, there.end);
    ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), 20);
}
END_TEST

START_TEST(records_in_another_order_are_found)
{
    unsigned char first[FIRST];
    send_records(_i);
    memcpy(first, there.bytes, FIRST);
    memmove(there.bytes, there.bytes + FIRST, SECOND);
    memcpy(there.bytes + SECOND, first, FIRST);
    ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), 0);
}
END_TEST

START_TEST(a_record_that_is_sent_back_is_found)
{
    unsigned char data[64];
    send_records(_i);
    memcpy(back.bytes, there.bytes, there.end);
    back.end = there.end;
    ck_assert_int_eq(receive_at(0, data, sizeof data), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(made_up_bytes_are_found_at_the_first_header)
{
    send_records(_i);
    memset(there.bytes, 0, there.end);
    there.end = RECORD_HEADER_SIZE;
    ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), 0);
}
END_TEST

/* Nobody waits for data that never come. */
START_TEST(a_changed_length_is_found_although_nothing_follows)
{
    send_records(_i);
    there.bytes[1] = 0x3f;
    there.end = RECORD_HEADER_SIZE;
    ck_assert_uint_eq(receive_until(HVD_ERR_PROTOCOL), 0);
}
END_TEST

START_TEST(two_ciphers_do_not_understand_each_other)
{
    static const struct record_keys keys;
    struct record_stream sealer, opener;
    unsigned char record[10 + RECORD_OVERHEAD], data[10] = "";
    record_stream_init(&sealer, CIPHER_CHACHA20POLY1305, &keys);
    record_seal(&sealer, record, "123456789", sizeof data);
    if (!(cipher_supported() & 1u << CIPHER_AES256GCM))
        return;
    record_stream_init(&opener, CIPHER_AES256GCM, &keys);
    ck_assert_int_eq(record_open(&opener, record, data, sizeof data, &err), HVD_ERR_PROTOCOL);
}
END_TEST

/* ---- sending in part ---- */

START_TEST(of_records_that_are_sent_in_part_the_last_byte_is_not_taken)
{
    unsigned char got[10];
    open_ends(_i);
    there.room = 5;
    ck_assert_int_eq(send_from(0, "0123456789", 10), 9);
    ck_assert_int_eq(send_from(0, "9", 1), 0);
    ck_assert_int_eq(receive_at(1, got, sizeof got), 0);
    there.room = WIRE_MAX;
    ck_assert_int_eq(send_from(0, "9", 1), 1);
    ck_assert_uint_eq(there.end, 10 + RECORD_OVERHEAD);
    ck_assert_int_eq(receive_at(1, got, sizeof got), 10);
    ck_assert_mem_eq(got, "0123456789", 10);
}
END_TEST

START_TEST(a_message_that_is_replaced_after_a_part_is_refused)
{
    open_ends(_i);
    there.room = 5;
    ck_assert_int_eq(send_from(0, "0123456789", 10), 9);
    there.room = WIRE_MAX;
    ck_assert_int_eq(send_from(0, "another", 7), HVD_ERR_SYSTEM);
}
END_TEST

START_TEST(a_link_whose_inner_link_breaks_breaks)
{
    open_ends(_i);
    there.ended = true;
    ck_assert_int_eq(send_from(0, "0123456789", 10), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(send_from(0, "0123456789", 10), HVD_ERR_PEER_LOST);
}
END_TEST

/* ---- waiting ---- */

static bool may_sleep(int end)
{
    short events;
    return link_sleep(ends[end], POLLIN, &events);
}

START_TEST(who_has_data_left_does_not_sleep)
{
    unsigned char got[DATA];
    send_records(_i);
    ck_assert(may_sleep(1)); /* the descriptor of the inner link tells */
    ck_assert_int_eq(receive_at(1, got, 19), 19);
    ck_assert(!may_sleep(1));
    ck_assert_int_eq(receive_at(1, got, 1), 1);
    ck_assert(!may_sleep(1)); /* there is a record */
    ck_assert_int_eq(receive_at(1, got, DATA), DATA - 20);
    ck_assert(may_sleep(1));
}
END_TEST

static void teardown(void)
{
    close_ends();
}

int main(void)
{
    Suite *suite = suite_create("link_encrypted");
    TCase *tcase = tcase_create("link_encrypted");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(
        tcase, a_stream_arrives_whatever_moves_at_a_time_and_however_often_the_key_changes, 0, 8);
    tcase_add_loop_test(tcase, what_was_taken_is_on_the_wire_as_records_and_not_as_it_was, 0,
                        CIPHERS);
    tcase_add_loop_test(tcase, every_flipped_bit_is_found_before_its_record_is_given_out, 0,
                        CIPHERS);
    tcase_add_loop_test(tcase, every_dropped_byte_is_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, every_repeated_byte_is_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, every_cut_is_found_behind_the_whole_records, 0, CIPHERS);
    tcase_add_loop_test(tcase, a_dropped_record_is_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, a_repeated_record_is_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, records_in_another_order_are_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, a_record_that_is_sent_back_is_found, 0, CIPHERS);
    tcase_add_loop_test(tcase, made_up_bytes_are_found_at_the_first_header, 0, CIPHERS);
    tcase_add_loop_test(tcase, a_changed_length_is_found_although_nothing_follows, 0, CIPHERS);
    tcase_add_test(tcase, two_ciphers_do_not_understand_each_other);
    tcase_add_loop_test(tcase, of_records_that_are_sent_in_part_the_last_byte_is_not_taken, 0,
                        CIPHERS);
    tcase_add_loop_test(tcase, a_message_that_is_replaced_after_a_part_is_refused, 0, CIPHERS);
    tcase_add_loop_test(tcase, a_link_whose_inner_link_breaks_breaks, 0, CIPHERS);
    tcase_add_loop_test(tcase, who_has_data_left_does_not_sleep, 0, CIPHERS);
    return unit_run(suite);
}
