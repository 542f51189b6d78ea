/* SPDX-License-Identifier: Apache-2.0 */
/* Which host heard nothing, by what it has left unanswered and what ranks have lost. */
#include "launcher/verdict/job_blame.h"
#include "launcher/verdict/unresponsive_host.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <string.h>

enum { RANKS = 4, HOSTS = 3 };

/* Ranks 0 and 1 are on host 0, rank 2 on host 1, rank 3 on host 2. */
static const int host_of[RANKS] = { 0, 0, 1, 2 };
static struct report_rank ranks[RANKS];
static struct report_host hosts[HOSTS];
static struct rank_end left_because[RANKS];
static struct job_report report;

static void setup(void)
{
    memset(ranks, 0, sizeof ranks);
    memset(hosts, 0, sizeof hosts);
    for (int i = 0; i < RANKS; i++)
        ranks[i] = (struct report_rank){
            .met = true, .host = host_of[i], .end = END_BY_ITSELF, .how = { RANK_END_EXITED }
        };
    report = (struct job_report){
        .ranks = ranks, .nranks = RANKS, .hosts = hosts, .nhosts = HOSTS, .origin = rank_end_none()
    };
}

static void says(int rank, enum rank_end_kind kind, int status, int of_rank)
{
    left_because[rank] = (struct rank_end){
        .how.kind = kind, .status = status, .rank = of_rank, .because_of = RANK_NONE
    };
    ranks[rank].left_because = &left_because[rank];
}

/* So many heartbeats host 1 has left unanswered; what a rank says of its own end; the decision. */
static const struct {
    int unanswered, rank;
    enum rank_end_kind kind;
    int status, of_rank;
    bool unresponsive;
} rows[] = {
    { 0, -1, RANK_END_NONE, HVD_OK, -1, false },
    { 2, -1, RANK_END_NONE, HVD_OK, -1, false },
    { 3, -1, RANK_END_NONE, HVD_OK, -1, true },
    { 2, 2, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 0, true },  /* a rank there has lost another */
    { 2, 2, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, -1, true }, /* and does not say which */
    { 2, 0, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 2, true },  /* another has lost one there */
    { 2, 0, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 3, false }, /* on a third host */
    { 2, 0, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, -1, false },
    { 2, 0, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, RANKS, false }, /* there is no such rank */
    { 1, 2, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 0, false },     /* it may be under way */
    { 0, 2, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 0, false },
    { 2, 2, RANK_END_DISCONNECTED, HVD_ERR_PEER_LOST, 0, false }, /* the rendezvous knows why */
    { 2, 2, RANK_END_UNREACHABLE, HVD_ERR_TIMEOUT, 0, false },
    { 2, 2, RANK_END_LEFT, HVD_ERR_PEER_LEFT, 0, false },
};

START_TEST(heartbeats_alone_or_with_a_lost_link_make_a_host_unresponsive)
{
    hosts[1].unanswered = rows[_i].unanswered;
    if (rows[_i].rank >= 0)
        says(rows[_i].rank, rows[_i].kind, rows[_i].status, rows[_i].of_rank);
    ck_assert_int_eq(unresponsive_host_is(&report, 1), rows[_i].unresponsive);
    ck_assert_int_eq(unresponsive_host_find(&report), rows[_i].unresponsive ? 1 : -1);
    ck_assert(!unresponsive_host_is(&report, 0));
}
END_TEST

static void leaves_unanswered(int host, int unanswered, uint64_t since_us)
{
    hosts[host].unanswered = unanswered;
    hosts[host].unanswered_us = since_us;
}

/* Host 2 has vanished and was lost soon. The agents of hosts 0 and 1 got no processor from a moment
 * later on, and did not answer while the job stopped either. */
START_TEST(of_several_the_host_that_was_asked_first_without_an_answer_is_chosen)
{
    leaves_unanswered(0, UNANSWERED_ALONE + 9, 3000);
    leaves_unanswered(1, UNANSWERED_ALONE + 9, 2000);
    leaves_unanswered(2, UNANSWERED_ALONE, 1000);
    ck_assert_int_eq(unresponsive_host_find(&report), 2);
    leaves_unanswered(2, UNANSWERED_WITH_LINK, 1000); /* which proves nothing yet */
    ck_assert_int_eq(unresponsive_host_find(&report), 1);
    says(0, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, 3);
    ck_assert_int_eq(unresponsive_host_find(&report), 2);
}
END_TEST

/* hvdrun reaches host 0 through the agent of host 1, and that one through the agent of host 2. */
START_TEST(a_child_of_an_unresponsive_host_is_not_chosen_however_long_it_has_not_answered)
{
    hosts[0].above = &hosts[1];
    hosts[1].above = &hosts[2];
    leaves_unanswered(0, UNANSWERED_ALONE + 1, 1000);
    ck_assert_int_eq(unresponsive_host_find(&report), 0);
    leaves_unanswered(2, UNANSWERED_ALONE, 2000);
    ck_assert_int_eq(unresponsive_host_find(&report), 2);
    leaves_unanswered(1, UNANSWERED_ALONE, 1500);
    ck_assert_int_eq(unresponsive_host_find(&report), 2);
    leaves_unanswered(2, 0, 0);
    ck_assert_int_eq(unresponsive_host_find(&report), 1);
}
END_TEST

/* hvdrun was stopped, so that it has sent host 1 two heartbeats only. Rank 0 has left long before
 * and ended well. */
START_TEST(the_host_is_to_blame_and_not_the_rank_that_left_before)
{
    struct job_blame blame;
    says(3, RANK_END_LEFT, HVD_ERR_PEER_LEFT, 0);
    says(2, RANK_END_UNREACHABLE, HVD_ERR_PEER_LOST, RANK_NONE);
    for (int rank = 2; rank < RANKS; rank++) {
        ranks[rank].how = *EXITED_WITH(1);
        ranks[rank].ended_us = 9000 - (uint64_t)rank;
    }
    hosts[1].unanswered = UNANSWERED_WITH_LINK;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.host, 1);
    ck_assert_int_eq(blame.rank, -1);
    ck_assert_int_eq(blame.reporter, 3);
    ck_assert_int_eq(blame.reason, BLAME_HOST_UNRESPONSIVE);
    hosts[1].unanswered = 1;
    ck_assert(job_blame_choose(&blame, &report));
    ck_assert_int_eq(blame.rank, 0);
    ck_assert_int_eq(blame.reason, BLAME_LEFT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unresponsive_host");
    TCase *tcase = tcase_create("hosts");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, heartbeats_alone_or_with_a_lost_link_make_a_host_unresponsive, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tcase, of_several_the_host_that_was_asked_first_without_an_answer_is_chosen);
    tcase_add_test(tcase,
                   a_child_of_an_unresponsive_host_is_not_chosen_however_long_it_has_not_answered);
    tcase_add_test(tcase, the_host_is_to_blame_and_not_the_rank_that_left_before);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
