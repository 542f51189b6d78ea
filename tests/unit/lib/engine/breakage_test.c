/* SPDX-License-Identifier: Apache-2.0 */
/* What a broken link means when a rank has left as well: the end of the set, or of the world.
 * Linked with -Wl,--wrap, so that the test says what the links of the set show, and sees whether
 * the set ends. */
#include "lib/engine/engine_impl.h"
#include "tests/support/unit.h"

enum { LEAVER = 1, SILENT = 2 };

static struct engine engine;
static struct failure failure;
static struct process_set set;
static struct process_set *sets[] = { &set };
static bool host_is_silent;

int __wrap_set_check_links(struct process_set *checked, struct rank_end *end);
void __wrap_set_end(struct process_set *ended, int who, const struct rank_end *end);

static struct rank_end lost(int rank)
{
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_UNREACHABLE;
    end.status = HVD_ERR_PEER_LOST;
    end.rank = rank;
    return end;
}

int __wrap_set_check_links(struct process_set *checked, struct rank_end *end)
{
    *end = lost(SILENT);
    checked->links.broken = host_is_silent;
    return host_is_silent ? HVD_ERR_PEER_LOST : HVD_OK;
}

void __wrap_set_end(struct process_set *ended, int who, const struct rank_end *end)
{
    (void)who;
    ended->ended.code = end->status;
    ended->end = *end;
}

static void setup(void)
{
    engine = (struct engine){ .size = 3, .failure = &failure, .sets = { .at = sets, .count = 1 } };
    set = (struct process_set){ .engine = &engine, .size = 3, .rank = -1, .state = SET_READY };
    host_is_silent = false;
    failure_init(&failure);
    pthread_cond_init(&engine.progress.changed, NULL);
}

static void teardown(void)
{
    pthread_cond_destroy(&engine.progress.changed);
    failure_fini(&failure);
}

/* The rendezvous has said so, and the tree has not. */
static void leave(void)
{
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_LEFT;
    end.status = HVD_ERR_PEER_LEFT;
    end.rank = LEAVER;
    failure_record(&failure, &end);
}

/* The link to rank 2 has ended, and the time in which the tree may explain this is over. */
static void lose_link(void)
{
    struct rank_end end = lost(SILENT);
    set.links.broken = true;
    engine_symptom(&engine, &end);
    engine.breakage.symptom_until_ns = 0;
}

static void find_silent_host(void)
{
    host_is_silent = true;
    engine_check_links(&engine);
}

static void ck_assert_world_is_broken_by(int rank)
{
    struct rank_end end;
    ck_assert_int_eq(failure_reason(&failure, &end), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(end.rank, rank);
    ck_assert(engine.breakage.broken);
    ck_assert_int_eq(set.ended.code, HVD_OK);
}

START_TEST(a_link_that_ends_without_another_reason_breaks_the_world)
{
    lose_link();
    ck_assert(breakage_diagnose(&engine));
    ck_assert_world_is_broken_by(SILENT);
}
END_TEST

START_TEST(a_link_that_ends_after_a_rank_has_left_ends_the_set)
{
    leave();
    lose_link();
    ck_assert(!breakage_diagnose(&engine));
    ck_assert(!engine.breakage.broken);
    ck_assert_int_eq(set.ended.code, HVD_ERR_PEER_LEFT);
    ck_assert_int_eq(set.end.rank, LEAVER);
}
END_TEST

START_TEST(a_silent_host_breaks_the_world)
{
    find_silent_host();
    ck_assert(breakage_diagnose(&engine));
    ck_assert_world_is_broken_by(SILENT);
}
END_TEST

START_TEST(a_silent_host_breaks_the_world_though_a_rank_has_left)
{
    leave();
    find_silent_host();
    ck_assert(breakage_diagnose(&engine));
    ck_assert_world_is_broken_by(SILENT);
}
END_TEST

/* The link to a third host, for instance. */
START_TEST(a_silent_host_breaks_the_world_though_a_link_has_ended_and_a_rank_has_left)
{
    struct rank_end third = lost(LEAVER);
    leave();
    engine_symptom(&engine, &third);
    find_silent_host();
    ck_assert(breakage_diagnose(&engine));
    ck_assert_world_is_broken_by(SILENT);
}
END_TEST

/* The news that the rank has left has come over the tree. */
START_TEST(a_silent_host_does_not_matter_to_a_set_that_has_ended_meanwhile)
{
    find_silent_host();
    set.ended.code = HVD_ERR_PEER_LEFT;
    ck_assert(!breakage_diagnose(&engine));
    ck_assert(!engine.breakage.broken);
    ck_assert_int_eq(engine.breakage.symptom.status, HVD_OK);
}
END_TEST

/* What was known of the silent host says nothing about a link that ends later. */
START_TEST(a_link_that_ends_later_is_explained_by_a_rank_that_has_left)
{
    find_silent_host();
    set.ended.code = HVD_ERR_PEER_LEFT;
    ck_assert(!breakage_diagnose(&engine));
    set.ended.code = HVD_OK;
    host_is_silent = false;
    leave();
    lose_link();
    ck_assert(!breakage_diagnose(&engine));
    ck_assert(!engine.breakage.broken);
    ck_assert_int_eq(set.ended.code, HVD_ERR_PEER_LEFT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("breakage");
    TCase *tcase = tcase_create("breakage");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_link_that_ends_without_another_reason_breaks_the_world);
    tcase_add_test(tcase, a_link_that_ends_after_a_rank_has_left_ends_the_set);
    tcase_add_test(tcase, a_silent_host_breaks_the_world);
    tcase_add_test(tcase, a_silent_host_breaks_the_world_though_a_rank_has_left);
    tcase_add_test(tcase,
                   a_silent_host_breaks_the_world_though_a_link_has_ended_and_a_rank_has_left);
    tcase_add_test(tcase, a_silent_host_does_not_matter_to_a_set_that_has_ended_meanwhile);
    tcase_add_test(tcase, a_link_that_ends_later_is_explained_by_a_rank_that_has_left);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
