/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop with steps whose results are given: what it calls, in which order, and with what it
 * ends. A letter stands for each step: Join, Begin, Train, may reset?, Restore, Keep, Leave. */
#include "lib/training/elastic_loop.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* Short names for statuses in scripts. */
enum {
    FINE = HVD_OK,
    LOST = HVD_ERR_PEER_LOST,
    LEFT = HVD_ERR_PEER_LEFT,
    UPDATED = HVD_HOSTS_UPDATED,
    REMOVED = HVD_ERR_REMOVED,
    MISMATCH = HVD_ERR_MISMATCH,
    NOMEM = HVD_ERR_NOMEM,
};

enum { SCRIPT_MAX = 6 };

/* The results of a step, one for each time that it is made. */
struct script {
    int results[SCRIPT_MAX];
    int made;
};

static struct {
    struct script join, begin, train, may_reset, restore;
    char calls[1000];
} played;

static int play(struct script *script, char letter, struct err *err)
{
    size_t length = strlen(played.calls);
    ck_assert_uint_lt(length, sizeof played.calls - 1);
    played.calls[length] = letter;
    int rc = script->made < SCRIPT_MAX ? script->results[script->made] : HVD_OK;
    script->made++;
    return rc < 0 ? (fail)(err, rc, "%c number %d", letter, script->made) : rc;
}

static int play_join(void *arg, struct err *err)
{
    (void)arg;
    return play(&played.join, 'J', err);
}

static int play_begin(void *arg, struct err *err)
{
    (void)arg;
    return play(&played.begin, 'B', err);
}

static int play_train(void *arg, struct err *err)
{
    (void)arg;
    return play(&played.train, 'T', err);
}

static int play_may_reset(void *arg, const struct err *why, struct err *err)
{
    (void)arg;
    ck_assert_int_lt(why->code, 0);
    return play(&played.may_reset, '?', err);
}

static int play_restore(void *arg, struct err *err)
{
    (void)arg;
    return play(&played.restore, 'R', err);
}

static int play_keep(void *arg, struct err *err)
{
    (void)arg;
    return play(&(struct script){ .made = 0 }, 'K', err);
}

static void play_leave(void *arg)
{
    (void)arg;
    play(&(struct script){ .made = 0 }, 'L', NULL);
}

static const struct elastic_steps steps = { .join = play_join,
                                            .begin = play_begin,
                                            .train = play_train,
                                            .may_reset = play_may_reset,
                                            .restore = play_restore,
                                            .keep = play_keep,
                                            .leave = play_leave };

static const struct {
    struct script join, begin, train, may_reset, restore;
    const char *calls, *text;
    int result;
} runs[] = {
    { .calls = "JBT" },
    { .train = { { LOST } }, .calls = "JBT?RLJBT" },
    { .train = { { LEFT } }, .calls = "JBT?RLJBT" },
    { .train = { { UPDATED } }, .calls = "JBT?KLJBT" },
    { .train = { { UPDATED, LOST, UPDATED } }, .calls = "JBT?KLJBT?RLJBT?KLJBT" },
    { .begin = { { LOST, LEFT } }, .calls = "JB?RLJB?RLJBT" },
    { .join = { { FINE, LOST, LOST } }, .train = { { LOST } }, .calls = "JBT?RLJ?LJ?LJBT" },
    /* The ends. */
    { .train = { { 7 } }, .calls = "JBT", .result = 7 },
    { .train = { { NOMEM } }, .calls = "JBT", .result = NOMEM, .text = "T number 1" },
    { .train = { { LOST, -1000 } }, .calls = "JBT?RLJBT", .result = -1000, .text = "T number 2" },
    { .begin = { { MISMATCH } }, .calls = "JB", .result = MISMATCH, .text = "B number 1" },
    { .begin = { { UPDATED } }, .calls = "JB", .result = UPDATED, .text = "B number 1" },
    { .join = { { NOMEM } }, .calls = "J", .result = NOMEM, .text = "J number 1" },
    { .join = { { FINE, REMOVED } },
      .train = { { UPDATED } },
      .calls = "JBT?KLJ",
      .result = REMOVED,
      .text = "J number 2" },
    { .train = { { LOST } },
      .may_reset = { { LOST } },
      .calls = "JBT?",
      .result = LOST,
      .text = "? number 1" },
    { .join = { { LOST, LOST } },
      .may_reset = { { FINE, LOST } },
      .calls = "J?LJ?",
      .result = LOST,
      .text = "? number 2" },
    { .train = { { LOST } },
      .restore = { { NOMEM } },
      .calls = "JBT?R",
      .result = NOMEM,
      .text = "R number 1" },
};

START_TEST(each_result_has_its_consequence)
{
    struct err err = { .code = HVD_OK };
    memset(&played, 0, sizeof played);
    played.join = runs[_i].join;
    played.begin = runs[_i].begin;
    played.train = runs[_i].train;
    played.may_reset = runs[_i].may_reset;
    played.restore = runs[_i].restore;
    ck_assert_int_eq(elastic_loop(&steps, &err), runs[_i].result);
    ck_assert_str_eq(played.calls, runs[_i].calls);
    if (runs[_i].text)
        ck_assert_str_eq(err.text, runs[_i].text);
}
END_TEST

static int never_joins(void *arg, struct err *err)
{
    (*(int *)arg)++;
    return (fail)(err, HVD_ERR_PEER_LOST, "rank 1 was lost");
}

START_TEST(a_job_that_never_comes_up_is_given_up)
{
    int attempts = 0;
    struct err err;
    struct elastic_steps hopeless = steps;
    memset(&played, 0, sizeof played);
    hopeless.arg = &attempts;
    hopeless.join = never_joins;
    ck_assert_int_eq(elastic_loop(&hopeless, &err), HVD_ERR_PEER_LOST);
    ck_assert_int_eq(attempts, ELASTIC_JOINS_MAX);
    ck_assert_str_eq(err.text, "rank 1 was lost");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic loop");
    TCase *tcase = tcase_create("elastic loop");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, each_result_has_its_consequence, 0, ROWS(runs));
    tcase_add_test(tcase, a_job_that_never_comes_up_is_given_up);
    return unit_run(suite);
}
