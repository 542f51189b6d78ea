/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of ranks in memory and a clock that jumps from deadline to deadline: who waits, what is
 * said, and how often. */
#include "lib/stall/stall.h"

#include "lib/stall/stall_message.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum {
    SIZE_MAX_HERE = 64,
    LOOPED_MAX = 30,
    SUBMITTED_MAX = 100,
    LETTERS_MAX = 4096,
    SPOKEN_MAX = 64
};

#define SECOND 1000000000ull
#define CHECK (60 * SECOND)

struct submitted {
    char name[32];
    enum collective_kind kind;
    uint64_t since_ns;
    bool own;
};

struct rank {
    struct stall *stall;
    int count;
    struct submitted submitted[SUBMITTED_MAX];
    uint64_t decided_ns, decisions;
    bool stopped, stuck;
    char host[20];
    int alerts;
};

/* A message under way; to a stopped rank it stays so. */
struct letter {
    int from, to;
    enum stall_message message;
    unsigned char body[8192];
    size_t nbytes;
};

struct spoken {
    int rank;
    uint64_t at_ns;
    enum stall_action action;
    char text[4000];
};

static struct rank ranks[SIZE_MAX_HERE];
static int size;
static uint64_t now_ns;
static struct letter letters[LETTERS_MAX];
static int nletters;
static struct spoken spoken[SPOKEN_MAX];
static int nspoken;
static int world_ranks[SIZE_MAX_HERE];

static int see_waiting(void *arg, int index, struct waiting *waiting)
{
    const struct rank *rank = arg;
    if (index >= rank->count)
        return 0;
    const struct submitted *submitted = &rank->submitted[index];
    *waiting = (struct waiting){ .name = submitted->name,
                                 .kind = submitted->kind,
                                 .since_ns = submitted->since_ns,
                                 .own = submitted->own };
    return 1;
}

static int see_waiting_count(void *arg)
{
    return ((struct rank *)arg)->count;
}

static uint64_t see_decided(void *arg)
{
    return ((struct rank *)arg)->decided_ns;
}

static void see_doing(void *arg, char *text, size_t room)
{
    snprintf(text, room, "reading file %d\x1b", (int)((struct rank *)arg - ranks));
}

static bool see_stuck(void *arg)
{
    return ((struct rank *)arg)->stuck;
}

static uint64_t see_decisions(void *arg)
{
    return ((struct rank *)arg)->decisions;
}

static void make_world_with(int count, uint64_t check_ns, uint64_t shutdown_ns)
{
    struct err err = { 0 };
    size = count;
    now_ns = SECOND;
    nletters = nspoken = 0;
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < size; i++) {
        struct rank *rank = &ranks[i];
        world_ranks[i] = i;
        snprintf(rank->host, sizeof rank->host, "node%d", i);
        struct stall_options options = {
            .rank = i,
            .size = size,
            .world_ranks = world_ranks,
            .host = rank->host,
            .check_ns = check_ns,
            .shutdown_ns = shutdown_ns,
            .view = { see_waiting, see_waiting_count, see_decided, see_doing, rank, see_stuck,
                      see_decisions },
        };
        rank->stall = stall_create(&options, &err);
        ck_assert_ptr_nonnull(rank->stall);
    }
}

static void make_world(int count)
{
    make_world_with(count, CHECK, 0);
}

static void end_world(void)
{
    for (int i = 0; i < size; i++)
        stall_destroy(ranks[i].stall);
}

static void submit(int rank, const char *name, enum collective_kind kind)
{
    struct submitted *submitted = &ranks[rank].submitted[ranks[rank].count++];
    *submitted = (struct submitted){ .kind = kind, .since_ns = now_ns, .own = true };
    snprintf(submitted->name, sizeof submitted->name, "%s", name);
}

static void submit_but(int missing, const char *name)
{
    for (int i = 0; i < size; i++)
        if (i != missing)
            submit(i, name, COLLECTIVE_ALLREDUCE);
}

static void finish_all(void)
{
    for (int i = 0; i < size; i++) {
        ranks[i].count = 0;
        ranks[i].decided_ns = now_ns;
    }
}

static void post(int from, int to, enum stall_message message, const void *body, size_t nbytes)
{
    ck_assert_int_lt(nletters, LETTERS_MAX);
    ck_assert_uint_le(nbytes, sizeof letters->body);
    struct letter *letter = &letters[nletters++];
    *letter = (struct letter){ .from = from, .to = to, .message = message, .nbytes = nbytes };
    memcpy(letter->body, body, nbytes);
}

/* What the engine does after each call. */
static void take(int rank)
{
    enum stall_message message;
    const void *body;
    size_t nbytes;
    struct tree_position tree;
    tree_position(&tree, rank, size);
    while (stall_take(ranks[rank].stall, &message, &body, &nbytes)) {
        ranks[rank].alerts += message == STALL_ALERT;
        if (message != STALL_PROBE)
            post(rank, tree.parent, message, body, nbytes);
        for (int i = 0; message == STALL_PROBE && i < tree.nchildren; i++)
            post(rank, tree.children[i], message, body, nbytes);
    }
    const char *text;
    enum stall_action action = stall_act(ranks[rank].stall, &text);
    if (action == STALL_NOTHING)
        return;
    ck_assert_int_lt(nspoken, SPOKEN_MAX);
    struct spoken *said = &spoken[nspoken++];
    *said = (struct spoken){ .rank = rank, .at_ns = now_ns, .action = action };
    snprintf(said->text, sizeof said->text, "%s", text);
}

static int child_index(int parent, int rank)
{
    struct tree_position tree;
    tree_position(&tree, parent, size);
    int i = 0;
    while (i < tree.nchildren && tree.children[i] != rank)
        i++;
    return i;
}

static void deliver(void)
{
    int kept = 0;
    for (int i = 0; i < nletters; i++) { /* also those that come about meanwhile */
        struct letter letter = letters[i];
        if (ranks[letter.to].stopped) {
            letters[kept++] = letter;
            continue;
        }
        struct err err = { 0 };
        int child = letter.message == STALL_PROBE ? -1 : child_index(letter.to, letter.from);
        int rc = stall_receive(ranks[letter.to].stall, letter.message, child, letter.body,
                               letter.nbytes, now_ns, &err);
        ck_assert_msg(rc == HVD_OK, "%s", err.text);
        take(letter.to);
    }
    nletters = kept;
}

static uint64_t deadline(void)
{
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < size; i++) {
        uint64_t at_ns = ranks[i].stopped ? UINT64_MAX : stall_deadline(ranks[i].stall, now_ns);
        if (at_ns < first)
            first = at_ns;
    }
    return first;
}

static void tick_all(void)
{
    for (int i = 0; i < size; i++)
        if (!ranks[i].stopped && stall_deadline(ranks[i].stall, now_ns) <= now_ns) {
            stall_tick(ranks[i].stall, now_ns);
            ck_assert_uint_gt(stall_deadline(ranks[i].stall, now_ns), now_ns);
            take(i);
        }
    deliver();
}

/* As an engine would that sleeps in between. `seconds` on from now. */
static void run(uint64_t seconds)
{
    uint64_t end_ns = now_ns + seconds * SECOND;
    deliver();
    for (uint64_t at_ns; (at_ns = deadline()) <= end_ns;) {
        if (at_ns > now_ns)
            now_ns = at_ns;
        tick_all();
    }
    now_ns = end_ns;
}

static int times_said(const char *word)
{
    int count = 0;
    for (int i = 0; i < nspoken; i++)
        count += strstr(spoken[i].text, word) != NULL;
    return count;
}

#define ck_assert_said(word)                                                                       \
    ck_assert_msg(times_said(word) > 0, "%d said, last: %s", nspoken,                              \
                  nspoken ? spoken[nspoken - 1].text : "")

START_TEST(an_idle_world_sets_no_timer)
{
    make_world(_i);
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    submit_but(-1, "a");
    ck_assert_uint_lt(deadline(), UINT64_MAX);
    finish_all();
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    ck_assert_int_eq(nletters, 0);
    end_world();
}
END_TEST

START_TEST(a_busy_world_says_nothing)
{
    make_world(5);
    for (int i = 0; i < 100; i++) {
        submit_but(2, "a");
        run(30);
        finish_all();
    }
    ck_assert_int_eq(nspoken, 0);
    for (int i = 0; i < size; i++)
        ck_assert_int_eq(ranks[i].alerts, 0);
    end_world();
}
END_TEST

START_TEST(who_is_missing_is_named)
{
    char who[32], what[80];
    for (int missing = 0; missing < _i; missing++) {
        make_world(_i);
        submit_but(missing, "grad/7");
        run(70);
        ck_assert_int_eq(nspoken, 1);
        ck_assert_int_eq(spoken[0].rank, 0);
        ck_assert_int_eq(spoken[0].action, STALL_WARN);
        snprintf(who, sizeof who, " for rank %d\n", missing);
        snprintf(what, sizeof what, "\n  rank %d on node%d: reading file %d?", missing, missing,
                 missing);
        ck_assert_said("allreduce 'grad/7' has waited 61 s for rank ");
        ck_assert_said(who);
        ck_assert_said(what);
        end_world();
    }
}
END_TEST

START_TEST(a_tensor_that_one_rank_alone_has_submitted_is_told)
{
    for (int rank = 0; rank < _i; rank++) {
        make_world(_i);
        submit(rank, "lonely", COLLECTIVE_BROADCAST);
        run(70);
        ck_assert_int_eq(nspoken, 1);
        ck_assert_said("broadcast 'lonely' has waited 61 s for rank");
        end_world();
    }
}
END_TEST

START_TEST(ranges_of_ranks_are_short)
{
    make_world(9);
    submit(0, "a", COLLECTIVE_ALLREDUCE);
    submit(2, "a", COLLECTIVE_ALLREDUCE);
    submit(7, "a", COLLECTIVE_ALLREDUCE);
    run(70);
    ck_assert_said("for ranks 1, 3-6, 8\n");
    ck_assert_said("rank 3 on node3");
    end_world();
}
END_TEST

START_TEST(ranks_are_those_of_the_world)
{
    make_world(3);
    world_ranks[0] = 4, world_ranks[1] = 6, world_ranks[2] = 9;
    submit_but(2, "a");
    run(70);
    ck_assert_said("for rank 9\n  rank 9 on node2");
    end_world();
}
END_TEST

START_TEST(it_is_said_once_in_the_check_time_as_long_as_it_lasts)
{
    make_world(11);
    submit_but(4, "a");
    run(1000);
    ck_assert_int_ge(nspoken, 15);
    ck_assert_int_le(nspoken, 16);
    for (int i = 1; i < nspoken; i++)
        ck_assert_uint_ge(spoken[i].at_ns, spoken[i - 1].at_ns + CHECK);
    for (int i = 0; i < size; i++)
        ck_assert_int_le(ranks[i].alerts, 17);
    end_world();
}
END_TEST

START_TEST(a_stall_that_ends_is_not_talked_about)
{
    make_world(7);
    submit_but(4, "a");
    run(70);
    ck_assert_int_eq(nspoken, 1);
    finish_all();
    run(1000);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    end_world();
}
END_TEST

START_TEST(a_name_that_waits_anew_is_young)
{
    make_world(4);
    submit_but(3, "a");
    run(65);
    ck_assert_int_eq(nspoken, 1);
    for (int i = 0; i < 20; i++) {
        finish_all();
        run(1);
        submit_but(3, "a");
        run(50);
    }
    ck_assert_int_eq(nspoken, 1);
    end_world();
}
END_TEST

START_TEST(what_comes_about_together_is_told_at_once)
{
    make_world(22);
    submit(21, "a", COLLECTIVE_ALLREDUCE);
    now_ns += SECOND / 10;
    submit(20, "b", COLLECTIVE_ALLREDUCE);
    submit(13, "c", COLLECTIVE_ALLREDUCE);
    now_ns += SECOND / 10;
    submit(1, "d", COLLECTIVE_ALLGATHER);
    run(70);
    ck_assert_int_eq(nspoken, 1);
    ck_assert(times_said("'a'") && times_said("'b'") && times_said("'c'") && times_said("'d'"));
    end_world();
}
END_TEST

START_TEST(many_names_are_a_short_text)
{
    char name[32];
    make_world(8);
    for (int i = 0; i < SUBMITTED_MAX; i++) {
        snprintf(name, sizeof name, "grad/%d", i);
        submit_but(5, name);
        now_ns++;
    }
    run(65);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_str_eq(spoken[0].text,
                     "allreduce 'grad/0', 'grad/1', 'grad/2' and 5 more have waited 61 s for rank 5"
                     "\n  rank 5 on node5: reading file 5?");
    end_world();
}
END_TEST

START_TEST(names_that_wait_for_different_ranks_have_lines_of_their_own)
{
    make_world(6);
    submit_but(5, "a");
    submit_but(4, "b");
    submit_but(5, "c");
    run(70);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_said("allreduce 'a', 'c' have waited 61 s for rank 5");
    ck_assert_said("\n  allreduce 'b' has waited 61 s for rank 4");
    end_world();
}
END_TEST

START_TEST(many_ranks_are_a_short_text)
{
    make_world(30);
    for (int i = 0; i < size; i += 2)
        submit(i, "a", COLLECTIVE_ALLREDUCE);
    run(70);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_said("for ranks 1, 3, 5, 7, ");
    ck_assert_said("some of ");
    ck_assert_said("\n  rank 11 on node11: reading file 11?\n  and others");
    ck_assert_int_eq(times_said("rank 13 on"), 0);
    end_world();
}
END_TEST

START_TEST(names_of_any_bytes_are_one_line)
{
    make_world(2);
    submit(0, "new\nline\x1b[2J", COLLECTIVE_ALLREDUCE);
    run(70);
    ck_assert_said("allreduce 'new?line?[2J' has waited");
    end_world();
}
END_TEST

START_TEST(the_shutdown_time_ends_the_world)
{
    make_world_with(6, CHECK, 2 * CHECK);
    submit_but(4, "a");
    run(150);
    ck_assert_int_eq(nspoken, 2);
    ck_assert_int_eq(spoken[0].action, STALL_WARN);
    ck_assert_int_eq(spoken[1].action, STALL_ABORT);
    ck_assert_uint_eq(spoken[1].at_ns, SECOND + 2 * CHECK);
    ck_assert_str_eq(
        spoken[1].text,
        "allreduce 'a' has waited 120 s for rank 4 (HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"
        " is 120); rank 4 on node4: reading file 4?");
    end_world();
}
END_TEST

START_TEST(a_shutdown_time_that_is_the_check_time_ends_it_at_once)
{
    make_world_with(3, CHECK, CHECK);
    submit(2, "a", COLLECTIVE_ALLREDUCE);
    run(100);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_int_eq(spoken[0].action, STALL_ABORT);
    ck_assert_uint_eq(spoken[0].at_ns, SECOND + CHECK);
    end_world();
}
END_TEST

START_TEST(a_stall_that_ends_ends_no_world)
{
    make_world_with(6, CHECK, 2 * CHECK);
    submit_but(4, "a");
    run(100);
    finish_all();
    submit_but(4, "a");
    run(50);
    finish_all();
    run(1000);
    ck_assert_int_eq(times_said("SHUTDOWN"), 0);
    end_world();
}
END_TEST

START_TEST(a_rank_that_does_not_answer_is_named)
{
    char who[40];
    for (int stopped = 1; stopped < _i; stopped++) {
        make_world_with(_i, CHECK, 5 * CHECK);
        struct tree_position tree;
        tree_position(&tree, stopped, _i);
        ranks[stopped].stopped = true;
        submit_but(stopped, "a");
        run(400);
        ck_assert_int_ge(nspoken, 2);
        ck_assert_int_eq(spoken[0].rank, 0);
        snprintf(who, sizeof who, "no answer from rank%s %d", tree.end > stopped + 1 ? "s" : "",
                 stopped);
        ck_assert_said("allreduce 'a' has waited 6");
        ck_assert_said(who);
        ck_assert_int_eq(spoken[nspoken - 1].action, STALL_ABORT);
        end_world();
    }
}
END_TEST

START_TEST(a_rank_that_answers_late_does_no_harm)
{
    make_world(6);
    ranks[1].stopped = true;
    submit_but(1, "a");
    run(70);
    ck_assert_int_eq(times_said("no answer from rank"), 1);
    ranks[1].stopped = false;
    run(70);
    ck_assert_int_eq(nspoken, 2);
    ck_assert_int_eq(times_said("no answer from rank"), 1);
    ck_assert_said("rank 1 on node1");
    end_world();
}
END_TEST

START_TEST(a_top_that_does_not_answer_is_named_by_rank_1)
{
    make_world_with(9, CHECK, 5 * CHECK);
    ranks[0].stopped = true;
    submit_but(0, "a");
    run(1000);
    ck_assert_int_ge(nspoken, 2);
    for (int i = 0; i < nspoken; i++)
        ck_assert_int_eq(spoken[i].rank, 1);
    ck_assert_str_eq(spoken[0].text, "allreduce 'a' has waited 180 s\n  no answer from rank 0");
    ck_assert_int_eq(spoken[nspoken - 1].action, STALL_ABORT);
    end_world();
}
END_TEST

/* ---- a deadlock ---- */

/* Each rank waits for a name of its own. */
static void wait_for_each_other(void)
{
    char name[20];
    for (int i = 0; i < size; i++) {
        snprintf(name, sizeof name, "own/%d", i);
        submit(i, name, COLLECTIVE_ALLREDUCE);
        ranks[i].stuck = true;
    }
}

START_TEST(ranks_that_are_all_stuck_are_told)
{
    make_world(_i);
    wait_for_each_other();
    run(3);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_int_eq(spoken[0].action, STALL_ABORT);
    ck_assert_said("deadlock: every rank waits: ");
    end_world();
}
END_TEST

/* Its thread computes, or has come back from a call with an error and will submit something else. */
START_TEST(one_rank_that_is_not_stuck_is_no_deadlock)
{
    for (int free = 0; free < _i; free++) {
        make_world(_i);
        wait_for_each_other();
        ranks[free].stuck = false;
        run(50);
        ck_assert_int_eq(nspoken, 0);
        end_world();
    }
}
END_TEST

/* Also when the coarse clock, by which its time is noted, has not ticked since before the question. */
START_TEST(a_decision_between_the_questions_is_seen_whatever_its_time)
{
    make_world(2);
    wait_for_each_other();
    ranks[0].decided_ns = SECOND;
    while (now_ns < 30 * SECOND) {
        now_ns = deadline();
        tick_all();
        ranks[0].decisions++;
    }
    ck_assert_int_eq(nspoken, 0);
    run(5);
    ck_assert_int_eq(nspoken, 1);
    ck_assert_said("deadlock");
    end_world();
}
END_TEST

/* The last report comes with the last answer, and the top has not decided yet. */
START_TEST(what_comes_with_the_last_answer_is_not_overlooked)
{
    make_world(3);
    wait_for_each_other();
    for (int i = 0; i < 40; i++) {
        now_ns = deadline();
        for (int k = 0; k < size; k++)
            if (stall_deadline(ranks[k].stall, now_ns) <= now_ns) {
                stall_tick(ranks[k].stall, now_ns);
                take(k);
            }
        ranks[0].stuck = nletters == 0; /* something can be decided when the answers have come */
        deliver();
        ranks[0].stuck = true;
    }
    ck_assert_int_eq(nspoken, 0);
    end_world();
}
END_TEST

/* ---- a person asks ---- */

static void ask_top(void)
{
    ck_assert(stall_ask(ranks[0].stall, now_ns));
    take(0);
    deliver();
}

/* As text: who misses the name, and of whom nothing is known. */
static void check_told(const char *name, const char *missing, const char *silent)
{
    char text[200];
    struct stall_told told;
    int index = 0;
    ck_assert(!stall_is_asked(ranks[0].stall));
    do
        ck_assert_msg(stall_told(ranks[0].stall, index, &told), "nothing is told of %s", name);
    while (index++, strcmp(told.name, name) != 0);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, told.missing, world_ranks), missing);
    ck_assert_str_eq(rank_ranges_text(text, sizeof text, told.silent, world_ranks), silent);
}

static const int sizes[] = { 2, 6, 9, 16, 30, 32, 64 };
enum { SIZES = sizeof sizes / sizeof *sizes };

START_TEST(whoever_pauses_is_the_only_one_to_be_named)
{
    char who[40];
    for (int paused = 0; paused < sizes[_i]; paused++) {
        make_world(sizes[_i]);
        submit_but(paused, "a");
        if (paused == 0) { /* what the negotiation has told it */
            submit(0, "a", COLLECTIVE_ALLREDUCE);
            ranks[0].submitted[0].own = false;
        }
        ask_top();
        snprintf(who, sizeof who, "rank %d", paused);
        check_told("a", who, "");
        end_world();
    }
}
END_TEST

START_TEST(several_that_pause_are_named_and_nobody_else)
{
    make_world(64);
    for (int i = 0; i < size; i++)
        if (i != 2 && i != 17 && i != 40 && i != 41 && i != 63)
            submit(i, "a", COLLECTIVE_ALLREDUCE);
    for (int i = 0; i < size; i++)
        if (i != 5)
            submit(i, "b", COLLECTIVE_BROADCAST);
    ask_top();
    check_told("a", "ranks 2, 17, 40-41, 63", "");
    check_told("b", "rank 5", "");
    end_world();
}
END_TEST

START_TEST(a_person_is_told_of_no_rank_that_has_joined)
{
    make_world(16);
    submit(6, "join", COLLECTIVE_JOIN);
    for (int i = 0; i < size; i++)
        if (i != 6 && i != 2)
            submit(i, "a", COLLECTIVE_ALLREDUCE);
    ask_top();
    check_told("a", "rank 2", "");
    end_world();
}
END_TEST

START_TEST(a_person_is_told_the_ranks_of_the_world)
{
    make_world(6);
    for (int i = 0; i < size; i++)
        world_ranks[i] = 3 * i + 1;
    submit_but(2, "a");
    ask_top();
    check_told("a", "rank 7", "");
    end_world();
}
END_TEST

/* Those below a rank that is stopped cannot be heard, whatever they have submitted. */
START_TEST(a_person_is_told_that_nothing_is_known_of_who_does_not_answer)
{
    make_world(16);
    ranks[2].stopped = true;
    submit_but(2, "a");
    submit_but(9, "b");
    ask_top();
    ck_assert(stall_is_asked(ranks[0].stall));
    for (int i = 0; i < 20 && stall_is_asked(ranks[0].stall); i++) {
        now_ns += STALL_PERSON_MS * 1000000 / 20;
        tick_all();
    }
    struct tree_position tree;
    char below[40];
    tree_position(&tree, 2, size);
    snprintf(below, sizeof below, tree.end == 3 ? "rank 2" : "ranks 2-%d", tree.end - 1);
    check_told("a", "", below);
    check_told("b", "rank 9", below);
    ck_assert_int_eq(nspoken, 0);
    end_world();
}
END_TEST

/* The inspector's own rounds go on meanwhile, and it is told what it asked. */
START_TEST(a_person_does_not_disturb_the_inspector)
{
    make_world(30);
    ranks[4].stopped = true;
    submit_but(17, "a");
    for (int second = 0; second < 70; second++) {
        ask_top();
        run(1);
    }
    ck_assert_int_eq(nspoken, 1);
    ck_assert_said("allreduce 'a' has waited 6");
    ck_assert_said("for rank 17");
    end_world();
}
END_TEST

START_TEST(where_nothing_waits_nobody_is_asked)
{
    struct stall_told told;
    make_world(6);
    ck_assert(!stall_ask(ranks[0].stall, now_ns));
    submit_but(3, "a");
    ck_assert(!stall_ask(ranks[1].stall, now_ns));
    ask_top();
    ck_assert(stall_told(ranks[0].stall, 0, &told));
    finish_all();
    ck_assert(!stall_ask(ranks[0].stall, now_ns));
    ck_assert(!stall_told(ranks[0].stall, 0, &told));
    end_world();
}
END_TEST

START_TEST(a_person_is_answered_without_the_check)
{
    make_world_with(16, 0, 0);
    submit_but(7, "a");
    ask_top();
    check_told("a", "rank 7", "");
    ck_assert_int_eq(nspoken, 0);
    end_world();
}
END_TEST

START_TEST(who_has_joined_misses_no_allreduce)
{
    make_world(5);
    submit(1, "join", COLLECTIVE_JOIN);
    for (int i = 2; i < 5; i++) {
        submit(i, "sum", COLLECTIVE_ALLREDUCE);
        submit(i, "cast", COLLECTIVE_BROADCAST);
    }
    run(65);
    ck_assert_said("allreduce 'sum' has waited 61 s for rank 0\n");
    ck_assert_said("broadcast 'cast' has waited 61 s for ranks 0-1\n");
    end_world();
}
END_TEST

START_TEST(a_join_waits_as_long_as_others_get_on)
{
    make_world(3);
    submit(1, "join", COLLECTIVE_JOIN);
    for (int i = 0; i < 20; i++) {
        run(20);
        for (int k = 0; k < size; k++)
            ranks[k].decided_ns = now_ns;
    }
    ck_assert_int_eq(nspoken, 0);
    run(70);
    ck_assert_said("join 'join' has waited 61 s for ranks 0, 2\n");
    end_world();
}
END_TEST

START_TEST(nobody_who_misses_it_is_no_stall)
{
    make_world(5);
    submit_but(-1, "a"); /* all have it, and large data is before it */
    run(300);
    ck_assert_int_eq(nspoken, 0);
    end_world();
}
END_TEST

START_TEST(what_a_rank_only_heard_of_counts)
{
    make_world(2);
    submit(0, "a", COLLECTIVE_ALLREDUCE);
    ranks[0].submitted[0].own = false;
    submit(1, "a", COLLECTIVE_ALLREDUCE);
    run(70);
    ck_assert_said("for rank 0\n");
    end_world();
}
END_TEST

START_TEST(without_the_check_nothing_is_said)
{
    make_world_with(5, 0, 0);
    submit_but(3, "a");
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    run(1000);
    ck_assert_int_eq(nspoken, 0);
    end_world();
}
END_TEST

static void put_probe(struct wire_writer *writer)
{
    struct stall_probe probe = { .id = 1, .budget_ms = 5000 };
    probe.names.count = 1;
    probe.names.at[0] = (struct stall_name){ COLLECTIVE_ALLREDUCE, 61000, "a" };
    stall_probe_encode(writer, &probe);
}

static void put_alert(struct wire_writer *writer)
{
    struct stall_names names = { .count = 2,
                                 .at = { { COLLECTIVE_BARRIER, 61000, "a" },
                                         { COLLECTIVE_ALLREDUCE, UINT32_MAX, "b" } } };
    stall_names_encode(writer, &names);
}

/* Of ranks 1 and 2, below rank 0 of a world of 9. */
static struct stall_answer good_answer(void)
{
    struct stall_answer answer = { .id = 1, .nnames = 1, .nranks = 1 };
    rank_ranges_add(&answer.name[0].missing, 1, 2);
    rank_ranges_add(&answer.silent, 2, 3);
    answer.ranks[0] = (struct stall_rank){ 1, 1, "on node1: asleep" };
    return answer;
}

static void put_answer(struct wire_writer *writer)
{
    struct stall_answer answer = good_answer();
    stall_answer_encode(writer, &answer);
}

static int receive(enum stall_message message, const void *body, size_t nbytes)
{
    struct err err = { 0 };
    int rank = message == STALL_PROBE ? 1 : 0;
    int rc = stall_receive(ranks[rank].stall, message, 0, body, nbytes, now_ns, &err);
    ck_assert_int_eq(rc, err.code);
    ck_assert(rc == HVD_OK || (rc == HVD_ERR_PROTOCOL && err.text[0]));
    return rc;
}

static void (*const good_bodies[])(struct wire_writer *writer) = {
    [STALL_ALERT] = put_alert,
    [STALL_PROBE] = put_probe,
    [STALL_PROBED] = put_answer,
};

START_TEST(a_body_that_is_cut_or_too_long_is_refused)
{
    struct wire_writer writer = { 0 };
    enum stall_message message = (enum stall_message)_i;
    good_bodies[_i](&writer);
    make_world(9);
    for (size_t length = 0; length < writer.length; length++) {
        unsigned char *copy = malloc(length ? length : 1);
        memcpy(copy, writer.data, length);
        ck_assert_msg(receive(message, copy, length) == HVD_ERR_PROTOCOL, "cut at %zu", length);
        free(copy);
    }
    ck_assert_int_eq(receive(message, writer.data, writer.length), HVD_OK);
    wire_put_u8(&writer, 0);
    ck_assert_int_eq(receive(message, writer.data, writer.length), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    end_world();
}
END_TEST

START_TEST(changed_bytes_are_refused_or_harmless)
{
    struct wire_writer writer = { 0 };
    make_world(9);
    submit_but(1, "a");
    now_ns += 2 * CHECK;
    good_bodies[_i](&writer);
    for (size_t at = 0; at < writer.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            writer.data[at] ^= (unsigned char)(1 << bit);
            receive((enum stall_message)_i, writer.data, writer.length);
            take(_i == STALL_PROBE ? 1 : 0);
            writer.data[at] ^= (unsigned char)(1 << bit);
            nletters = nspoken = 0;
            now_ns += 2 * CHECK;
            stall_tick(ranks[0].stall, now_ns);
            take(0);
        }
    wire_writer_fini(&writer);
    end_world();
}
END_TEST

/* Each makes a good answer a bad one. */
static void other_rank(struct stall_answer *answer)
{
    answer->ranks[0].rank = 3;
}
static void rank_below(struct stall_answer *answer)
{
    answer->ranks[0].rank = 0;
}
static void same_rank_twice(struct stall_answer *answer)
{
    answer->nranks = 2;
    answer->ranks[1] = answer->ranks[0];
}
static void name_that_was_not_asked(struct stall_answer *answer)
{
    answer->ranks[0].missing = 2;
}
static void other_range(struct stall_answer *answer)
{
    answer->name[0].missing.range[0] = (struct rank_range){ 1, 4 };
}
static void empty_range(struct stall_answer *answer)
{
    answer->silent.range[0] = (struct rank_range){ 2, 2 };
}
static void negative_range(struct stall_answer *answer)
{
    answer->silent.range[0] = (struct rank_range){ -1, 2 };
}
static void ranges_that_touch(struct stall_answer *answer)
{
    answer->silent.count = 2;
    answer->silent.range[0] = (struct rank_range){ 1, 2 };
    answer->silent.range[1] = (struct rank_range){ 2, 3 };
}
static void closed_and_empty(struct stall_answer *answer)
{
    answer->silent.count = 0;
    answer->silent.closed = true;
}
static void too_many_names(struct stall_answer *answer)
{
    answer->nnames = 9;
}
static void other_number_of_names(struct stall_answer *answer)
{
    answer->nnames = 2;
}

static void (*const spoilers[])(struct stall_answer *) = {
    other_rank,     rank_below,       same_rank_twice,       name_that_was_not_asked,
    other_range,    empty_range,      negative_range,        ranges_that_touch,
    too_many_names, closed_and_empty, other_number_of_names,
};

START_TEST(an_answer_that_cannot_be_is_refused)
{
    struct wire_writer writer = { 0 };
    struct stall_answer answer = good_answer();
    make_world(9);
    submit_but(1, "a");
    for (int i = 0; i < 62; i++) { /* until rank 0 asks; the answers are lost */
        now_ns += SECOND;
        if (deadline() <= now_ns)
            stall_tick(ranks[0].stall, now_ns);
    }
    spoilers[_i](&answer);
    /* what the struct has no room for is written as far as it goes */
    int nnames = answer.nnames;
    if (nnames > STALL_NAMES_MAX)
        answer.nnames = STALL_NAMES_MAX;
    stall_answer_encode(&writer, &answer);
    writer.data[4] = (unsigned char)nnames;
    ck_assert_int_eq(receive(STALL_PROBED, writer.data, writer.length), HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    end_world();
}
END_TEST

static const struct {
    const char *body;
    size_t nbytes;
} bad_names[] = {
    { "\1\0\0\0\0\0\1\0\0\0a", 11 },   /* kind 0 */
    { "\1\x7f\0\0\0\0\1\0\0\0a", 11 }, /* kind 127 */
    { "\1\1\0\0\0\0\0\0\0\0", 10 },    /* no name */
    { "\1\1\0\0\0\0\2\0\0\0a\0", 12 }, /* NUL */
    { "\1\1\0\0\0\0\xff\xff\xff\xff"
      "a",
      11 },        /* longer than the message */
    { "\x09", 1 }, /* too many */
};

START_TEST(names_that_cannot_be_are_refused)
{
    make_world(9);
    ck_assert_int_eq(receive(STALL_ALERT, bad_names[_i].body, bad_names[_i].nbytes),
                     HVD_ERR_PROTOCOL);
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    end_world();
}
END_TEST

START_TEST(a_probe_from_below_is_refused)
{
    struct wire_writer writer = { 0 };
    struct err err = { 0 };
    make_world(9);
    put_probe(&writer);
    ck_assert_int_eq(
        stall_receive(ranks[0].stall, STALL_PROBE, 0, writer.data, writer.length, now_ns, &err),
        HVD_ERR_PROTOCOL);
    wire_writer_fini(&writer);
    end_world();
}
END_TEST

START_TEST(alerts_without_end_do_not_fill_anything)
{
    make_world(9);
    for (int i = 0; i < 10000; i++) {
        struct wire_writer writer = { 0 };
        struct stall_names names = { .count = 1 };
        names.at[0] = (struct stall_name){ COLLECTIVE_ALLREDUCE, (uint32_t)(60000 + i), "" };
        snprintf(names.at[0].text, sizeof names.at[0].text, "name %d", i);
        stall_names_encode(&writer, &names);
        ck_assert_int_eq(receive(STALL_ALERT, writer.data, writer.length), HVD_OK);
        wire_writer_fini(&writer);
    }
    run(1000);
    ck_assert_int_eq(nspoken, 0); /* nobody has these names */
    ck_assert_uint_eq(deadline(), UINT64_MAX);
    end_world();
}
END_TEST

START_TEST(of_many_answers_the_lowest_ranks_are_kept)
{
    struct stall_answer answer = { 0 };
    for (int i = 0; i < 100; i++) {
        struct stall_rank rank = { .rank = i * 37 % 100, .missing = 1 };
        stall_answer_add_rank(&answer, &rank);
    }
    ck_assert_int_eq(answer.nranks, STALL_RANKS_MAX);
    for (int i = 0; i < STALL_RANKS_MAX; i++)
        ck_assert_int_eq(answer.ranks[i].rank, i);
}
END_TEST

START_TEST(no_stall_inspector_can_be_destroyed)
{
    stall_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stall");
    TCase *tcase = tcase_create("stall");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, an_idle_world_sets_no_timer, 1, LOOPED_MAX + 1);
    tcase_add_test(tcase, a_busy_world_says_nothing);
    tcase_add_loop_test(tcase, who_is_missing_is_named, 2, LOOPED_MAX + 1);
    tcase_add_loop_test(tcase, a_tensor_that_one_rank_alone_has_submitted_is_told, 2,
                        LOOPED_MAX + 1);
    tcase_add_test(tcase, ranges_of_ranks_are_short);
    tcase_add_test(tcase, ranks_are_those_of_the_world);
    tcase_add_test(tcase, it_is_said_once_in_the_check_time_as_long_as_it_lasts);
    tcase_add_test(tcase, a_stall_that_ends_is_not_talked_about);
    tcase_add_test(tcase, a_name_that_waits_anew_is_young);
    tcase_add_test(tcase, what_comes_about_together_is_told_at_once);
    tcase_add_test(tcase, many_names_are_a_short_text);
    tcase_add_test(tcase, names_that_wait_for_different_ranks_have_lines_of_their_own);
    tcase_add_test(tcase, many_ranks_are_a_short_text);
    tcase_add_test(tcase, names_of_any_bytes_are_one_line);
    tcase_add_test(tcase, the_shutdown_time_ends_the_world);
    tcase_add_test(tcase, a_shutdown_time_that_is_the_check_time_ends_it_at_once);
    tcase_add_test(tcase, a_stall_that_ends_ends_no_world);
    tcase_add_loop_test(tcase, a_rank_that_does_not_answer_is_named, 2, LOOPED_MAX + 1);
    tcase_add_test(tcase, a_rank_that_answers_late_does_no_harm);
    tcase_add_test(tcase, a_top_that_does_not_answer_is_named_by_rank_1);
    tcase_add_loop_test(tcase, ranks_that_are_all_stuck_are_told, 2, 10);
    tcase_add_loop_test(tcase, one_rank_that_is_not_stuck_is_no_deadlock, 2, 10);
    tcase_add_test(tcase, a_decision_between_the_questions_is_seen_whatever_its_time);
    tcase_add_test(tcase, what_comes_with_the_last_answer_is_not_overlooked);
    tcase_add_loop_test(tcase, whoever_pauses_is_the_only_one_to_be_named, 0, SIZES);
    tcase_add_test(tcase, several_that_pause_are_named_and_nobody_else);
    tcase_add_test(tcase, a_person_is_told_of_no_rank_that_has_joined);
    tcase_add_test(tcase, a_person_is_told_the_ranks_of_the_world);
    tcase_add_test(tcase, a_person_is_told_that_nothing_is_known_of_who_does_not_answer);
    tcase_add_test(tcase, a_person_does_not_disturb_the_inspector);
    tcase_add_test(tcase, where_nothing_waits_nobody_is_asked);
    tcase_add_test(tcase, a_person_is_answered_without_the_check);
    tcase_add_test(tcase, who_has_joined_misses_no_allreduce);
    tcase_add_test(tcase, a_join_waits_as_long_as_others_get_on);
    tcase_add_test(tcase, nobody_who_misses_it_is_no_stall);
    tcase_add_test(tcase, what_a_rank_only_heard_of_counts);
    tcase_add_test(tcase, without_the_check_nothing_is_said);
    tcase_add_loop_test(tcase, a_body_that_is_cut_or_too_long_is_refused, 0, STALL_MESSAGES);
    tcase_add_loop_test(tcase, changed_bytes_are_refused_or_harmless, 0, STALL_MESSAGES);
    tcase_add_loop_test(tcase, an_answer_that_cannot_be_is_refused, 0,
                        sizeof spoilers / sizeof *spoilers);
    tcase_add_loop_test(tcase, names_that_cannot_be_are_refused, 0,
                        sizeof bad_names / sizeof *bad_names);
    tcase_add_test(tcase, a_probe_from_below_is_refused);
    tcase_add_test(tcase, alerts_without_end_do_not_fill_anything);
    tcase_add_test(tcase, of_many_answers_the_lowest_ranks_are_kept);
    tcase_add_test(tcase, no_stall_inspector_can_be_destroyed);
    return unit_run(suite);
}
