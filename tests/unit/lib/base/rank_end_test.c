/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an end: as it travels, and in words. */
#include "lib/base/rank_end.h"

#include "lib/base/rank_end_text.h"
#include "lib/base/rank_info.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Each kind, and a rank on a host. */
static const struct {
    struct rank_end end;
    const char *text;
} sentences[] = {
    { { .how = { RANK_END_EXITED, .code = 3 }, .rank = 2, .host = "node1" },
      "rank 2 on node1 exited with status 3" },
    { { .how = { RANK_END_EXITED }, .rank = 2, .host = "node1" },
      "rank 2 on node1 exited with status 0 without hvd_shutdown" },
    { { .how = { RANK_END_EXITED }, .rank = 2, .host = "node1", .before_init = true },
      "rank 2 on node1 exited with status 0 before hvd_init" },
    { { .how = { RANK_END_KILLED, .code = SIGKILL }, .rank = 2, .host = "node1" },
      "rank 2 on node1 was killed by signal 9 (SIGKILL)" },
    { { .how = { RANK_END_KILLED, .code = SIGSEGV, .core_dumped = true }, .host = "a" },
      "rank 0 on a was killed by signal 11 (SIGSEGV, core dumped)" },
    { { .how = { RANK_END_KILLED, .code = SIGKILL, .oom = true }, .host = "a" },
      "rank 0 on a was killed by signal 9 (SIGKILL; kernel OOM counter rose)" },
    { { .how = { RANK_END_KILLED, .code = 33 }, .host = "a" },
      "rank 0 on a was killed by signal 33 (unknown)" },
    { { .how = { RANK_END_STOPPED, .code = SIGSTOP }, .rank = 2, .host = "node1" },
      "rank 2 on node1 was stopped by signal 19 (SIGSTOP)" },
    { { .how = { RANK_END_HOST_LOST }, .rank = 2, .host = "node1" },
      "rank 2 on node1 was lost with its host's agent" },
    { { .how = { RANK_END_NOT_STARTED }, .rank = 2, .host = "node1" },
      "rank 2 on node1 was not started" },
    { { .how = { RANK_END_NOT_KILLED }, .rank = 2, .host = "node1" },
      "rank 2 on node1 could not be killed" },
    { { .how = { RANK_END_LEFT }, .rank = 2, .host = "node1" },
      "rank 2 on node1 left (hvd_shutdown or exit)" },
    { { .how = { RANK_END_LEFT },
        .rank = 2,
        .host = "node1",
        .collective = COLLECTIVE_ALLREDUCE,
        .tensor = "grad" },
      "allreduce 'grad': rank 2 on node1 left (hvd_shutdown or exit)" },
    { { .how = { RANK_END_LEFT }, .host = "a", .collective = COLLECTIVE_BARRIER },
      "barrier: rank 0 on a left (hvd_shutdown or exit)" },
    { { .how = { RANK_END_DISCONNECTED }, .rank = 2, .host = "node1" },
      "the connection to rank 2 on node1 broke" },
    { { .how = { RANK_END_UNREACHABLE }, .rank = 2, .words = "no answer" },
      "connection to rank 2 on ? broke: no answer" },
    { { .how = { RANK_END_FAILED }, .rank = 2, .host = "node1", .words = "accept: no" },
      "rank 2 on node1: accept: no" },
    { { .how = { RANK_END_TIMEOUT }, .rank = RANK_NONE, .words = "rank 3 has not come" },
      "rank 3 has not come" },
    { { .how = { RANK_END_RENDEZVOUS_LOST }, .rank = RANK_NONE }, "the rendezvous is gone" },
    { { .how = { RANK_END_BY_REQUEST }, .rank = RANK_NONE, .words = "ended by PUT" },
      "ended by PUT" },
};

START_TEST(an_end_is_a_sentence)
{
    char text[500];
    rank_end_text(text, sizeof text, &sentences[_i].end);
    ck_assert_str_eq(text, sentences[_i].text);
}
END_TEST

START_TEST(each_kind_has_a_sentence)
{
    char text[500];
    for (int kind = 0; kind < RANK_END_KINDS; kind++) {
        struct rank_end end = { .how = { (enum rank_end_kind)kind }, .host = "a" };
        rank_end_text(text, sizeof text, &end);
        ck_assert_ptr_nonnull(strstr(text, "rank 0 on a"));
    }
}
END_TEST

START_TEST(a_text_is_cut_where_there_is_no_room)
{
    struct rank_end end = { .how = { RANK_END_FAILED }, .host = "a" };
    char text[sizeof end.words];
    memset(end.words, 'x', sizeof end.words - 1);
    rank_end_text(text, sizeof text, &end);
    ck_assert_uint_eq(strlen(text), sizeof text - 1);
    rank_end_text(text, 8, &end);
    ck_assert_str_eq(text, "rank 0 ");
    memset(end.host, 'h', sizeof end.host - 1);
    end.how.kind = RANK_END_LEFT;
    *end.words = '\0';
    rank_end_text(text, sizeof text, &end);
    ck_assert_uint_eq(strlen(text),
                      strlen("rank 0 on  left (hvd_shutdown or exit)") + RANK_END_HOST_SHOWN);
}
END_TEST

static const struct {
    int wait_status;
    struct rank_end_how how;
    int exit_status;
    const char *text, *passive;
} waits[] = {
    { 0, { RANK_END_EXITED, .code = 0 }, 0, "exited with status 0", "exited with status 0" },
    { 3 << 8, { RANK_END_EXITED, .code = 3 }, 3, "exited with status 3", "exited with status 3" },
    { SIGTERM,
      { RANK_END_KILLED, .code = SIGTERM },
      143,
      "killed by signal 15 (SIGTERM)",
      "was killed by signal 15 (SIGTERM)" },
    { SIGSEGV | 0x80,
      { RANK_END_KILLED, .code = SIGSEGV, .core_dumped = true },
      139,
      "killed by signal 11 (SIGSEGV, core dumped)",
      "was killed by signal 11 (SIGSEGV, core dumped)" },
    { SIGSTOP << 8 | 0x7f,
      { RANK_END_STOPPED, .code = SIGSTOP },
      147,
      "stopped by signal 19 (SIGSTOP)",
      "was stopped by signal 19 (SIGSTOP)" },
};

START_TEST(a_wait_status_becomes_a_record)
{
    char text[100];
    struct rank_end_how how = rank_end_how_of(waits[_i].wait_status);
    ck_assert_int_eq(how.kind, waits[_i].how.kind);
    ck_assert_int_eq(how.code, waits[_i].how.code);
    ck_assert(how.core_dumped == waits[_i].how.core_dumped && !how.oom);
    ck_assert_int_eq(rank_end_exit_status(&how), waits[_i].exit_status);
    rank_end_how_text(text, sizeof text, &how, RANK_END_SHORT);
    ck_assert_str_eq(text, waits[_i].text);
    rank_end_how_text(text, sizeof text, &how, RANK_END_PASSIVE);
    ck_assert_str_eq(text, waits[_i].passive);
}
END_TEST

/* ---- on the wire ---- */

static struct rank_end full;

static void setup(void)
{
    full = (struct rank_end){
        .how = { RANK_END_KILLED, .code = SIGSEGV, .core_dumped = true, .oom = true },
        .status = HVD_ERR_PEER_LOST,
        .rank = 7,
        .host = "node1",
        .because_of = 3,
        .before_init = true,
        .collective = COLLECTIVE_ALLGATHER,
        .tensor = "grad",
        .at_us = UINT64_C(123456789012),
        .words = "some words",
    };
}

/* False if it is refused. */
static bool travels(const struct rank_end *end, struct rank_end *decoded)
{
    struct wire_writer writer = { 0 };
    struct wire_reader reader;
    rank_end_encode(&writer, end);
    wire_reader_init(&reader, writer.data, writer.length);
    rank_end_decode(decoded, &reader);
    bool whole = wire_reader_finished(&reader);
    wire_writer_fini(&writer);
    return whole;
}

START_TEST(what_is_sent_is_what_arrives)
{
    struct rank_end decoded;
    ck_assert(travels(&full, &decoded));
    ck_assert_int_eq(decoded.how.kind, full.how.kind);
    ck_assert_int_eq(decoded.how.code, full.how.code);
    ck_assert(decoded.how.core_dumped && decoded.how.oom && decoded.before_init);
    ck_assert_int_eq(decoded.status, full.status);
    ck_assert_int_eq(decoded.rank, full.rank);
    ck_assert_int_eq(decoded.because_of, full.because_of);
    ck_assert_int_eq(decoded.collective, full.collective);
    ck_assert_uint_eq(decoded.at_us, full.at_us);
    ck_assert_str_eq(decoded.host, full.host);
    ck_assert_str_eq(decoded.tensor, full.tensor);
    ck_assert_str_eq(decoded.words, full.words);
}
END_TEST

/* Only a record of this kind has them on the wire. */
START_TEST(late_ranks_travel_with_a_timeout)
{
    struct rank_end decoded;
    late_ranks_add(&full.late, 3);
    late_ranks_add(&full.late, 5);
    ck_assert(travels(&full, &decoded));
    ck_assert_int_eq(decoded.late.count, 0);
    full.how = (struct rank_end_how){ .kind = RANK_END_TIMEOUT };
    ck_assert(travels(&full, &decoded));
    ck_assert_int_eq(decoded.late.count, 2);
    ck_assert_int_eq(decoded.late.rank[0], 3);
    ck_assert_int_eq(decoded.late.rank[1], 5);
    full.late.rank[1] = WORLD_SIZE_MAX;
    ck_assert(!travels(&full, &decoded));
    ck_assert_int_eq(decoded.late.count, 0);
}
END_TEST

/* As the rendezvous passes it on when the failure of rank 7 was known before. */
START_TEST(the_first_failure_is_the_first_late_rank_or_another_that_was_known_before)
{
    struct rank_end decoded;
    struct late_ranks late = { 0 };
    late_ranks_add(&late, 5);
    late_ranks_add(&late, 3);
    full.how = (struct rank_end_how){ .kind = RANK_END_TIMEOUT };
    rank_end_set_late(&full, &late);
    ck_assert(travels(&full, &decoded));
    ck_assert_int_eq(decoded.because_of, 3);
    ck_assert_int_eq(decoded.late.count, 2);
    full.because_of = 7;
    ck_assert(travels(&full, &decoded));
    ck_assert_int_eq(decoded.because_of, 7);
    ck_assert_int_eq(decoded.late.rank[0], 3);
}
END_TEST

START_TEST(each_kind_travels)
{
    struct rank_end decoded;
    for (int kind = 0; kind < RANK_END_KINDS; kind++) {
        bool has_code = kind == RANK_END_KILLED || kind == RANK_END_STOPPED;
        struct rank_end end = rank_end_none();
        end.how = (struct rank_end_how){ .kind = (enum rank_end_kind)kind, .code = has_code };
        ck_assert(travels(&end, &decoded));
        ck_assert_int_eq(decoded.how.kind, kind);
        ck_assert_int_eq(decoded.rank, RANK_NONE);
    }
}
END_TEST

START_TEST(a_record_that_is_cut_is_refused)
{
    struct wire_writer writer = { 0 };
    struct rank_end decoded;
    rank_end_encode(&writer, &full);
    for (size_t length = 0; length < writer.length; length++) {
        struct wire_reader reader;
        wire_reader_init(&reader, writer.data, length);
        rank_end_decode(&decoded, &reader);
        ck_assert(reader.failed);
        ck_assert_int_eq(decoded.how.kind, RANK_END_NONE);
    }
    wire_writer_fini(&writer);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct rank_end decoded, wrong[16];
    int count = 0;
    for (int i = 0; i < 16; i++)
        wrong[i] = full;
    wrong[count++].how.kind = RANK_END_KINDS;
    wrong[count++].how.kind = RANK_END_EXITED; /* with a core */
    wrong[count++].how.code = 0;
    wrong[count++].how.code = NSIG;
    wrong[count++].how.code = -1;
    wrong[count++].how = (struct rank_end_how){ RANK_END_EXITED, .code = 256 };
    wrong[count++].how = (struct rank_end_how){ RANK_END_LEFT, .code = 1 };
    wrong[count++].status = HVD_ERR_FORKED - 1;
    wrong[count++].status = 1;
    wrong[count++].rank = -2;
    wrong[count++].rank = WORLD_SIZE_MAX;
    wrong[count++].because_of = -2;
    wrong[count++].because_of = WORLD_SIZE_MAX;
    wrong[count++].collective = (enum collective_kind)COLLECTIVE_KINDS;
    for (int i = 0; i < count; i++)
        ck_assert_msg(!travels(&wrong[i], &decoded), "row %d", i);
    ck_assert(travels(&full, &decoded));
}
END_TEST

START_TEST(what_people_will_read_is_made_printable)
{
    struct rank_end decoded;
    strcpy(full.host, "no\nde");
    strcpy(full.tensor, "gr\033ad");
    strcpy(full.words, "acc\xff\n");
    ck_assert(travels(&full, &decoded));
    ck_assert_str_eq(decoded.host, "no?de");
    ck_assert_str_eq(decoded.tensor, "gr?ad");
    ck_assert_str_eq(decoded.words, "acc??");
}
END_TEST

START_TEST(the_longest_record_is_as_long_as_is_said)
{
    struct wire_writer writer = { 0 };
    memset(full.host, 'h', sizeof full.host - 1);
    memset(full.tensor, 't', sizeof full.tensor - 1);
    memset(full.words, 'w', sizeof full.words - 1);
    full.how = (struct rank_end_how){ .kind = RANK_END_TIMEOUT };
    for (int rank = 0; rank < LATE_RANKS_MAX; rank++)
        late_ranks_add(&full.late, rank);
    rank_end_encode(&writer, &full);
    ck_assert_uint_le(writer.length, RANK_END_ENCODED_MAX);
    ck_assert_uint_ge(writer.length + 3, RANK_END_ENCODED_MAX);
    wire_writer_fini(&writer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_end");
    TCase *tcase = tcase_create("words");
    tcase_add_loop_test(tcase, an_end_is_a_sentence, 0,
                        (int)(sizeof sentences / sizeof *sentences));
    tcase_add_test(tcase, each_kind_has_a_sentence);
    tcase_add_test(tcase, a_text_is_cut_where_there_is_no_room);
    tcase_add_loop_test(tcase, a_wait_status_becomes_a_record, 0,
                        (int)(sizeof waits / sizeof *waits));
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("wire");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, what_is_sent_is_what_arrives);
    tcase_add_test(tcase, late_ranks_travel_with_a_timeout);
    tcase_add_test(tcase,
                   the_first_failure_is_the_first_late_rank_or_another_that_was_known_before);
    tcase_add_test(tcase, each_kind_travels);
    tcase_add_test(tcase, a_record_that_is_cut_is_refused);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    tcase_add_test(tcase, what_people_will_read_is_made_printable);
    tcase_add_test(tcase, the_longest_record_is_as_long_as_is_said);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
