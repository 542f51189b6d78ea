/* SPDX-License-Identifier: Apache-2.0 */
/* Whose failure it was, in whatever order it became known. */
#include "launcher/verdict/job_cause_text.h"
#include "launcher/verdict/unresponsive_host.h"
#include "lib/base/join_protocol.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 4 };

#define EXITED(code) ((code) << 8)

/* Ranks 0 and 1 are on host 0, 2 and 3 on host 1. */
static struct report_rank ranks[RANKS];
static struct report_host hosts[2];
static struct job_report report;
static struct rank_end left_because[RANKS];
static char text[JOB_CAUSE_TEXT_SIZE];

static void setup(void)
{
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < RANKS; i++)
        ranks[i] = (struct report_rank){
            .met = true, .host = i / 2, .end = END_TERMINATED, .how = rank_end_how_of(SIGTERM)
        };
    memset(hosts, 0, sizeof hosts);
    report = (struct job_report){
        .ranks = ranks, .nranks = RANKS, .hosts = hosts, .nhosts = 2, .origin = rank_end_none()
    };
}

static void fails(int rank, int wait_status, uint64_t at_us, uint64_t slack_us)
{
    ranks[rank].end = END_BY_ITSELF;
    ranks[rank].how = rank_end_how_of(wait_status);
    ranks[rank].ended_us = at_us;
    ranks[rank].slack_us = slack_us;
}

/* What the rendezvous saw first, and when hvdrun heard of it; 0: together with the rank's end. */
static void loses(int rank, uint64_t at_us, struct rank_end_how how)
{
    report.origin = (struct rank_end){
        .how = how, .status = HVD_ERR_PEER_LOST, .rank = rank, .host = "node1", .because_of = rank
    };
    report.origin_us = at_us;
    report.origin_ran_on = at_us > 0;
}

static const struct rank_end_how clean = { .kind = RANK_END_EXITED };
static const struct rank_end_how terminated = { .kind = RANK_END_KILLED, .code = SIGTERM };
static const struct rank_end_how disconnected = { .kind = RANK_END_DISCONNECTED };

/* As it said when it left the rendezvous, or its world broke. */
static void parts(int rank, struct rank_end end)
{
    left_because[rank] = end;
    ranks[rank].left_because = &left_because[rank];
}

/* It has lost another rank, and whose failure that was nobody knows. */
static void parts_from(int rank, int lost, const char *host)
{
    struct rank_end end = { .how.kind = RANK_END_UNREACHABLE,
                            .status = HVD_ERR_PEER_LOST,
                            .rank = lost,
                            .because_of = RANK_NONE };
    snprintf(end.host, sizeof end.host, "%s", host);
    parts(rank, end);
}

/* A collective of its has failed because another rank has left. */
static void parts_after(int rank, int left, enum collective_kind collective, const char *tensor)
{
    struct rank_end end = { .how.kind = RANK_END_LEFT,
                            .status = HVD_ERR_PEER_LEFT,
                            .rank = left,
                            .host = "node1",
                            .because_of = RANK_NONE,
                            .collective = collective };
    snprintf(end.tensor, sizeof end.tensor, "%s", tensor);
    parts(rank, end);
}

static void parts_by(int rank, int origin, int said_of, const char *words)
{
    struct rank_end end = { .how.kind = RANK_END_FAILED,
                            .status = HVD_ERR_SYSTEM,
                            .rank = said_of,
                            .host = "node1",
                            .because_of = origin };
    snprintf(end.words, sizeof end.words, "%s", words);
    parts(rank, end);
}

static void blamed(int rank, int reporter)
{
    struct job_blame blame;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, rank);
    ck_assert_int_eq(blame.reporter, reporter);
}

/* Two that fail; who of them is to blame. */
static const struct {
    int ranks[2], wait_statuses[2];
    uint64_t at_us[2], slack_us;
    int blamed;
} pairs[] = {
    { { 0, 1 }, { EXITED(3), EXITED(4) }, { 1000, 1001 }, 0, 0 },
    { { 0, 1 }, { EXITED(3), EXITED(4) }, { 1001, 1000 }, 0, 1 },
    { { 0, 1 }, { EXITED(3), SIGKILL }, { 1000, 1001 }, 500, 0 }, /* one host: one clock */
    { { 0, 2 }, { EXITED(3), EXITED(4) }, { 1000, 900 }, 10, 2 },
    { { 0, 2 }, { EXITED(3), SIGKILL }, { 1000, 1900 }, 500, 2 }, /* it may have been before */
    { { 0, 2 }, { EXITED(3), SIGKILL }, { 1000, 1900 }, 400, 0 }, /* it was not */
    { { 0, 2 }, { SIGSEGV, EXITED(3) }, { 1900, 1000 }, 500, 0 },
    { { 0, 2 }, { SIGABRT, SIGKILL }, { 1000, 1900 }, 500, 2 }, /* abort() is giving up */
    { { 0, 2 }, { SIGSEGV, SIGKILL }, { 1000, 1900 }, 500, 0 },
    { { 3, 0 }, { EXITED(1), EXITED(2) }, { 5, 5 }, 0, 0 }, /* no difference: the lower rank */
};

START_TEST(of_two_that_fail_the_first_is_to_blame)
{
    for (int i = 0; i < 2; i++)
        fails(pairs[_i].ranks[i], pairs[_i].wait_statuses[i], pairs[_i].at_us[i],
              pairs[_i].slack_us);
    blamed(pairs[_i].blamed, -1);
}
END_TEST

/* An exit that may have been before a kill, which may have been before an exit: not so the
 * first. */
static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                 { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

START_TEST(of_three_that_fail_the_choice_does_not_depend_on_their_numbers)
{
    const int *order = orders[_i];
    for (int i = 0; i < 3; i++)
        ranks[order[i]].host = i;
    fails(order[0], EXITED(3), 1000, 100);
    fails(order[1], EXITED(4), 1150, 100);
    fails(order[2], SIGKILL, 1300, 100);
    blamed(order[0], -1); /* the kill may have been before the second, which was not the first */
    fails(order[2], SIGKILL, 1199, 100);
    blamed(order[2], -1);
}
END_TEST

START_TEST(who_was_stopped_or_ended_well_is_not_to_blame)
{
    struct job_blame blame;
    fails(1, EXITED(0), 1, 0);
    ck_assert(!job_blame_choose(&blame, &report));
    fails(2, EXITED(7), 2, 0);
    blamed(2, -1);
}
END_TEST

START_TEST(who_says_that_a_peer_was_lost_is_not_to_blame)
{
    fails(0, EXITED(1), 1000, 0);
    parts_from(0, 3, "b");
    fails(3, SIGKILL, 9000, 0);
    blamed(3, -1);
}
END_TEST

START_TEST(who_gave_up_after_a_loss_was_told_is_not_to_blame)
{
    fails(3, EXITED(5), 1000, 100);
    fails(0, EXITED(1), 1100, 100);
    loses(3, 0, (struct rank_end_how){ RANK_END_EXITED, .code = 5 });
    blamed(3, -1);
    fails(0, SIGSEGV, 1100, 100); /* no loss does that: the clocks leave it open */
    blamed(0, -1);
}
END_TEST

START_TEST(one_that_failed_before_the_loss_is_to_blame)
{
    fails(0, EXITED(1), 500, 100);
    fails(3, EXITED(5), 1000, 100);
    loses(3, 0, (struct rank_end_how){ RANK_END_EXITED, .code = 5 });
    blamed(0, -1);
}
END_TEST

START_TEST(when_all_have_lost_somebody_who_is_not_there_the_first_is_to_blame)
{
    fails(2, EXITED(1), 1000, 0);
    parts_from(2, 0, "a");
    fails(0, EXITED(1), 1200, 0);
    parts_from(0, 2, "b");
    blamed(2, -1);
}
END_TEST

START_TEST(when_all_have_lost_each_other_a_host_that_heard_nothing_is_to_blame)
{
    struct job_blame blame;
    fails(2, EXITED(1), 1000, 0); /* its own rank may be the first to notice */
    parts_from(2, 0, "a");
    hosts[1].unanswered = UNANSWERED_ALONE;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.host, 1);
    ck_assert_int_eq(blame.rank, -1);
    ck_assert_int_eq(blame.reporter, 2);
    ck_assert_str_eq(job_cause_text(text, &blame),
                     "host lost: no answer; rank 2: connection to rank 0 on a broke");
}
END_TEST

START_TEST(when_all_have_lost_each_other_a_host_that_was_lost_is_to_blame)
{
    struct job_blame blame;
    fails(0, EXITED(1), 1000, 0);
    parts_from(0, 2, "b");
    hosts[1].lost = true;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.host, 1);
    ck_assert_int_eq(blame.rank, -1);
    ck_assert_int_eq(blame.reason, BLAME_HOST_LOST);
    ck_assert_str_eq(job_cause_text(text, &blame), ""); /* hvdrun knows how */
}
END_TEST

START_TEST(a_host_that_heard_nothing_is_to_blame_before_a_rank_that_left)
{
    struct job_blame blame;
    fails(0, EXITED(1), 1000, 0);
    parts_after(0, 1, COLLECTIVE_ALLREDUCE, "grad");
    hosts[1].lost = true; /* maybe because of the stop */
    blamed(1, 0);
    hosts[1].unanswered = UNANSWERED_ALONE;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.host, 1);
    ck_assert_int_eq(blame.rank, -1);
    ck_assert_int_eq(blame.reporter, 0);
    ck_assert_int_eq(blame.reason, BLAME_HOST_UNRESPONSIVE);
    ck_assert_str_eq(job_cause_text(text, &blame), "host lost: no answer; rank 0: waited in vain");
}
END_TEST

START_TEST(a_failure_of_ones_own_is_no_hosts_fault)
{
    struct job_blame blame;
    fails(2, EXITED(1), 1000, 0);
    hosts[1].unanswered = UNANSWERED_ALONE;
    hosts[0].lost = true;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.host, -1);
    ck_assert_int_eq(blame.rank, 2);
}
END_TEST

/* What the rank that failed has said of one that left. */
static const struct {
    int left;
    enum collective_kind collective;
    const char *tensor;
    const char *text; /* NULL: the one that said it is to blame itself */
} departures[] = {
    { 2, COLLECTIVE_ALLREDUCE, "grad", "left before allreduce 'grad', for which rank 0 waited" },
    { 2, COLLECTIVE_ALLREDUCE, "a: rank 3 on b left",
      "left before allreduce 'a: rank 3 on b left', for which rank 0 waited" },
    { 1, COLLECTIVE_BARRIER, "", "left before barrier, for which rank 0 waited" },
    { 3, 0, "", "left before rank 0, which needed it" },
    { 0, COLLECTIVE_BARRIER, "", NULL },
    { RANKS, COLLECTIVE_BARRIER, "", NULL },
    { RANK_NONE, COLLECTIVE_BARRIER, "", NULL },
};

START_TEST(who_left_while_it_was_needed_is_to_blame)
{
    struct job_blame blame;
    fails(0, EXITED(1), 1000, 0);
    parts_after(0, departures[_i].left, departures[_i].collective, departures[_i].tensor);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, departures[_i].text ? departures[_i].left : 0);
    ck_assert_int_eq(blame.reporter, departures[_i].text ? 0 : -1);
    ck_assert_int_eq(blame.reason, departures[_i].text ? BLAME_LEFT : BLAME_OWN_END);
    if (departures[_i].text)
        ck_assert_str_eq(job_cause_text(text, &blame), departures[_i].text);
}
END_TEST

START_TEST(who_went_on_after_a_departure_has_failed_by_itself)
{
    fails(0, EXITED(3), 3600 * 1000000ull, 0);
    parts_after(0, 2, COLLECTIVE_ALLREDUCE, "next");
    ranks[0].left_ms = 1000;
    blamed(0, -1);
    ranks[0].left_ms = 3590 * 1000;
    blamed(2, 0);
}
END_TEST

START_TEST(who_was_never_there_has_lost_nobody)
{
    fails(2, EXITED(0), 900, 0);
    loses(2, 0, clean);
    fails(1, EXITED(5), 1000, 0);
    ranks[1].met = false;
    blamed(1, -1);
}
END_TEST

/* The rendezvous may wait in vain for the exit status of a rank that has disconnected. */
static const struct rank_end_how *const ends_without_a_word[] = { &clean, &disconnected };

START_TEST(who_ended_well_without_a_word_is_to_blame)
{
    struct job_blame blame;
    fails(2, EXITED(0), 900, 0);
    loses(2, 0, *ends_without_a_word[_i]);
    fails(1, EXITED(1), 1000, 0);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 2);
    ck_assert_int_eq(blame.reporter, 1);
    ck_assert_int_eq(blame.reason, BLAME_ENDED_WELL);
    ck_assert_str_eq(job_cause_text(text, &blame),
                     "exited with status 0 without hvd_shutdown, and rank 1 needed it");
}
END_TEST

START_TEST(who_ended_well_without_a_word_is_to_blame_whatever_host_was_lost_then)
{
    fails(2, EXITED(0), 900, 0);
    loses(2, 0, disconnected);
    fails(1, EXITED(1), 1000, 0);
    parts_from(1, 2, "node1");
    hosts[0].lost = true;
    blamed(2, 1);
}
END_TEST

START_TEST(a_failure_of_ones_own_comes_before_one_that_followed_a_departure)
{
    fails(0, EXITED(1), 1000, 0);
    parts_after(0, 3, COLLECTIVE_BARRIER, "");
    fails(3, EXITED(9), 1100, 0);
    blamed(3, -1);
}
END_TEST

#define FULL "accept: Too many open files"

/* Ranks 1 and 2 end in failure, and all know the same: it was rank 2's. */
static void all_know_of_rank_2(int wait_status, uint64_t at_us)
{
    fails(1, EXITED(3), 1000, 0);
    fails(2, wait_status, at_us, 0);
    parts_by(1, 2, 2, FULL);
    parts_by(2, 2, 2, FULL);
    report.origin = left_because[2];
    report.origin_us = 900;
    report.origin_ran_on = true;
}

START_TEST(who_failed_first_is_to_blame_though_another_ended_first)
{
    struct job_blame blame;
    all_know_of_rank_2(EXITED(5), 2000);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 2);
    ck_assert_int_eq(blame.reporter, -1);
    ck_assert_str_eq(job_cause_text(text, &blame), FULL);
}
END_TEST

/* It had no time to, or it has ended well. */
START_TEST(who_failed_first_is_to_blame_though_it_did_not_end_in_failure)
{
    struct job_blame blame;
    all_know_of_rank_2(SIGTERM, 2000);
    for (int i = 0; i < 2; i++) {
        ranks[2].end = i ? END_BY_ITSELF : END_TERMINATED;
        ranks[2].how = rank_end_how_of(i ? EXITED(0) : SIGTERM);
        ck_assert(job_blame_choose(&blame, &report));
        ck_assert_int_eq(blame.rank, 2);
        ck_assert_int_eq(blame.reporter, 1);
        ck_assert_int_eq(blame.reason, BLAME_NAMED);
        ck_assert_str_eq(job_cause_text(text, &blame), FULL ", and rank 1 failed for it");
    }
}
END_TEST

/* It had failed by itself, or has said nothing, before it heard of the origin, which had no time to
 * end. */
START_TEST(who_failed_first_is_to_blame_though_who_ended_first_says_nothing_of_it)
{
    struct job_blame blame;
    all_know_of_rank_2(SIGTERM, 2000);
    ranks[2].end = END_TERMINATED;
    parts_by(1, 1, 1, "another failure");
    for (int i = 0; i < 2; i++) {
        ck_assert(job_blame_choose(&blame, &report));
        ck_assert_int_eq(blame.rank, 2);
        ck_assert_int_eq(blame.reporter, 1);
        ck_assert_int_eq(blame.reason, BLAME_NAMED);
        ck_assert_str_eq(job_cause_text(text, &blame), FULL ", and rank 1 failed for it");
        ranks[1].left_because = NULL;
    }
}
END_TEST

/* The connection of rank 2 ended first, and rank 2 was lost with its host. */
START_TEST(who_has_failed_by_itself_is_quoted_though_another_was_lost_before)
{
    struct job_blame blame;
    loses(2, 900, disconnected);
    ranks[2].end = END_LOST;
    fails(1, EXITED(3), 1000, 0);
    parts_by(1, 1, 1, FULL);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 1);
    ck_assert_int_eq(blame.reporter, -1);
    ck_assert_str_eq(job_cause_text(text, &blame), FULL);
}
END_TEST

START_TEST(who_was_not_heard_but_ended_after_the_origin_was_known_is_not_to_blame)
{
    all_know_of_rank_2(EXITED(5), 2000);
    ranks[1].left_because = NULL;
    blamed(2, -1);
    fails(1, EXITED(3), 800, 50);
    blamed(1, -1); /* it was before that */
    fails(1, EXITED(3), 800, 100);
    blamed(2, -1); /* it may have been */
}
END_TEST

START_TEST(who_was_killed_before_is_to_blame_whatever_a_rank_says_of_itself)
{
    all_know_of_rank_2(EXITED(5), 2000);
    fails(0, SIGKILL, 500, 0);
    blamed(0, -1);
}
END_TEST

START_TEST(an_origin_that_does_not_exist_is_not_to_blame)
{
    fails(1, EXITED(3), 1000, 0);
    parts_by(1, RANKS, RANKS, FULL);
    blamed(1, -1);
    parts_by(1, 1, 12, FULL);
    struct job_blame blame;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_str_eq(job_cause_text(text, &blame),
                     "rank 12 on node1: " FULL); /* not its own name */
}
END_TEST

/* As another program, after exec. */
START_TEST(who_disconnected_and_ran_on_is_to_blame)
{
    struct job_blame blame;
    loses(2, 900, disconnected);
    ranks[2].ended_us = 2000; /* told to, later */
    fails(1, EXITED(3), 1000, 0);
    blamed(2, 1);
    parts_from(1, 2, "node1");
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 2);
    ck_assert_int_eq(blame.reason, BLAME_RAN_ON);
    ck_assert_str_eq(job_cause_text(text, &blame),
                     "disconnected without hvd_shutdown and ran on (exec?), and rank 1 needed it");
    fails(2, EXITED(7), 3000, 0);
    blamed(2, -1);
}
END_TEST

START_TEST(who_left_before_all_had_come_is_to_blame)
{
    struct job_blame blame;
    loses(2, 900, (struct rank_end_how){ .kind = RANK_END_LEFT });
    report.origin.status = HVD_ERR_PEER_LEFT;
    fails(1, EXITED(3), 1000, 0);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 2);
    ck_assert_int_eq(blame.reason, BLAME_LEFT_EARLY);
    ck_assert_str_eq(job_cause_text(text, &blame),
                     "left before all had come, and rank 1 needed it");
    fails(2, EXITED(0), 2000, 0);
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_str_eq(job_cause_text(text, &blame), "exited with status 0, and rank 1 needed it");
}
END_TEST

START_TEST(who_disconnected_because_it_was_told_to_end_is_not_to_blame)
{
    fails(1, EXITED(3), 1000, 0);
    parts_from(1, 2, "node1");
    loses(2, 0, terminated);
    ranks[2].ended_us = 1090;
    blamed(1, -1);
    loses(2, 1000, disconnected);
    ranks[2].end = END_LOST;
    blamed(1, -1);
}
END_TEST

/* Its agent got no processor, and tells of it late. Who is said to have been lost first was ended
 * by hvdrun, because rank 1 had failed. */
START_TEST(who_aborted_is_to_blame_though_it_is_dated_after_those_that_were_ended)
{
    fails(1, EXITED(1), 1000, 0);
    parts_from(1, RANK_NONE, "node1");
    loses(2, 0, terminated);
    ranks[2].ended_us = 1090;
    fails(3, SIGABRT, 9000, 0);
    blamed(3, -1);
    ranks[1].left_because = NULL; /* it has failed by itself, and first */
    blamed(1, -1);
}
END_TEST

START_TEST(who_disconnected_before_the_first_failed_is_to_blame_though_it_is_known_later)
{
    fails(1, EXITED(3), 1000, 0);
    parts_from(1, 2, "node1");
    loses(2, 0, terminated);
    ranks[2].ended_us = 1090;
    ranks[2].end = END_TERMINATED;
    blamed(1, -1);
    ranks[2].disconnected = true;
    blamed(2, 1);
    ranks[2].end = END_LOST;
    blamed(1, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_blame");
    TCase *tcase = tcase_create("failures");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, of_two_that_fail_the_first_is_to_blame, 0,
                        (int)(sizeof pairs / sizeof *pairs));
    tcase_add_loop_test(tcase, of_three_that_fail_the_choice_does_not_depend_on_their_numbers, 0,
                        (int)(sizeof orders / sizeof *orders));
    tcase_add_test(tcase, who_went_on_after_a_departure_has_failed_by_itself);
    tcase_add_test(tcase, who_was_stopped_or_ended_well_is_not_to_blame);
    tcase_add_test(tcase, when_all_have_lost_each_other_a_host_that_heard_nothing_is_to_blame);
    tcase_add_test(tcase, when_all_have_lost_each_other_a_host_that_was_lost_is_to_blame);
    tcase_add_test(tcase, a_host_that_heard_nothing_is_to_blame_before_a_rank_that_left);
    tcase_add_test(tcase, a_failure_of_ones_own_is_no_hosts_fault);
    tcase_add_test(tcase, who_says_that_a_peer_was_lost_is_not_to_blame);
    tcase_add_test(tcase, who_gave_up_after_a_loss_was_told_is_not_to_blame);
    tcase_add_test(tcase, one_that_failed_before_the_loss_is_to_blame);
    tcase_add_test(tcase, when_all_have_lost_somebody_who_is_not_there_the_first_is_to_blame);
    tcase_add_loop_test(tcase, who_left_while_it_was_needed_is_to_blame, 0,
                        (int)(sizeof departures / sizeof *departures));
    tcase_add_test(tcase, who_was_never_there_has_lost_nobody);
    tcase_add_loop_test(tcase, who_ended_well_without_a_word_is_to_blame, 0, 2);
    tcase_add_test(tcase, who_ended_well_without_a_word_is_to_blame_whatever_host_was_lost_then);
    tcase_add_test(tcase, a_failure_of_ones_own_comes_before_one_that_followed_a_departure);
    tcase_add_test(tcase, who_failed_first_is_to_blame_though_another_ended_first);
    tcase_add_test(tcase, who_failed_first_is_to_blame_though_it_did_not_end_in_failure);
    tcase_add_test(tcase, who_failed_first_is_to_blame_though_who_ended_first_says_nothing_of_it);
    tcase_add_test(tcase, who_has_failed_by_itself_is_quoted_though_another_was_lost_before);
    tcase_add_test(tcase, who_was_not_heard_but_ended_after_the_origin_was_known_is_not_to_blame);
    tcase_add_test(tcase, who_was_killed_before_is_to_blame_whatever_a_rank_says_of_itself);
    tcase_add_test(tcase, an_origin_that_does_not_exist_is_not_to_blame);
    tcase_add_test(tcase, who_disconnected_and_ran_on_is_to_blame);
    tcase_add_test(tcase, who_left_before_all_had_come_is_to_blame);
    tcase_add_test(tcase, who_disconnected_because_it_was_told_to_end_is_not_to_blame);
    tcase_add_test(tcase, who_aborted_is_to_blame_though_it_is_dated_after_those_that_were_ended);
    tcase_add_test(tcase,
                   who_disconnected_before_the_first_failed_is_to_blame_though_it_is_known_later);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
