/* SPDX-License-Identifier: Apache-2.0 */
/* Each message of the join protocol: as it was written, cut at each byte, with a byte too many, and
 * with numbers out of range (join_welcome_test.c and join_report_test.c: what only a WELCOME and a
 * REPORT can have wrong). */
#include "lib/base/join_protocol.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct join_open open = { .version = JOIN_VERSION,
                                 .nonce = "0123456789abcdef",
                                 .owner = "train-1" };
static struct join_challenge challenge = { .version = JOIN_VERSION, .nonce = "fedcba9876543210" };
static struct join_hello hello = { .rank = 2,
                                   .size = 3,
                                   .worker = 2,
                                   .epoch = 7,
                                   .host = "node1",
                                   .pid = 77,
                                   .processors = 4,
                                   .key = { 1, [RANK_KEY_SIZE - 1] = 2 },
                                   .addresses = { 1, { "192.0.2.1:80" } } };
static struct join_welcome welcome = {
    .rank_info = { 1, 3, 1, 2, 0, 2 },
    .homogeneous = true,
    .worker = 70000,
    .epoch = 9,
    .star = 1,
    .certificate = { 3, [CERTIFICATE_SIZE - 1] = 4 },
    .certifier = { 5, [CERTIFIER_KEY_SIZE - 1] = 6 },
    .nneighbours = 2,
    .neighbours = { { 0, "a", { 1, { "192.0.2.1:80" } } },
                    { 2, "b", { 2, { "[2001:db8::1]:81", "192.0.2.2:82" } } } },
    .keys = { { 7 }, { [RANK_KEY_SIZE - 1] = 8 } },
};
static struct join_waiting waiting = { 30000, "rank 1 on b" };
static struct join_refused refused = { HVD_ERR_TIMEOUT, "rank 1 on b is missing" };
static struct rank_end news = { .how = { RANK_END_LEFT, .code = 0 },
                                .status = HVD_ERR_PEER_LEFT,
                                .rank = 2,
                                .host = "b",
                                .because_of = 2 };
static struct rank_end goodbye = { .how = { RANK_END_UNREACHABLE, .code = 0 },
                                   .status = HVD_ERR_PEER_LOST,
                                   .rank = 1,
                                   .host = "b",
                                   .because_of = RANK_NONE,
                                   .words = "no answer" };
static struct rank_end broken = { .how = { RANK_END_FAILED, .code = 0 },
                                  .status = HVD_ERR_SYSTEM,
                                  .rank = 1,
                                  .host = "b",
                                  .because_of = 1,
                                  .words = "accept" };

#define join_news_encode rank_end_encode
#define join_goodbye_encode rank_end_encode
#define join_broken_encode rank_end_encode

static struct join_ask ask = { JOIN_REPORT_MAX };
static struct join_update update = { 0x01020304, JOIN_HOSTS_ADDED };
static struct join_report report = {
    .text = "waiting for allreduce 'a'\nand for 'b'\n",
    .stats = { .uptime_ns = 77,
               .waiting_ns = 7,
               .operations = { [STATS_ALLREDUCE] = { 3, 24, 4000, { 1, 2 } },
                               [STATS_JOIN] = { 1, 0, 90, { 1 } } } },
    .waits = { .for_whom = WAITS_FOR_RANKS,
               .count = 2,
               .keys = { 1, UINT64_MAX },
               .set_key = 5,
               .age_ms = 1500,
               .name = "a",
               .nmembers = 2,
               .members = { { 0, 3 }, { 3, 7 } } },
};

static union {
    struct join_open open;
    struct join_challenge challenge;
    struct join_hello hello;
    struct join_welcome welcome;
    struct join_waiting waiting;
    struct join_refused refused;
    struct rank_end news, goodbye, broken;
    struct join_ask ask;
    struct join_update update;
    struct join_report report;
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

MESSAGE(open)
MESSAGE(challenge)
MESSAGE(hello)
MESSAGE(welcome)
MESSAGE(waiting)
MESSAGE(refused)
MESSAGE(news)
MESSAGE(goodbye)
MESSAGE(broken)
MESSAGE(ask)
MESSAGE(update)
MESSAGE(report)

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
    ROW(open),    ROW(challenge), ROW(hello), ROW(welcome), ROW(refused), ROW(news),
    ROW(goodbye), ROW(broken),    ROW(ask),   ROW(report),  ROW(waiting), ROW(update),
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

static void check_text(const char *text, bool lines)
{
    for (; *text; text++)
        ck_assert((*text >= ' ' && *text <= '~') || (lines && *text == '\n'));
}

/* Asserts only what may be wrong: an assertion costs a system call, and there are many reports. */
static void check_report(const struct join_report *message)
{
    const struct rank_waits *waits = &message->waits;
    bool good = message->stats.waiting_ns <= message->stats.uptime_ns &&
                waits->for_whom < WAITS_FOR_KINDS && waits->count <= WAITS_MAX &&
                waits->nmembers <= WAITS_RANGES_MAX;
    uint32_t end = 0;
    for (int i = 0; good && i < waits->nmembers; i++) {
        good = waits->members[i].first >= end && waits->members[i].first < waits->members[i].end;
        end = waits->members[i].end;
    }
    if (!good || end > WORLD_SIZE_MAX)
        ck_abort_msg("a number of a report is out of range");
    if (strcmp(message->text, report.text) != 0)
        check_text(message->text, true);
}

/* Each says of a failure, so each has one. */
static void check_end(const struct rank_end *end)
{
    bool good = end->status < 0 && end->status >= HVD_ERR_FORKED && end->rank >= RANK_NONE &&
                end->rank < WORLD_SIZE_MAX && end->because_of >= RANK_NONE &&
                end->because_of < WORLD_SIZE_MAX && end->how.kind < RANK_END_KINDS;
    if (!good)
        ck_abort_msg("a number of an end is out of range");
    check_text(end->words, false);
}

static void check_decoded(const void *original)
{
    if (original == &welcome) {
        ck_assert_int_eq(decoded.welcome.rank_info.rank, 1);
        ck_assert_int_ge(decoded.welcome.worker, 0);
        ck_assert_int_le(decoded.welcome.worker, WORKER_NUMBER_MAX);
        ck_assert_uint_lt(decoded.welcome.epoch, INT32_MAX);
        ck_assert_int_eq(decoded.welcome.nneighbours, 2);
        ck_assert_int_eq(decoded.welcome.neighbours[0].rank, 0);
        ck_assert_int_eq(decoded.welcome.neighbours[1].rank, 2);
        ck_assert_int_le(decoded.welcome.neighbours[1].addresses.count, JOIN_ADDRESSES_MAX);
    } else if (original == &open) {
        struct key_owner owner;
        ck_assert(key_owner_parse(&owner, decoded.open.owner, strlen(decoded.open.owner)));
    } else if (original == &hello) {
        ck_assert_int_ge(decoded.hello.rank, -1);
        ck_assert_int_lt(decoded.hello.rank, decoded.hello.size);
        ck_assert_int_ge(decoded.hello.worker, -1);
        ck_assert_int_le(decoded.hello.worker, WORKER_NUMBER_MAX);
        ck_assert_uint_le(decoded.hello.epoch, INT32_MAX);
    } else if (original == &news) {
        check_end(&decoded.news);
    } else if (original == &goodbye) {
        check_end(&decoded.goodbye);
    } else if (original == &broken) {
        check_end(&decoded.broken);
        ck_assert_int_ne(decoded.broken.status, HVD_ERR_PEER_LEFT);
    } else if (original == &ask) {
        ck_assert_int_ge(decoded.ask.size, 1);
        ck_assert_int_le(decoded.ask.size, JOIN_REPORT_MAX);
    } else if (original == &update) {
        ck_assert_int_ge(decoded.update.hosts, 1);
        ck_assert_int_le(decoded.update.hosts, 3);
    } else if (original == &waiting) {
        ck_assert(decoded.waiting.most_ms <= JOIN_WAITING_MAX_MS ||
                  decoded.waiting.most_ms == JOIN_WAITING_NO_LIMIT);
        check_text(decoded.waiting.text, false);
    } else if (original == &report) {
        check_report(&decoded.report);
    } else if (original == &refused) {
        ck_assert_int_lt(decoded.refused.status, 0);
        ck_assert_int_ge(decoded.refused.status, HVD_ERR_REMOVED);
    }
}

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
            if (messages[_i].decode(&reader, NULL) == HVD_OK)
                check_decoded(messages[_i].original);
        }
        writer.data[at] = before;
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(questions_for_no_bytes_or_too_many_are_refused)
{
    static const int sizes[] = { 0, -1, JOIN_REPORT_MAX + 1, INT32_MIN, INT32_MAX };
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    join_ask_encode(&writer, &(struct join_ask){ sizes[_i] });
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_ask_decode(&decoded.ask, &reader, NULL), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(ranks_that_cannot_be_are_refused)
{
    static const int rows[][2] = {
        { 3, 3 }, { -2, 3 }, { -1, -1 }, { 0, 0 }, { 0, -1 }, { 0, WORLD_SIZE_MAX + 1 }, { 1, 1 },
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

static int decode_hello_of(const struct join_hello *message)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    join_hello_encode(&writer, message);
    wire_reader_init(&reader, writer.data, writer.length);
    int rc = join_hello_decode(&decoded.hello, &reader, NULL);
    wire_writer_fini(&writer);
    return rc;
}

START_TEST(a_worker_of_an_elastic_job_has_a_number_or_none)
{
    static const struct {
        int worker, rc;
    } rows[] = {
        { -2, HVD_ERR_PROTOCOL },
        { -1, HVD_OK },
        { 0, HVD_OK },
        { WORKER_NUMBER_MAX, HVD_OK },
        { WORKER_NUMBER_MAX + 1, HVD_ERR_PROTOCOL },
    };
    struct join_hello elastic = hello;
    elastic.rank = -1;
    elastic.size = 0;
    elastic.worker = rows[_i].worker;
    ck_assert_int_eq(decode_hello_of(&elastic), rows[_i].rc);
    if (rows[_i].rc == HVD_OK)
        ck_assert_int_eq(decoded.hello.worker, elastic.worker);
}
END_TEST

static const struct {
    int status;
    bool good;
} refusals[] = {
    { HVD_OK, false },
    { HVD_ERR_INVALID, true },
    { HVD_ERR_FORKED, true },
    { HVD_ERR_STALE, false },
    { HVD_ERR_REMOVED, true },
    { HVD_HOSTS_UPDATED, false },
    { HVD_ERR_INTERRUPTED, false },
    { HVD_ERR_INTERRUPTED - 1, false },
};

/* No rendezvous refuses a worker because of what only the worker itself can know. */
START_TEST(a_refusal_has_the_status_of_an_end_or_of_a_removal)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct join_refused given = { .status = refusals[_i].status, .text = "why" }, got;
    join_refused_encode(&writer, &given);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_refused_decode(&got, &reader, NULL),
                     refusals[_i].good ? HVD_OK : HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(an_update_that_changes_nothing_is_refused)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    join_update_encode(&writer, &(struct join_update){ 1, 0 });
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_update_decode(&decoded.update, &reader, NULL), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_worker_cannot_have_less_than_no_processors)
{
    struct join_hello bad = hello;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    bad.processors = -1;
    join_hello_encode(&writer, &bad);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_hello_decode(&bad, &reader, NULL), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(a_worker_may_leave_its_rank_open)
{
    struct join_hello any = hello, back;
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    any.rank = -1;
    any.size = WORLD_SIZE_MAX;
    join_hello_encode(&writer, &any);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_hello_decode(&back, &reader, NULL), HVD_OK);
    ck_assert_int_eq(back.rank, -1);
    wire_writer_fini(&writer);
}
END_TEST

/* 64 bytes are the longest that is valid. */
#define ID_64 "a.b_c-d0123456789012345678901234567890123456789012345678901234-."

static const struct {
    const char *owner;
    int rc;
} owners[] = {
    { "", HVD_OK },
    { "a", HVD_OK },
    { ID_64, HVD_OK },
    { ID_64 "x", HVD_ERR_PROTOCOL },
    { "-a", HVD_ERR_PROTOCOL },
    { "a/0", HVD_OK },
    { "/7", HVD_OK },
    { ID_64 "/1048575", HVD_OK },
    { "a/1048576", HVD_ERR_PROTOCOL },
    { "a/b", HVD_ERR_PROTOCOL },
    { "a\nb", HVD_ERR_PROTOCOL },
    { "..", HVD_ERR_PROTOCOL },
};

START_TEST(an_open_names_whose_key_is_proved)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct join_open message;
    ck_assert_uint_eq(strlen(ID_64), JOB_ID_SIZE - 1);
    wire_put_u16(&writer, JOIN_VERSION);
    wire_put_bytes(&writer, open.nonce, NONCE_SIZE);
    wire_put_string(&writer, owners[_i].owner);
    wire_reader_init(&reader, writer.data, writer.length);
    ck_assert_int_eq(join_open_decode(&message, &reader, NULL), owners[_i].rc);
    if (owners[_i].rc == HVD_OK)
        ck_assert_str_eq(message.owner, owners[_i].owner);
    wire_writer_fini(&writer);
}
END_TEST

static void check_version_error(int rc, const struct err *err)
{
    ck_assert_int_eq(rc, HVD_ERR_PROTOCOL);
    char other[32];
    snprintf(other, sizeof other, "version %d", JOIN_VERSION + 1);
    ck_assert_ptr_nonnull(strstr(err->text, other));
}

/* Of another version only the first two fields are known. */
START_TEST(another_version_is_named)
{
    static const size_t more[] = { 0, 1, 3, 100 };
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    struct join_open other_open;
    struct join_challenge other_challenge;
    struct err err = { 0 };
    wire_put_u16(&writer, JOIN_VERSION + 1);
    wire_put_bytes(&writer, open.nonce, NONCE_SIZE);
    for (size_t i = 0; i < more[_i]; i++)
        wire_put_u8(&writer, 0xff);
    wire_reader_init(&reader, writer.data, writer.length);
    check_version_error(join_open_decode(&other_open, &reader, &err), &err);
    ck_assert_int_eq(other_open.version, JOIN_VERSION + 1);
    wire_reader_init(&reader, writer.data, writer.length);
    check_version_error(join_challenge_decode(&other_challenge, &reader, &err), &err);
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
    tcase_add_loop_test(tcase, a_worker_of_an_elastic_job_has_a_number_or_none, 0, 5);
    tcase_add_test(tcase, an_update_that_changes_nothing_is_refused);
    tcase_add_loop_test(tcase, a_refusal_has_the_status_of_an_end_or_of_a_removal, 0,
                        sizeof refusals / sizeof *refusals);
    tcase_add_test(tcase, a_worker_cannot_have_less_than_no_processors);
    tcase_add_test(tcase, a_worker_may_leave_its_rank_open);
    tcase_add_loop_test(tcase, an_open_names_whose_key_is_proved, 0,
                        sizeof owners / sizeof *owners);
    tcase_add_loop_test(tcase, another_version_is_named, 0, 4);
    tcase_add_loop_test(tcase, questions_for_no_bytes_or_too_many_are_refused, 0, 5);
    return unit_run(suite);
}
