/* SPDX-License-Identifier: Apache-2.0 */
/* Each message of the join protocol: as it was written, cut at each byte, with a byte too many, and
 * with numbers out of range. */
#include "lib/base/join_protocol.h"
#include "tests/support/unit.h"

#include <string.h>

static struct join_nonce open = { .version = JOIN_VERSION, .nonce = "0123456789abcdef" };
static struct join_nonce challenge = { .version = JOIN_VERSION, .nonce = "fedcba9876543210" };
static struct join_hello hello = {
    .rank = 2, .size = 3, .host = "node1", .pid = 77, .addresses = { 1, { "192.0.2.1:80" } }
};
static struct join_welcome welcome = {
    .place = { 1, 3, 1, 2, 0, 2 },
    .homogeneous = true,
    .epoch = 9,
    .left = { 0, "a", { 1, { "192.0.2.1:80" } } },
    .right = { 2, "b", { 2, { "[2001:db8::1]:81", "192.0.2.2:82" } } },
};
static struct join_refused refused = { HVD_ERR_TIMEOUT, "rank 1 on b is missing" };
static struct join_news news = { HVD_ERR_PEER_LEFT, 2, 5, "rank 2 on b has left" };
static struct join_goodbye goodbye = { 12, HVD_ERR_MISMATCH, "allreduce 'a'" };

static union {
    struct join_nonce open, challenge;
    struct join_hello hello;
    struct join_welcome welcome;
    struct join_refused refused;
    struct join_news news;
    struct join_goodbye goodbye;
} decoded;

#define MESSAGE(name)                                                                              \
    static void encode_##name(struct wire_writer *writer)                                          \
    {                                                                                              \
        join_##name##_encode(writer, &name);                                                       \
    }                                                                                              \
    static int decode_##name(struct wire_reader *reader, struct err *err)                          \
    {                                                                                              \
        return join_##name##_decode(&decoded.name, reader, err);                                   \
    }

#define join_open_encode join_nonce_encode
#define join_challenge_encode join_nonce_encode
#define join_open_decode(message, reader, err) join_nonce_decode(message, JOIN_OPEN, reader, err)
#define join_challenge_decode(message, reader, err)                                                \
    join_nonce_decode(message, JOIN_CHALLENGE, reader, err)

MESSAGE(open)
MESSAGE(challenge)
MESSAGE(hello)
MESSAGE(welcome)
MESSAGE(refused)
MESSAGE(news)
MESSAGE(goodbye)

#define ROW(name)                                                                                  \
    {                                                                                              \
#name, &name, sizeof name, encode_##name, decode_##name                                    \
    }

static const struct {
    const char *name;
    const void *original;
    size_t size;
    void (*encode)(struct wire_writer *writer);
    int (*decode)(struct wire_reader *reader, struct err *err);
} messages[] = {
    ROW(open), ROW(challenge), ROW(hello), ROW(welcome), ROW(refused), ROW(news), ROW(goodbye),
};

START_TEST(a_message_comes_back_as_it_was)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct err err = { 0 };
    memset(&decoded, 0, sizeof decoded);
    messages[_i].encode(&writer);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(messages[_i].decode(&reader, &err), HVD_OK);
    ck_assert_mem_eq(&decoded, messages[_i].original, messages[_i].size);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_message_cut_at_any_byte_is_refused)
{
    struct wire_writer writer = { 0 };
    messages[_i].encode(&writer);
    for (size_t length = 0; length < writer.length; length++) {
        struct err err = { 0 };
        struct wire_reader reader;
        wire_reader_init(&reader, writer.data, length);
        ck_assert_int_eq(messages[_i].decode(&reader, &err), HVD_ERR_PROTOCOL);
        ck_assert_int_eq(err.code, HVD_ERR_PROTOCOL);
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_message_that_is_refused_is_named)
{
    char upper[16] = { 0 };
    struct err err = { 0 };
    struct wire_reader reader;
    for (size_t i = 0; messages[_i].name[i]; i++)
        upper[i] = (char)(messages[_i].name[i] - 'a' + 'A');
    wire_reader_init(&reader, "", 0);
    ck_assert_int_eq(messages[_i].decode(&reader, &err), HVD_ERR_PROTOCOL);
    ck_assert_mem_eq(err.text, upper, strlen(upper));
    ck_assert_int_eq(err.text[strlen(upper)], ':');
}
END_TEST

START_TEST(a_message_with_a_byte_too_many_is_refused)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    messages[_i].encode(&writer);
    wire_put_u8(&writer, 0);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(messages[_i].decode(&reader, NULL), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
}
END_TEST

/* No byte value anywhere makes a decoder return success with a field out of range. */
START_TEST(no_byte_makes_a_decoder_lie)
{
    struct wire_writer writer = { 0 };
    messages[_i].encode(&writer);
    for (size_t at = 0; at < writer.length; at++) {
        unsigned char before = writer.data[at];
        for (int value = 0; value < 256; value++) {
            struct wire_reader reader;
            writer.data[at] = (unsigned char)value;
            wire_reader_init(&reader, writer.data, writer.length);
            if (messages[_i].decode(&reader, NULL) != HVD_OK)
                continue;
            if (messages[_i].original == &welcome) {
                ck_assert_int_lt(decoded.welcome.place.rank, decoded.welcome.place.size);
                ck_assert_int_ge(decoded.welcome.left.rank, 0);
                ck_assert_int_le(decoded.welcome.right.addresses.count, JOIN_ADDRESSES_MAX);
            }
            if (messages[_i].original == &news) {
                ck_assert_int_lt(decoded.news.status, 0);
                ck_assert_int_ge(decoded.news.status, HVD_ERR_FORKED);
            }
            if (messages[_i].original == &goodbye) {
                ck_assert_int_lt(decoded.goodbye.status, 0); /* because there is a text */
                ck_assert_int_ge(decoded.goodbye.status, HVD_ERR_FORKED);
                for (const char *text = decoded.goodbye.text; *text; text++)
                    ck_assert(*text >= ' ' && *text <= '~');
            }
            if (messages[_i].original == &refused)
                ck_assert_int_lt(decoded.refused.status, 0);
        }
        writer.data[at] = before;
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(ranks_that_cannot_be_are_refused)
{
    static const int rows[][2] = {
        { 3, 3 }, { -1, 3 }, { 0, 0 }, { 0, -1 }, { 0, WORLD_SIZE_MAX + 1 }, { 1, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct join_hello bad = hello;
        struct wire_writer writer = { 0 };
        struct wire_reader reader;
        bad.rank = rows[i][0];
        bad.size = rows[i][1];
        join_hello_encode(&writer, &bad);
        wire_reader_init(&reader, writer.data, writer.length);
        ck_assert_int_eq(join_hello_decode(&bad, &reader, NULL), HVD_ERR_PROTOCOL);
        wire_writer_fini(&writer);
    }
}
END_TEST

START_TEST(another_version_is_named)
{
    struct join_nonce other = { .version = 7 };
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct err err;
    join_nonce_encode(&writer, &other);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_nonce_decode(&other, JOIN_OPEN, &reader, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "version 7"));
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    int count = sizeof messages / sizeof *messages;
    Suite *suite = suite_create("join_protocol");
    TCase *tcase = tcase_create("join_protocol");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_message_comes_back_as_it_was, 0, count);
    tcase_add_loop_test(tcase, a_message_cut_at_any_byte_is_refused, 0, count);
    tcase_add_loop_test(tcase, a_message_that_is_refused_is_named, 0, count);
    tcase_add_loop_test(tcase, a_message_with_a_byte_too_many_is_refused, 0, count);
    tcase_add_loop_test(tcase, no_byte_makes_a_decoder_lie, 0, count);
    tcase_add_test(tcase, ranks_that_cannot_be_are_refused);
    tcase_add_test(tcase, another_version_is_named);
    return unit_run(suite);
}
