/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told what. A scenario is a line of events and the lines that come out; rank r lives on
 * node<r / 2>.
 *
 *   j1      rank 1 joins                     g1           rank 1 says GOODBYE
 *   j1/4    ... and says the size is 4       g1:text      ... because of HVD_ERR_PROTOCOL, "text"
 *                                            g1<          ... because others have left
 *   w1:text  rank 1 says BROKEN, by itself   w1/2:text    ... by the failure of rank 2
 *   e1:text_     the launcher: rank 1 "text "
 *   b1      rank 1's connection breaks       @250         it is 250 ms now; a tick */
#include "rendezvous/world/membership.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/server/rendezvous.h"
#include "rendezvous/world/membership_text.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_TIMEOUT_MS = 30000 };

#define WELCOME2 "welcome 0\nwelcome 1\ncomplete\n"
#define WELCOME3 "welcome 0\nwelcome 1\nwelcome 2\ncomplete\n"
#define MISSING "have not called hvd_init within 30 s\n"

static const struct {
    const char *sentence;
    int size;
    const char *events;
    const char *expected;
} scenarios[] = {
    { "a world of one is complete at once", 1, "j0", "welcome 0\ncomplete\n" },
    { "nobody is told anything before all are there", 3, "j0 j2 @29999", "" },
    { "the last one makes the world complete", 2, "j1 j0", WELCOME2 },
    { "five ranks are welcomed in order of rank", 5, "j4 j2 j0 j1 j3",
      "welcome 0\nwelcome 1\nwelcome 2\nwelcome 3\nwelcome 4\ncomplete\n" },

    { "a rank that has joined is refused a second time", 2, "j0 j0",
      "refused -3: HOROVOD_RANK is 0, but rank 0 has joined already\n" },
    { "a duplicate does not complete the world", 2, "j0 j0 j0 j1",
      "refused -3: HOROVOD_RANK is 0, but rank 0 has joined already\n"
      "refused -3: HOROVOD_RANK is 0, but rank 0 has joined already\n" WELCOME2 },
    { "a duplicate after the start is refused", 2, "j0 j1 j1",
      WELCOME2 "refused -3: HOROVOD_RANK is 1, but rank 1 has joined already\n" },
    { "a rank of another size is refused", 2, "j0/3 j2/3 j0 j1",
      "refused -3: HOROVOD_SIZE is 3, but this job has 2 ranks\n"
      "refused -3: HOROVOD_SIZE is 3, but this job has 2 ranks\n" WELCOME2 },
    { "the size of a job of one is told in the singular", 1, "j1/2",
      "refused -3: HOROVOD_SIZE is 2, but this job has 1 rank\n" },

    { "an exit before hvd_init refuses those that wait at once", 3, "j0 j1 e2:exited_with_status_3",
      "refuse 0 -10: rank 2 on node1 exited with status 3 before hvd_init\n"
      "refuse 1 -10: rank 2 on node1 exited with status 3 before hvd_init\n" },
    { "who comes after an exit before hvd_init is refused", 2, "e1:exited_with_status_0 @99999 j0",
      "refused -10: rank 1 on node0 exited with status 0 before hvd_init\n" },
    { "a job that never calls hvd_init tells nobody", 2,
      "e0:exited_with_status_0 e1:exited_with_status_0 @99999", "" },
    { "the first cause is the one that is told", 4,
      "j0 e3:was_killed_by_signal_9_(SIGKILL) e2:exited_with_status_1 j1",
      "refuse 0 -10: rank 3 on node1 was killed by signal 9 (SIGKILL) before hvd_init\n"
      "refused -10: rank 3 on node1 was killed by signal 9 (SIGKILL) before hvd_init\n" },
    { "a waiting rank that dies refuses the others", 3,
      "j0 j1 b1 e1:was_killed_by_signal_9_(SIGKILL)",
      "refuse 0 -10: rank 1 on node0 was killed by signal 9 (SIGKILL)\n" },
    { "a waiting rank whose connection breaks refuses the others after 100 ms", 3,
      "j0 j1 b1 @99 @100 j2",
      "refuse 0 -10: the connection to rank 1 on node0 broke\n"
      "refused -10: the connection to rank 1 on node0 broke\n" },
    { "a waiting rank that leaves refuses the others", 3, "j0 j1 g1 j2",
      "refuse 0 -11: rank 1 on node0 left (hvd_shutdown or exit)\n"
      "refused -11: rank 1 on node0 left (hvd_shutdown or exit)\n" },
    { "a rank that disconnects and comes again is refused", 2, "j0 b0 j0",
      "refused -3: HOROVOD_RANK is 0, but rank 0 has joined already\n" },

    { "a broken connection is explained by the launcher", 3,
      "j0 j1 j2 @1000 b2 @1050 e2:was_killed_by_signal_9_(SIGKILL) @9999",
      WELCOME3 "news 0 -10 rank 2: rank 2 on node1 was killed by signal 9 (SIGKILL)\n"
               "news 1 -10 rank 2: rank 2 on node1 was killed by signal 9 (SIGKILL)\n" },
    { "a broken connection is told without explanation after 100 ms", 3,
      "j0 j1 j2 @1000 b2 @1099 @1100 e2:was_killed_by_signal_9_(SIGKILL)",
      WELCOME3 "news 0 -10 rank 2: the connection to rank 2 on node1 broke\n"
               "news 1 -10 rank 2: the connection to rank 2 on node1 broke\n" },
    { "an end that the launcher saw first is told when the connection breaks", 2,
      "j0 j1 e1:was_killed_by_signal_11_(SIGSEGV) @50 b1",
      WELCOME2 "news 0 -10 rank 1: rank 1 on node0 was killed by signal 11 (SIGSEGV)\n" },
    { "an end that the launcher saw is told after 100 ms at the latest", 2,
      "j0 j1 e1:exited_with_status_5 @99 @100 b1",
      WELCOME2 "news 0 -10 rank 1: rank 1 on node0 exited with status 5\n" },
    { "a clean exit without hvd_shutdown is a loss that says so", 2,
      "j0 j1 b1 e1:exited_with_status_0",
      WELCOME2 "news 0 -10 rank 1: rank 1 on node0 exited with status 0 without hvd_shutdown\n" },
    { "a GOODBYE that arrives after the exit still counts", 2,
      "j0 j1 e1:exited_with_status_0 @20 g1 b1 @999",
      WELCOME2 "news 0 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n" },
    { "a GOODBYE after the loss was told changes nothing", 2,
      "j0 j1 e1:exited_with_status_0 @100 g1",
      WELCOME2 "news 0 -10 rank 1: rank 1 on node0 exited with status 0 without hvd_shutdown\n" },
    { "the end of a rank that has left is no news", 2, "j0 j1 g1 b1 e1:exited_with_status_1 @999",
      WELCOME2 "news 0 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n" },
    { "ranks that leave together are told of once", 3, "j0 j1 j2 g1 g0 g2",
      WELCOME3 "news 0 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n" },
    { "who leaves because of a failure tells the others which, once", 3,
      "j0 j1 j2 g1:broken g0:x g2",
      WELCOME3
      "news 0 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\n" },
    { "a failure is told of after a departure", 3, "j0 j1 j2 g0 g1:broken g2:broken",
      WELCOME3 "news 1 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -6 rank 1: rank 1 on node0: broken\n" },
    { "a departure is not told of after a failure", 3, "j0 j1 j2 g1:broken g0",
      WELCOME3
      "news 0 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\n" },
    { "who leaves because others have left is told of like anybody", 3, "j0 j1 j2 g0< g1< g2",
      WELCOME3 "news 1 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n" },
    { "a loss after a failure is told of", 3, "j0 j1 j2 g1:broken b0 @100",
      WELCOME3
      "news 0 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\n"
      "news 2 -10 rank 0 (origin 1): the connection to rank 0 on node0 broke\n" },
    { "a world that is broken is told of at once, to those who have not said so", 4,
      "j0 j1 j2 j3 w1:broken w0/1:broken g1:broken w3/1:broken",
      "welcome 0\nwelcome 1\nwelcome 2\nwelcome 3\ncomplete\n"
      "news 0 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\nnews "
      "3 -6 rank 1: rank 1 on node0: broken\n" },
    { "who hands a failure on hands its origin on", 3, "j0 j1 j2 w0/1:broken",
      WELCOME3
      "news 1 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\n" },
    { "a loss after that is told with the origin", 3, "j0 j1 j2 w1:broken b0 @100",
      WELCOME3
      "news 0 -6 rank 1: rank 1 on node0: broken\nnews 2 -6 rank 1: rank 1 on node0: broken\n"
      "news 2 -10 rank 0 (origin 1): the connection to rank 0 on node0 broke\n" },
    { "a world is broken after a departure, too", 3, "j0 j1 j2 g0 w1:broken",
      WELCOME3 "news 1 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -11 rank 0: rank 0 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -6 rank 1: rank 1 on node0: broken\n" },
    { "what a rank says that was lost changes nothing", 3,
      "j0 j1 j2 b1 e1:exited_with_status_1 w1:broken",
      WELCOME3 "news 0 -10 rank 1: rank 1 on node0 exited with status 1\n"
               "news 2 -10 rank 1: rank 1 on node0 exited with status 1\n" },
    { "a failure before the world is complete refuses those that wait", 3, "j0 j1 g1:broken j2",
      "refuse 0 -6: rank 1 on node0: broken\nrefused -6: rank 1 on node0: broken\n" },
    { "a loss after a departure is told of", 3, "j0 j1 j2 g1 b0 e0:exited_with_status_1",
      WELCOME3 "news 0 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -11 rank 1: rank 1 on node0 left (hvd_shutdown or exit)\n"
               "news 2 -10 rank 0: rank 0 on node0 exited with status 1\n" },
    { "a second loss is not told of", 3,
      "j0 j1 j2 b0 e0:exited_with_status_1 b1 e1:exited_with_status_2 g2",
      WELCOME3 "news 1 -10 rank 0: rank 0 on node0 exited with status 1\n"
               "news 2 -10 rank 0: rank 0 on node0 exited with status 1\n" },
    { "who comes to a broken world learns why", 3, "j0 j1 e2:exited_with_status_1 j2",
      "refuse 0 -10: rank 2 on node1 exited with status 1 before hvd_init\n"
      "refuse 1 -10: rank 2 on node1 exited with status 1 before hvd_init\n"
      "refused -10: rank 2 on node1 exited with status 1 before hvd_init\n" },
    { "an end that is reported twice is told once", 2,
      "j0 j1 b1 e1:exited_with_status_1 e1:exited_with_status_1 b1",
      WELCOME2 "news 0 -10 rank 1: rank 1 on node0 exited with status 1\n" },

    { "time without a HELLO runs no timeout", 2, "@99999 j0 @129998 j1", WELCOME2 },
    { "the start timeout counts from the first HELLO", 3, "@5000 j1 @34999 @35000",
      "refuse 1 -8: rank 0 on node0, rank 2 on node1 " MISSING
      "timed_out: rank 0 on node0, rank 2 on node1 " MISSING },
    { "a later HELLO does not prolong the start timeout", 3, "j1 @29000 j0 @30000",
      "refuse 0 -8: rank 2 on node1 has not called hvd_init within 30 s\n"
      "refuse 1 -8: rank 2 on node1 has not called hvd_init within 30 s\n"
      "timed_out: rank 2 on node1 has not called hvd_init within 30 s\n" },
    { "who comes after the timeout is refused", 2, "j1 @30000 j0",
      "refuse 1 -8: rank 0 on node0 has not called hvd_init within 30 s\n"
      "timed_out: rank 0 on node0 has not called hvd_init within 30 s\n"
      "refused -8: rank 0 on node0 has not called hvd_init within 30 s\n" },
    { "a complete world does not time out", 2, "j1 j0 @99999", WELCOME2 },
    { "a broken world does not time out", 3, "j0 b0 @100 @99999", "" },
};

struct log {
    char text[8192];
    size_t length;
};

static void __attribute__((format(printf, 2, 3))) say(struct log *log, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(log->text + log->length, sizeof log->text - log->length, format, args);
    va_end(args);
    log->length += (size_t)length;
    ck_assert_uint_lt(log->length, sizeof log->text);
}

static struct membership world;
static char hosts[WORLD_SIZE_MAX / 2][16];

static void world_init(int size, uint64_t start_timeout_ms)
{
    static struct rendezvous_slot slots[WORLD_SIZE_MAX];
    for (int rank = 0; rank < size; rank++) {
        snprintf(hosts[rank / 2], sizeof hosts[0], "node%d", rank / 2);
        int local_size = rank / 2 * 2 + 2 <= size ? 2 : 1;
        slots[rank] =
            (struct rendezvous_slot){ .rank_info = { rank, size, rank % 2, local_size, rank / 2,
                                                     (size + 1 - rank % 2) / 2 },
                                      .host = hosts[rank / 2] };
    }
    struct err err;
    ck_assert_int_eq(membership_init(&world, slots, size, start_timeout_ms, &err), HVD_OK);
}

/* "" if it is the rank's own. */
static const char *origin_words(const struct rank_end *news)
{
    static char words[32];
    snprintf(words, sizeof words, " (origin %d)", news->because_of);
    return news->because_of == news->rank ? "" : words;
}

static void log_actions(struct log *log)
{
    struct membership_action action;
    while (membership_next(&world, &action)) {
        const struct rank_end *cause = action.cause;
        char text[500];
        rank_end_text(text, sizeof text, cause);
        if (action.act == MEMBERSHIP_WELCOME)
            say(log, "welcome %d\n", action.rank);
        else if (action.act == MEMBERSHIP_REFUSE)
            say(log, "refuse %d %d: %s\n", action.rank, cause->status, text);
        else if (action.act == MEMBERSHIP_NEWS)
            say(log, "news %d %d rank %d%s: %s\n", action.rank, cause->status, cause->rank,
                origin_words(cause), text);
        else if (action.act == MEMBERSHIP_COMPLETE)
            say(log, "complete\n");
        else
            say(log, "timed_out: %s\n", text);
    }
}

static void join(struct log *log, int rank, int size, uint64_t now_ms)
{
    struct join_hello hello = { .rank = rank, .size = size, .addresses.count = 1 };
    snprintf(hello.addresses.text[0], JOIN_ADDRESS_MAX, "address of %d", rank);
    struct err err;
    if (membership_join(&world, &hello, now_ms, &err) != HVD_OK)
        say(log, "refused %d: %s\n", err.code, err.text);
}

/* "exited_with_status_3", "was_killed_by_signal_9_(SIGKILL)" */
static void ended(int rank, const char *how, uint64_t now_ms)
{
    int code = atoi(strpbrk(how, "0123456789"));
    membership_ended(&world, rank, *how == 'e' ? EXITED_WITH(code) : KILLED_BY(code), now_ms);
}

/* Of `origin`, or nobody's. */
static struct rank_end failure_of(int origin, const char *words)
{
    struct rank_end failure = { .how.kind = RANK_END_FAILED,
                                .status = HVD_ERR_PROTOCOL,
                                .rank = origin,
                                .because_of = origin };
    snprintf(failure.host, sizeof failure.host, "node%d", origin / 2);
    snprintf(failure.words, sizeof failure.words, "%s", words);
    return failure;
}

static void goodbye(int rank, const char *words)
{
    struct rank_end goodbye = rank_end_none();
    if (*words == '<') {
        goodbye.how.kind = RANK_END_LEFT;
        goodbye.status = HVD_ERR_PEER_LEFT;
    }
    if (*words == ':')
        goodbye = failure_of(rank, words + 1);
    membership_goodbye(&world, rank, &goodbye);
}

static void word(int rank, char *words)
{
    int origin = *words == '/' ? (int)strtol(words + 1, &words, 10) : rank;
    struct rank_end failure = failure_of(origin, words + 1);
    membership_word(&world, rank, &failure);
}

static void play_event(struct log *log, const char *event, uint64_t *now_ms)
{
    char *end;
    long number = strtol(event + 1, &end, 10);
    int rank = (int)number;
    if (*event == 'j')
        join(log, rank, *end ? atoi(end + 1) : world.size, *now_ms);
    else if (*event == 'g')
        goodbye(rank, end);
    else if (*event == 'w')
        word(rank, end);
    else if (*event == 'b')
        membership_broke(&world, rank, *now_ms);
    else if (*event == 'e')
        ended(rank, end + 1, *now_ms);
    else
        membership_tick(&world, *now_ms = (uint64_t)number);
    log_actions(log);
}

static void play(struct log *log, const char *events)
{
    uint64_t now_ms = 0;
    char *words = strdup(events), *rest = words, *event;
    while ((event = strsep(&rest, " ")))
        play_event(log, event, &now_ms);
    free(words);
}

START_TEST(each_scenario_tells_whom_it_concerns)
{
    struct log log = { 0 };
    world_init(scenarios[_i].size, START_TIMEOUT_MS);
    play(&log, scenarios[_i].events);
    ck_assert_msg(strcmp(log.text, scenarios[_i].expected) == 0,
                  "%s\n%s\nexpected:\n%s\nbut was:\n%s", scenarios[_i].sentence,
                  scenarios[_i].events, scenarios[_i].expected, log.text);
    membership_fini(&world);
}
END_TEST

/* Whose failure it was first; -1: nobody knows, or nothing has failed. */
static const struct {
    const char *sentence, *events;
    int rank, status;
    const char *text;
} origins[] = {
    { "nothing has failed", "j0 j1 j2 g0 g1 g2", -1, HVD_OK, "" },
    { "a rank that says so is it", "j0 j1 j2 w1:broken w0/1:broken", 1, HVD_ERR_PROTOCOL,
      "rank 1 on node0: broken" },
    { "so it is when another is heard first", "j0 j1 j2 w0/1:broken w1:broken", 1, HVD_ERR_PROTOCOL,
      "rank 1 on node0: broken" },
    { "or is the only one that is heard", "j0 j1 j2 w0/1:broken b1 e1:exited_with_status_1", 1,
      HVD_ERR_PROTOCOL, "rank 1 on node0: broken" },
    { "or says it when it leaves", "j0 j1 j2 g0 g1:broken b2 @100", 1, HVD_ERR_PROTOCOL,
      "rank 1 on node0: broken" },
    { "who ends after that is not", "j0 j1 j2 w1:broken b0 e0:exited_with_status_1", 1,
      HVD_ERR_PROTOCOL, "rank 1 on node0: broken" },
    { "of two that say it of themselves it is the first", "j0 j1 j2 w2:full w1:broken", 2,
      HVD_ERR_PROTOCOL, "rank 2 on node1: full" },
    { "a rank that is lost is it", "j0 j1 j2 b2 @100 w0/2:x", 2, HVD_ERR_PEER_LOST,
      "the connection to rank 2 on node1 broke" },
    { "also when somebody knew before that something had broken", "j0 j1 j2 w0/-1:x b2 @100", 2,
      HVD_ERR_PEER_LOST, "the connection to rank 2 on node1 broke" },
    { "and has ended for it", "j0 j1 j2 b2 w0/-1:x b0 e0:exited_with_status_1", 2,
      HVD_ERR_PEER_LOST, "the connection to rank 2 on node1 broke" },
    { "a rank that says so after a loss is not", "j0 j1 j2 b2 e2:exited_with_status_1 w1:broken", 2,
      HVD_ERR_PEER_LOST, "rank 2 on node1 exited with status 1" },
    { "a rank that does not exist is not", "j0 j1 j2 w0/3:x w0/65535:x", -1, HVD_OK, "" },
    { "a rank that left before all had come is", "j0 j1 g1", 1, HVD_ERR_PEER_LEFT,
      "rank 1 on node0 left (hvd_shutdown or exit)" },
    { "nor is anybody when time is over", "j0 @30000 b0 @99999", -1, HVD_OK, "" },
};

START_TEST(the_first_that_failed_is_the_origin)
{
    struct log log = { 0 };
    world_init(3, START_TIMEOUT_MS);
    play(&log, origins[_i].events);
    char text[500];
    const struct rank_end *origin = &world.origin;
    rank_end_text(text, sizeof text, origin);
    ck_assert_msg(origin->status == origins[_i].status, "%s: %d", origins[_i].sentence,
                  origin->status);
    if (origin->status != HVD_OK) {
        ck_assert_str_eq(text, origins[_i].text);
        ck_assert_int_eq(origin->because_of, origins[_i].rank);
    }
    membership_fini(&world);
}
END_TEST

START_TEST(all_orders_of_three_ranks_are_welcomed_alike)
{
    static const char *const orders[] = { "j0 j1 j2", "j0 j2 j1", "j1 j0 j2",
                                          "j1 j2 j0", "j2 j0 j1", "j2 j1 j0" };
    struct log log = { 0 };
    world_init(3, START_TIMEOUT_MS);
    play(&log, orders[_i]);
    ck_assert_str_eq(log.text, WELCOME3);
    membership_fini(&world);
}
END_TEST

/* In every order of joins, ends and breaks each waiting rank hears exactly one thing. */
START_TEST(an_exit_between_any_joins_leaves_nobody_waiting)
{
    static const char *const orders[] = {
        "e2:exited_with_status_1 j0 j1", "j0 e2:exited_with_status_1 j1",
        "j0 j1 e2:exited_with_status_1", "e2:exited_with_status_1 j1 j0",
        "j1 e2:exited_with_status_1 j0", "j1 j0 e2:exited_with_status_1"
    };
    struct log log = { 0 };
    world_init(3, START_TIMEOUT_MS);
    play(&log, orders[_i]);
    int told = 0;
    for (const char *at = log.text;
         (at = strstr(at, "rank 2 on node1 exited with status 1 before hvd_init")); at++)
        told++;
    ck_assert_int_eq(told, 2);
    membership_fini(&world);
}
END_TEST

static void join_all(int size)
{
    struct log log = { 0 };
    for (int i = 0; i < size; i++)
        join(&log, (int)((i * 7919L) % size), size, 0);
    ck_assert_str_eq(log.text, "");
}

static void check_welcome(int rank, int size)
{
    struct join_welcome welcome;
    membership_welcome(&world, rank, &welcome);
    ck_assert_int_eq(welcome.rank_info.rank, rank);
    ck_assert_int_eq(welcome.rank_info.size, size);
    ck_assert_int_eq(welcome.rank_info.local_rank, rank % 2);
    ck_assert_int_eq(welcome.homogeneous, size % 2 == 0 || size == 1);
    int ranks[NEIGHBOURS_MAX];
    ck_assert_int_eq(welcome.nneighbours, neighbours(ranks, rank, size, 1));
    for (int i = 0; i < welcome.nneighbours; i++) {
        const struct join_peer *peer = &welcome.neighbours[i];
        char address[JOIN_ADDRESS_MAX];
        snprintf(address, sizeof address, "address of %d", ranks[i]);
        ck_assert_int_eq(peer->rank, ranks[i]);
        ck_assert_str_eq(peer->host, hosts[ranks[i] / 2]);
        ck_assert_int_eq(peer->addresses.count, 1);
        ck_assert_str_eq(peer->addresses.text[0], address);
    }
}

START_TEST(every_rank_gets_its_place_and_its_neighbours)
{
    static const int sizes[] = { 1, 2, 3, 5, 1000 };
    int size = sizes[_i], welcomed = 0;
    world_init(size, START_TIMEOUT_MS);
    join_all(size);
    struct membership_action action;
    while (membership_next(&world, &action) && action.act == MEMBERSHIP_WELCOME) {
        ck_assert_int_eq(action.rank, welcomed++);
        check_welcome(action.rank, size);
    }
    ck_assert_int_eq(action.act, MEMBERSHIP_COMPLETE);
    ck_assert_int_eq(welcomed, size);
    ck_assert(!membership_next(&world, &action));
    membership_fini(&world);
}
END_TEST

/* Hosts with so many ranks, 0 at the end, whose ranks know of so many processors each. */
static const struct crowd {
    int ranks[4], processors[12], star;
} crowds[] = {
    { { 8 }, { 2, 2, 2, 2, 2, 2, 2, 2 }, 8 },
    { { 8 }, { 8, 8, 8, 8, 8, 8, 8, 8 }, 1 }, /* a processor each */
    { { 8 }, { 0, 0, 0, 0, 0, 0, 0, 0 }, 1 }, /* not known */
    { { 8 }, { 9, 9, 9, 9, 9, 9, 9, 7 }, 8 }, /* one knows of fewer */
    { { 4, 4 }, { 2, 2, 2, 2, 2, 2, 2, 2 }, 4 },
    { { 4, 4, 4 }, { 8, 8, 8, 8, 2, 2, 2, 2, 8, 8, 8, 8 }, 4 }, /* one host is crowded */
    { { 4, 4 }, { 4, 4, 4, 4, 4, 4, 4, 4 }, 1 },
    { { 6, 2 }, { 2, 2, 2, 2, 2, 2, 2, 2 }, 1 }, /* hosts of different sizes */
    { { 1, 1, 1 }, { 1, 1, 1 }, 1 },
};

static int world_of_crowd(const struct crowd *crowd)
{
    struct rendezvous_slot slots[12] = { 0 };
    int size = 0, nhosts = 0;
    while (nhosts < 4 && crowd->ranks[nhosts] > 0)
        nhosts++;
    for (int host = 0; host < nhosts; host++)
        for (int i = 0; i < crowd->ranks[host]; i++, size++)
            slots[size] = (struct rendezvous_slot){
                { .local_rank = i, .local_size = crowd->ranks[host], .cross_rank = host }, "a"
            };
    for (int rank = 0; rank < size; rank++) {
        slots[rank].rank_info.rank = rank;
        slots[rank].rank_info.size = size;
    }
    ck_assert_int_eq(membership_init(&world, slots, size, START_TIMEOUT_MS, NULL), HVD_OK);
    return size;
}

START_TEST(ranks_that_share_processors_are_a_star_and_all_learn_it)
{
    const struct crowd *crowd = &crowds[_i];
    int size = world_of_crowd(crowd);
    for (int rank = size - 1; rank >= 0; rank--) {
        struct join_hello hello = { .rank = rank,
                                    .size = size,
                                    .processors = crowd->processors[rank] };
        ck_assert_int_eq(membership_join(&world, &hello, 0, NULL), HVD_OK);
    }
    for (int rank = 0; rank < size; rank++) {
        int ranks[NEIGHBOURS_MAX];
        struct join_welcome welcome;
        membership_welcome(&world, rank, &welcome);
        ck_assert_int_eq(welcome.star, crowd->star);
        int count = neighbours(ranks, rank, size, crowd->star);
        ck_assert_int_eq(welcome.nneighbours, count);
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(welcome.neighbours[i].rank, ranks[i]);
    }
    membership_fini(&world);
}
END_TEST

static int count_actions(void)
{
    struct membership_action action;
    int count = 0;
    while (membership_next(&world, &action))
        count++;
    return count;
}

START_TEST(a_thousand_ranks_that_end_cost_one_message_each)
{
    world_init(1000, START_TIMEOUT_MS);
    join_all(1000);
    ck_assert_int_eq(count_actions(), 1001);
    int messages = 0;
    for (int rank = 0; rank < 1000; rank++) {
        membership_goodbye(&world, rank,
                           &(struct rank_end){ .rank = RANK_NONE, .because_of = RANK_NONE });
        messages += count_actions();
    }
    ck_assert_int_eq(messages, 999);
    membership_fini(&world);
}
END_TEST

START_TEST(ten_thousand_ranks_take_little_memory)
{
    size_t each = sizeof(struct member) + sizeof(struct rendezvous_slot) +
                  sizeof(struct join_addresses) + sizeof(char *);
    ck_assert_uint_le(each, 1200);
}
END_TEST

START_TEST(nothing_is_pending_in_a_world_at_work)
{
    world_init(2, START_TIMEOUT_MS);
    struct log log = { 0 };
    ck_assert_uint_eq(membership_deadline(&world), MEMBERSHIP_NEVER);
    join(&log, 0, 2, 500);
    ck_assert_uint_eq(membership_deadline(&world), 500 + START_TIMEOUT_MS);
    join(&log, 1, 2, 600);
    log_actions(&log);
    ck_assert_uint_eq(membership_deadline(&world), MEMBERSHIP_NEVER);
    membership_ended(&world, 1, EXITED_WITH(0), 1000);
    ck_assert_uint_eq(membership_deadline(&world), 1100);
    membership_goodbye(&world, 1, &(struct rank_end){ .rank = RANK_NONE, .because_of = RANK_NONE });
    log_actions(&log);
    ck_assert_uint_eq(membership_deadline(&world), MEMBERSHIP_NEVER);
    membership_fini(&world);
}
END_TEST

START_TEST(a_timeout_beyond_the_end_of_time_never_comes)
{
    struct log log = { 0 };
    world_init(2, UINT64_MAX);
    join(&log, 0, 2, 500);
    ck_assert_uint_eq(membership_deadline(&world), MEMBERSHIP_NEVER);
    membership_fini(&world);
}
END_TEST

static const struct {
    int size;
    const char *joins;
    uint64_t timeout_ms;
    const char *text;
} missing[] = {
    { 2, "j0", 30000, "rank 1 on node0 has not called hvd_init within 30 s" },
    { 3, "j2", 30000, "ranks 0, 1 on node0 have not called hvd_init within 30 s" },
    { 4, "j1", 250, "rank 0 on node0, ranks 2, 3 on node1 have not called hvd_init within 250 ms" },
};

START_TEST(missing_ranks_are_named_with_their_hosts)
{
    struct log log = { 0 };
    world_init(missing[_i].size, missing[_i].timeout_ms);
    play(&log, missing[_i].joins);
    char text[JOIN_TEXT_MAX];
    membership_text_missing(text, &world, true);
    ck_assert_str_eq(text, missing[_i].text);
    membership_fini(&world);
}
END_TEST

static void missing_on_one_host(char text[JOIN_TEXT_MAX], int size, const char *host, int step)
{
    static struct rendezvous_slot slots[WORLD_SIZE_MAX];
    for (int rank = 0; rank < size; rank++)
        slots[rank] = (struct rendezvous_slot){ { rank, size, rank, size, 0, 1 }, host };
    struct err err;
    ck_assert_int_eq(membership_init(&world, slots, size, START_TIMEOUT_MS, &err), HVD_OK);
    struct log log = { 0 };
    for (int rank = 0; rank < size; rank += step)
        join(&log, rank, size, 0);
    membership_text_missing(text, &world, true);
    ck_assert_uint_le(strlen(text), MEMBERSHIP_TEXT_MAX);
    membership_fini(&world);
}

START_TEST(runs_of_missing_ranks_are_ranges)
{
    char text[JOIN_TEXT_MAX];
    missing_on_one_host(text, 10, "localhost", 5);
    ck_assert_str_eq(text, "ranks 1-4, 6-9 on localhost have not called hvd_init within 30 s");
}
END_TEST

START_TEST(many_missing_ranks_fit_one_line)
{
    char text[JOIN_TEXT_MAX];
    missing_on_one_host(text, WORLD_SIZE_MAX, "localhost", 2);
    ck_assert_mem_eq(text, "ranks 1, 3, 5, 7, ", 18);
    ck_assert_ptr_nonnull(strstr(text, " on localhost and 65"));
    ck_assert_ptr_nonnull(strstr(text, " others have not called hvd_init within 30 s"));
}
END_TEST

START_TEST(long_host_names_fit_one_line)
{
    char text[JOIN_TEXT_MAX], host[254];
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    missing_on_one_host(text, WORLD_SIZE_MAX, host, 2);
    ck_assert_ptr_nonnull(strstr(text, " others have not called hvd_init within 30 s"));

    struct rendezvous_slot slot = { { 0, 1, 0, 1, 0, 1 }, host };
    struct err err;
    ck_assert_int_eq(membership_init(&world, &slot, 1, START_TIMEOUT_MS, &err), HVD_OK);
    membership_ended(&world, 0, KILLED_BY(9), 0);
    rank_end_text(text, sizeof text, &world.cause);
    ck_assert_uint_le(strlen(text), MEMBERSHIP_TEXT_MAX);
    ck_assert_ptr_nonnull(strstr(text, " was killed by signal 9 (SIGKILL) before hvd_init"));
    membership_fini(&world);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("membership");
    tcase_add_loop_test(tcase, each_scenario_tells_whom_it_concerns, 0,
                        sizeof scenarios / sizeof *scenarios);
    tcase_add_loop_test(tcase, the_first_that_failed_is_the_origin, 0,
                        sizeof origins / sizeof *origins);
    tcase_add_loop_test(tcase, all_orders_of_three_ranks_are_welcomed_alike, 0, 6);
    tcase_add_loop_test(tcase, an_exit_between_any_joins_leaves_nobody_waiting, 0, 6);
    tcase_add_loop_test(tcase, every_rank_gets_its_place_and_its_neighbours, 0, 5);
    tcase_add_loop_test(tcase, ranks_that_share_processors_are_a_star_and_all_learn_it, 0,
                        sizeof crowds / sizeof *crowds);
    tcase_add_test(tcase, a_thousand_ranks_that_end_cost_one_message_each);
    tcase_add_test(tcase, ten_thousand_ranks_take_little_memory);
    tcase_add_test(tcase, nothing_is_pending_in_a_world_at_work);
    tcase_add_test(tcase, a_timeout_beyond_the_end_of_time_never_comes);
    tcase_add_loop_test(tcase, missing_ranks_are_named_with_their_hosts, 0,
                        sizeof missing / sizeof *missing);
    tcase_add_test(tcase, runs_of_missing_ranks_are_ranges);
    tcase_add_test(tcase, many_missing_ranks_fit_one_line);
    tcase_add_test(tcase, long_host_names_fit_one_line);
    Suite *all = suite_create("rendezvous_membership");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
