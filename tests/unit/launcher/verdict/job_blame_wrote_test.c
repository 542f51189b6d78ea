/* SPDX-License-Identifier: Apache-2.0 */
/* Whose failure it was when the ranks are not libhvd's, and have said so on stderr only. */
#include "launcher/verdict/job_cause_text.h"
#include "launcher/verdict/unresponsive_host.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

enum { RANKS = 3, SECOND = 1000000 };

#define EXITED(code) ((code) << 8)

/* The end of a rank: by itself; after hvdrun had told it to end; with its host. */
enum end { BY_ITSELF = END_BY_ITSELF, TOLD = END_TERMINATED, LOST = END_LOST };

enum {
    NONE = STDERR_NO_FAILURE,
    BEGUN = STDERR_FAILURE_BEGUN,
    OWN = STDERR_OWN_FAILURE,
    OTHER = STDERR_CONSEQUENCE
};

/* Each rank: how and when it ended, what it wrote and when, in seconds. Rank 2 is on another host,
 * whose clock may be wrong by so many seconds. */
struct rank_row {
    enum end end;
    int wait_status, ended;
    int wrote, began;
};

static const struct {
    struct rank_row ranks[RANKS];
    int slack;
    const char *host; /* "unresponsive" or "lost": host 1; or "" */
    int blamed, reporter;
    enum blame_reason reason;
} rows[] = {
    /* it raised, and was slower to end than who lost it */
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { BY_ITSELF, EXITED(1), 102, OWN, 100 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { TOLD, SIGTERM, 102, OWN, 100 } },
      0,
      "",
      1,
      0,
      BLAME_WROTE },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { TOLD, EXITED(1), 102, OWN, 100 } },
      0,
      "",
      1,
      0,
      BLAME_WROTE },
    { { { BY_ITSELF, SIGABRT, 101, OTHER, 101 }, { TOLD, SIGKILL, 102, OWN, 100 } },
      0,
      "",
      1,
      0,
      BLAME_WROTE },
    /* two wrote of their own: the first to write */
    { { { BY_ITSELF, EXITED(3), 101, OWN, 101 }, { BY_ITSELF, EXITED(1), 102, OWN, 100 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(3), 101, OWN, 100 }, { BY_ITSELF, EXITED(1), 102, OWN, 100 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    /* on two hosts, if the clocks can tell */
    { { { BY_ITSELF, EXITED(3), 101, OWN, 101 },
        { TOLD, 0, 0, NONE, 0 },
        { BY_ITSELF, EXITED(1), 102, OWN, 99 } },
      1,
      "",
      2,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(3), 101, OWN, 101 },
        { TOLD, 0, 0, NONE, 0 },
        { BY_ITSELF, EXITED(1), 102, OWN, 99 } },
      2,
      "",
      0,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, 0, 0, NONE, 0 },
        { TOLD, SIGTERM, 103, OWN, 102 } },
      1,
      "",
      2,
      0,
      BLAME_WROTE },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, 0, 0, NONE, 0 },
        { TOLD, SIGTERM, 103, OWN, 102 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    /* a rank that was killed, or exited, without words */
    { { { BY_ITSELF, EXITED(1), 100, OTHER, 100 }, { BY_ITSELF, SIGKILL, 101, NONE, 0 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 100, OTHER, 100 }, { BY_ITSELF, EXITED(4), 101, NONE, 0 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { BY_ITSELF, EXITED(0), 100, NONE, 0 } },
      0,
      "",
      1,
      0,
      BLAME_ENDED_WELL },
    { { { BY_ITSELF, EXITED(1), 100, OTHER, 100 }, { BY_ITSELF, EXITED(0), 101, NONE, 0 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    /* a traceback that a rank handled explains no end of another */
    { { { BY_ITSELF, SIGKILL, 110, NONE, 0 }, { TOLD, SIGTERM, 111, OWN, 100 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(2), 110, NONE, 0 }, { TOLD, SIGTERM, 111, OWN, 100 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 161, OTHER, 161 }, { TOLD, SIGTERM, 162, OWN, 100 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 161, OTHER, 161 }, { BY_ITSELF, SIGKILL, 162, OTHER, 100 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    /* nor does a loss that a rank has survived explain its end */
    { { { BY_ITSELF, EXITED(3), 161, OTHER, 100 }, { BY_ITSELF, EXITED(1), 162, OWN, 162 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, SIGKILL, 101, OTHER, 100 }, { TOLD, SIGTERM, 102, OWN, 100 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    /* a rank that wrote because it was told to end */
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { TOLD, EXITED(1), 103, OWN, 102 } },
      0,
      "",
      0,
      -1,
      BLAME_OWN_END },
    /* all have lost somebody */
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { BY_ITSELF, EXITED(1), 100, OTHER, 100 } },
      0,
      "",
      1,
      -1,
      BLAME_OWN_END },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 }, { TOLD, SIGTERM, 102, BEGUN, 100 } },
      0,
      "",
      1,
      0,
      BLAME_WROTE },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, SIGTERM, 102, BEGUN, 99 },
        { TOLD, SIGTERM, 102, OWN, 100 } },
      0,
      "",
      2,
      0,
      BLAME_WROTE },
    /* a host */
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, SIGTERM, 102, OWN, 100 },
        { LOST, 0, 0, NONE, 0 } },
      0,
      "unresponsive",
      -1,
      0,
      BLAME_HOST_UNRESPONSIVE },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, SIGTERM, 102, OWN, 100 },
        { LOST, 0, 0, NONE, 0 } },
      0,
      "lost",
      1,
      0,
      BLAME_WROTE },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, SIGTERM, 102, NONE, 0 },
        { LOST, 0, 0, NONE, 0 } },
      0,
      "lost",
      -1,
      0,
      BLAME_HOST_LOST },
    { { { BY_ITSELF, EXITED(1), 101, OTHER, 101 },
        { TOLD, SIGTERM, 102, BEGUN, 100 },
        { LOST, 0, 0, NONE, 0 } },
      0,
      "lost",
      -1,
      0,
      BLAME_HOST_LOST },
};

static struct report_rank ranks[RANKS];
static struct report_host hosts[2];
static struct job_report report;

static void take_row(int row)
{
    memset(hosts, 0, sizeof hosts);
    hosts[1].unanswered = strcmp(rows[row].host, "unresponsive") == 0 ? UNANSWERED_ALONE : 0;
    hosts[1].lost = strcmp(rows[row].host, "lost") == 0;
    for (int i = 0; i < RANKS; i++) {
        const struct rank_row *from = &rows[row].ranks[i];
        uint64_t slack_us = i == 2 ? (uint64_t)rows[row].slack * SECOND : 0;
        ranks[i] = (struct report_rank){
            .host = i == 2,
            .end = from->end == 0 ? END_TERMINATED : (enum report_end)from->end,
            .how = rank_end_how_of(from->ended == 0 ? SIGTERM : from->wait_status),
            .ended_us = (uint64_t)from->ended * SECOND,
            .slack_us = slack_us,
            .wrote = { (enum stderr_failure_kind)from->wrote, (uint64_t)from->began * SECOND },
            .wrote_slack_us = slack_us,
        };
    }
    report = (struct job_report){
        .ranks = ranks, .nranks = RANKS, .hosts = hosts, .nhosts = 2, .origin = rank_end_none()
    };
}

START_TEST(the_words_of_ranks_without_records_decide)
{
    struct job_blame blame;
    take_row(_i);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, rows[_i].blamed);
    ck_assert_int_eq(blame.reporter, rows[_i].reporter);
    ck_assert_int_eq(blame.reason, rows[_i].reason);
    ck_assert_int_eq(blame.host, rows[_i].blamed < 0 ? 1 : -1);
}
END_TEST

START_TEST(the_words_of_a_rank_with_records_do_not)
{
    struct job_blame blame;
    for (int row = 0; row < 4; row++) {
        take_row(row);
        for (int i = 0; i < RANKS; i++)
            ranks[i].met = true;
        ck_assert(job_blame_choose(&blame, &report));
        ck_assert_int_eq(blame.rank, 0);
        ck_assert_int_eq(blame.reason, BLAME_OWN_END);
    }
}
END_TEST

/* The rows of `rows` with a text. */
static const struct {
    int row;
    const char *text;
} row_texts[] = {
    { 0, "" },
    { 1, "wrote to stderr that it failed, and rank 0 lost it" },
    { 12, "exited with status 0, and rank 0 needed it" },
    { 24, "host lost: no answer; rank 0: a peer was lost" },
};

START_TEST(the_cause_is_said)
{
    struct job_blame blame;
    char text[JOB_CAUSE_TEXT_SIZE];
    take_row(row_texts[_i].row);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_str_eq(job_cause_text(text, &blame), row_texts[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_blame_wrote");
    TCase *tcase = tcase_create("words");
    tcase_add_loop_test(tcase, the_words_of_ranks_without_records_decide, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, the_words_of_a_rank_with_records_do_not);
    tcase_add_loop_test(tcase, the_cause_is_said, 0, (int)(sizeof row_texts / sizeof *row_texts));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
