/* SPDX-License-Identifier: Apache-2.0 */
/* See stall_world.h. */
#include "tests/support/stall_world.h"

#include <stdio.h>
#include <string.h>

struct stall_world stall_world;

static int see_waiting(void *arg, int index, struct waiting *waiting)
{
    const struct stall_world_rank *rank = arg;
    if (index >= rank->count)
        return 0;
    const struct stall_world_submitted *submitted = &rank->submitted[index];
    *waiting = (struct waiting){ .name = submitted->name,
                                 .kind = submitted->kind,
                                 .since_ns = submitted->since_ns,
                                 .own = submitted->own };
    return 1;
}

static int see_waiting_count(void *arg)
{
    return ((struct stall_world_rank *)arg)->count;
}

static uint64_t see_decided(void *arg)
{
    return ((struct stall_world_rank *)arg)->decided_ns;
}

static void see_status_text(void *arg, char *text, size_t room)
{
    snprintf(text, room, "reading file %d\x1b",
             (int)((struct stall_world_rank *)arg - stall_world.ranks));
}

static bool see_waits(void *arg)
{
    const struct stall_world_rank *rank = arg;
    bool waits = rank->waits_elsewhere;
    for (int i = 0; i < rank->count; i++)
        waits |= rank->submitted[i].own;
    return waits;
}

static bool see_stuck(void *arg)
{
    return ((struct stall_world_rank *)arg)->stuck;
}

static uint64_t see_decisions(void *arg)
{
    return ((struct stall_world_rank *)arg)->decisions;
}

void stall_world_forget(void)
{
    for (int i = 0; i < stall_world.nletters; i++)
        free(stall_world.letters[i].body);
    stall_world.nletters = stall_world.nspoken = 0;
}

void stall_world_make_with(int count, uint64_t check_ns, uint64_t shutdown_ns)
{
    struct err err = { 0 };
    stall_world.size = count;
    stall_world.now_ns = STALL_WORLD_SECOND_NS;
    stall_world_forget();
    memset(stall_world.ranks, 0, sizeof stall_world.ranks);
    for (int i = 0; i < stall_world.size; i++) {
        struct stall_world_rank *rank = &stall_world.ranks[i];
        stall_world.world_ranks[i] = i;
        snprintf(rank->host, sizeof rank->host, "node%d", i);
        struct stall_options options = {
            .rank = i,
            .size = stall_world.size,
            .star = stall_world.star,
            .world_ranks = stall_world.world_ranks,
            .host = rank->host,
            .check_ns = check_ns,
            .shutdown_ns = shutdown_ns,
            .view = { see_waiting, see_waiting_count, see_decided, see_status_text, see_waits, rank,
                      see_stuck, see_decisions },
        };
        rank->stall = stall_create(&options, &err);
        ck_assert_ptr_nonnull(rank->stall);
    }
}

void stall_world_make(int count)
{
    stall_world_make_with(count, STALL_WORLD_CHECK_NS, 0);
}

void stall_world_end(void)
{
    stall_world_forget();
    for (int i = 0; i < stall_world.size; i++)
        stall_destroy(stall_world.ranks[i].stall);
}

void stall_world_submit(int rank, const char *name, enum collective_kind kind)
{
    struct stall_world_submitted *submitted =
        &stall_world.ranks[rank].submitted[stall_world.ranks[rank].count++];
    *submitted =
        (struct stall_world_submitted){ .kind = kind, .since_ns = stall_world.now_ns, .own = true };
    snprintf(submitted->name, sizeof submitted->name, "%s", name);
}

void stall_world_submit_but(int missing, const char *name)
{
    for (int i = 0; i < stall_world.size; i++)
        if (i != missing)
            stall_world_submit(i, name, COLLECTIVE_ALLREDUCE);
}

void stall_world_finish_all(void)
{
    for (int i = 0; i < stall_world.size; i++) {
        stall_world.ranks[i].count = 0;
        stall_world.ranks[i].decided_ns = stall_world.now_ns;
    }
}

static void post(int from, int to, enum stall_message message, const void *body, size_t nbytes)
{
    ck_assert_int_lt(stall_world.nletters, STALL_WORLD_LETTERS_MAX);
    struct stall_world_letter *letter = &stall_world.letters[stall_world.nletters++];
    *letter =
        (struct stall_world_letter){ .from = from, .to = to, .message = message, .nbytes = nbytes };
    letter->body = malloc(nbytes ? nbytes : 1);
    memcpy(letter->body, body, nbytes);
}

void stall_world_take(int rank)
{
    enum stall_message message;
    const void *body;
    size_t nbytes;
    struct tree_position tree;
    tree_position(&tree, rank, stall_world.size, stall_world.star);
    while (stall_take(stall_world.ranks[rank].stall, &message, &body, &nbytes)) {
        stall_world.ranks[rank].alerts += message == STALL_ALERT;
        if (message != STALL_PROBE)
            post(rank, tree.parent, message, body, nbytes);
        for (int i = 0; message == STALL_PROBE && i < tree.nchildren; i++)
            post(rank, tree.children[i], message, body, nbytes);
    }
    const char *text;
    enum stall_action action = stall_act(stall_world.ranks[rank].stall, &text);
    if (action == STALL_NOTHING)
        return;
    ck_assert_int_lt(stall_world.nspoken, STALL_WORLD_SPOKEN_MAX);
    struct stall_world_spoken *said = &stall_world.spoken[stall_world.nspoken++];
    *said =
        (struct stall_world_spoken){ .rank = rank, .at_ns = stall_world.now_ns, .action = action };
    snprintf(said->text, sizeof said->text, "%s", text);
}

static int child_index(int parent, int rank)
{
    struct tree_position tree;
    tree_position(&tree, parent, stall_world.size, stall_world.star);
    int i = 0;
    while (i < tree.nchildren && tree.children[i] != rank)
        i++;
    return i;
}

void stall_world_deliver(void)
{
    int kept = 0;
    for (int i = 0; i < stall_world.nletters; i++) { /* also those that come about meanwhile */
        struct stall_world_letter letter = stall_world.letters[i];
        if (stall_world.ranks[letter.to].stopped) {
            stall_world.letters[kept++] = letter;
            continue;
        }
        struct err err = { 0 };
        int child = letter.message == STALL_PROBE ? -1 : child_index(letter.to, letter.from);
        int rc = stall_receive(stall_world.ranks[letter.to].stall, letter.message, child,
                               letter.body, letter.nbytes, stall_world.now_ns, &err);
        ck_assert_msg(rc == HVD_OK, "%s", err.text);
        free(letter.body);
        stall_world_take(letter.to);
    }
    stall_world.nletters = kept;
}

uint64_t stall_world_deadline(void)
{
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < stall_world.size; i++) {
        uint64_t at_ns = stall_world.ranks[i].stopped
                             ? UINT64_MAX
                             : stall_deadline(stall_world.ranks[i].stall, stall_world.now_ns);
        if (at_ns < first)
            first = at_ns;
    }
    return first;
}

void stall_world_tick_all(void)
{
    for (int i = 0; i < stall_world.size; i++)
        if (!stall_world.ranks[i].stopped &&
            stall_deadline(stall_world.ranks[i].stall, stall_world.now_ns) <= stall_world.now_ns) {
            stall_tick(stall_world.ranks[i].stall, stall_world.now_ns);
            ck_assert_uint_gt(stall_deadline(stall_world.ranks[i].stall, stall_world.now_ns),
                              stall_world.now_ns);
            stall_world_take(i);
        }
    stall_world_deliver();
}

void stall_world_run(uint64_t seconds)
{
    uint64_t end_ns = stall_world.now_ns + seconds * STALL_WORLD_SECOND_NS;
    stall_world_deliver();
    for (uint64_t at_ns; (at_ns = stall_world_deadline()) <= end_ns;) {
        if (at_ns > stall_world.now_ns)
            stall_world.now_ns = at_ns;
        stall_world_tick_all();
    }
    stall_world.now_ns = end_ns;
}

int stall_world_times_said(const char *word)
{
    int count = 0;
    for (int i = 0; i < stall_world.nspoken; i++)
        count += strstr(stall_world.spoken[i].text, word) != NULL;
    return count;
}
