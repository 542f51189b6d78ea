/* SPDX-License-Identifier: Apache-2.0 */
/* Frames come out of a stream whole and in order, however it is cut; a broken stream is noticed
 * before anything is allocated for it. */
#include "lib/base/frame.h"
#include "tests/support/unit.h"

#include <string.h>

static void feed(struct frame_reader *reader, const void *data, size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t room;
        void *space = frame_reader_space(reader, &room);
        ck_assert_ptr_nonnull(space);
        ck_assert_uint_gt(room, 0);
        size_t part = room < length - done ? room : length - done;
        memcpy(space, (const char *)data + done, part);
        frame_reader_commit(reader, part);
        done += part;
    }
}

static void put_three(struct wire_writer *writer)
{
    frame_put(writer, 1, "first", 5);
    frame_put(writer, 2, NULL, 0);
    frame_put(writer, 0xffff, "the third", 9);
}

START_TEST(an_empty_stream_has_no_frame)
{
    struct frame_reader reader;
    struct frame frame;
    frame_reader_init(&reader, 100);
    ck_assert_int_eq(frame_reader_next(&reader, &frame, NULL), 0);
    frame_reader_fini(&reader);
}
END_TEST

START_TEST(frames_come_out_however_the_stream_is_cut)
{
    static const struct {
        uint16_t type;
        const char *body;
    } expected[] = { { 1, "first" }, { 2, "" }, { 0xffff, "the third" } };
    struct wire_writer writer = { 0 };
    put_three(&writer);
    for (size_t step = 1; step <= writer.length; step++) {
        struct frame_reader reader;
        struct frame frame;
        int count = 0;
        frame_reader_init(&reader, 100);
        for (size_t at = 0; at < writer.length; at += step) {
            size_t part = writer.length - at < step ? writer.length - at : step;
            feed(&reader, writer.data + at, part);
            while (frame_reader_next(&reader, &frame, NULL) > 0) {
                ck_assert_uint_eq(frame.type, expected[count].type);
                ck_assert_uint_eq(frame.length, strlen(expected[count].body));
                ck_assert(memcmp(frame.body, expected[count].body, frame.length) == 0);
                count++;
            }
        }
        ck_assert_int_eq(count, 3);
        frame_reader_fini(&reader);
    }
    wire_writer_fini(&writer);
}
END_TEST

/* However the stream is cut, and whether the buffer has grown meanwhile. */
START_TEST(of_a_secret_nothing_is_left_once_the_next_frame_is_asked_for)
{
    struct wire_writer writer = { 0 };
    put_three(&writer);
    for (size_t step = 1; step <= writer.length; step++) {
        struct frame_reader reader;
        struct frame frame;
        frame_reader_init(&reader, 100);
        reader.secret = true;
        for (size_t at = 0; at < writer.length; at += step) {
            size_t part = writer.length - at < step ? writer.length - at : step;
            feed(&reader, writer.data + at, part);
            while (frame_reader_next(&reader, &frame, NULL) > 0)
                ;
        }
        ck_assert_ptr_null(memmem(reader.data, reader.capacity, "irst", 4));
        ck_assert_ptr_null(memmem(reader.data, reader.capacity, "third", 5));
        frame_reader_fini(&reader);
    }
    wire_writer_fini(&writer);
}
END_TEST

/* A frame with sums whose bit is flipped: what comes of it. */
static int read_flipped(uint16_t type, size_t length, size_t bit)
{
    unsigned char body[64] = { 1, 2, 3 };
    struct wire_writer writer = { 0 };
    struct frame_reader reader;
    struct frame frame;
    struct err err;
    size_t begin = frame_begin(&writer, type);
    wire_put_bytes(&writer, body, length);
    frame_end_summed(&writer, begin);
    ck_assert_uint_lt(bit, 8 * writer.length);
    writer.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    frame_reader_init(&reader, sizeof body + FRAME_SUM_SIZE);
    reader.is_summed = true;
    feed(&reader, writer.data, writer.length);
    int rc = frame_reader_next(&reader, &frame, &err);
    frame_reader_fini(&reader);
    wire_writer_fini(&writer);
    return rc;
}

START_TEST(of_a_frame_with_data_all_is_summed_but_the_data)
{
    enum { LENGTH = 40, BEGIN = FRAME_HEADER_SIZE + FRAME_DATA_HEAD };
    for (size_t bit = 0; bit < 8 * (FRAME_HEADER_SIZE + LENGTH + FRAME_SUM_SIZE); bit++) {
        bool is_data = bit / 8 >= BEGIN && bit / 8 < FRAME_HEADER_SIZE + LENGTH;
        ck_assert_int_eq(read_flipped(3, LENGTH, bit), HVD_ERR_PROTOCOL);
        ck_assert_int_eq(read_flipped(FRAME_DATA | 3, LENGTH, bit), is_data ? 1 : HVD_ERR_PROTOCOL);
    }
    for (size_t bit = 0; bit < 8 * (FRAME_HEADER_SIZE + 5 + FRAME_SUM_SIZE); bit++)
        ck_assert_int_eq(read_flipped(FRAME_DATA | 3, 5, bit), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_frame_may_be_as_long_as_the_limit_and_no_longer)
{
    char body[64] = { 0 };
    for (size_t length = 63; length <= 64; length++) {
        struct wire_writer writer = { 0 };
        struct frame_reader reader;
        struct frame frame;
        struct err err = { 0 };
        frame_put(&writer, 7, body, length);
        frame_reader_init(&reader, 63);
        feed(&reader, writer.data, FRAME_HEADER_SIZE);
        int rc = frame_reader_next(&reader, &frame, &err);
        ck_assert_int_eq(rc, length == 63 ? 0 : HVD_ERR_PROTOCOL);
        frame_reader_fini(&reader);
        wire_writer_fini(&writer);
    }
}
END_TEST

/* Any single bit of a header: magic and flags are noticed; type and length are somebody else's to
 * judge, but a long length never gets past the limit. */
START_TEST(a_flipped_bit_in_a_header_does_no_harm)
{
    for (int bit = 0; bit < 8 * FRAME_HEADER_SIZE; bit++) {
        unsigned char bytes[FRAME_HEADER_SIZE + 5];
        struct frame_reader reader;
        struct frame frame;
        struct err err = { 0 };
        frame_header_encode(bytes, 3, 5);
        memcpy(bytes + FRAME_HEADER_SIZE, "hello", 5);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        frame_reader_init(&reader, 100);
        feed(&reader, bytes, sizeof bytes);
        int rc = frame_reader_next(&reader, &frame, &err);
        bool in_type = bit / 8 == 4 || bit / 8 == 5, in_length = bit / 8 >= 8;
        ck_assert_msg(in_type || in_length || rc == HVD_ERR_PROTOCOL, "bit %d: %d", bit, rc);
        ck_assert(rc <= 0 || frame.length <= 5);
        frame_reader_fini(&reader);
    }
}
END_TEST

START_TEST(what_is_no_frame_is_quoted)
{
    struct frame_reader reader;
    struct frame frame;
    struct err err = { 0 };
    frame_reader_init(&reader, 100);
    feed(&reader, "GET /\x1b", 6);
    ck_assert_int_eq(frame_reader_next(&reader, &frame, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "GET /\\x1b"));
    frame_reader_fini(&reader);
}
END_TEST

START_TEST(a_frame_built_in_parts_has_its_length)
{
    struct wire_writer built = { 0 }, whole = { 0 };
    size_t begin = frame_begin(&built, 9);
    wire_put_bytes(&built, "ab", 2);
    wire_put_bytes(&built, "cd", 2);
    frame_end(&built, begin);
    frame_put(&whole, 9, "abcd", 4);
    ck_assert_uint_eq(built.length, whole.length);
    ck_assert_mem_eq(built.data, whole.data, whole.length);
    wire_writer_fini(&built);
    wire_writer_fini(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, an_empty_stream_has_no_frame);
    tcase_add_test(tcase, frames_come_out_however_the_stream_is_cut);
    tcase_add_test(tcase, of_a_secret_nothing_is_left_once_the_next_frame_is_asked_for);
    tcase_add_test(tcase, of_a_frame_with_data_all_is_summed_but_the_data);
    tcase_add_test(tcase, a_frame_may_be_as_long_as_the_limit_and_no_longer);
    tcase_add_test(tcase, a_flipped_bit_in_a_header_does_no_harm);
    tcase_add_test(tcase, what_is_no_frame_is_quoted);
    tcase_add_test(tcase, a_frame_built_in_parts_has_its_length);
    return unit_run(suite);
}
