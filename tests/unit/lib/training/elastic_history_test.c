/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of elastic jobs: ranks train, commit, are lost at any moment, are added and
 * removed. At the end of the epoch every sample has gone into the model once: none is lost, none is
 * used twice. No commit of a rank that is left is lost. A model is the list of how often each
 * sample has gone into it. A failure says its seed; HISTORY_SEEDS and HISTORY_FIRST choose
 * others. */
#include "lib/training/deal.h"
#include "lib/training/elastic_stamp.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { WORKERS_MAX = 6, SAMPLES_MAX = 90, AHEAD_MAX = 3, HISTORIES = 4000 };

/* What a worker trains: how often each sample went into it, and how far in the epoch it is. */
struct model {
    unsigned char used[SAMPLES_MAX];
    uint64_t done;
};

struct worker {
    struct deal deal;
    struct model model;
    struct model saved;
    struct elastic_stamp stamp; /* of `saved` */

    /* Batches that have been taken and not been used. */
    uint64_t places[AHEAD_MAX][SAMPLES_MAX];
    uint64_t rounds[AHEAD_MAX];
    int nplaces[AHEAD_MAX];
    int batches;
};

struct history {
    uint64_t random;
    bool distinct;
    uint64_t count, batch;
    int ahead; /* batches that are taken before they are used; 0: none */
    int64_t epoch;
    struct worker workers[WORKERS_MAX]; /* in order of rank, the oldest first */
    int size;
    int step_size; /* of the world that made the last step */
    int lost, added, rollbacks, disagreements;
};

static uint64_t history_draw(struct history *history, uint64_t bound)
{
    uint64_t z = history->random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
}

/* ---- one worker ---- */

static void worker_commit(struct worker *worker)
{
    worker->model.done = deal_done(&worker->deal);
    worker->saved = worker->model;
    worker->stamp.commit++;
}

static void worker_restore(struct worker *worker)
{
    worker->model = worker->saved;
}

static void worker_take(struct worker *worker, uint64_t batch)
{
    int b = worker->batches++;
    uint64_t left = deal_left(&worker->deal), place;
    worker->rounds[b] = batch < left ? batch : left;
    worker->nplaces[b] = 0;
    for (uint64_t k = 0; k < worker->rounds[b]; k++)
        if (deal_next(&worker->deal, &place))
            worker->places[b][worker->nplaces[b]++] = place;
}

/* The oldest batch has been used. */
static void worker_finish(struct worker *worker)
{
    if (worker->deal.ahead)
        ck_assert(deal_finish(&worker->deal, worker->rounds[0]));
    worker->batches--;
    memmove(worker->places, worker->places + 1, sizeof worker->places - sizeof *worker->places);
    memmove(worker->rounds, worker->rounds + 1, sizeof worker->rounds - sizeof *worker->rounds);
    memmove(worker->nplaces, worker->nplaces + 1, sizeof worker->nplaces - sizeof *worker->nplaces);
}

/* ---- a world ---- */

/* Each worker has its state; the newest commit wins. */
static void history_sync(struct history *history)
{
    struct elastic_stamp stamps[WORKERS_MAX];
    for (int rank = 0; rank < history->size; rank++)
        stamps[rank] = history->workers[rank].stamp;
    int root = elastic_stamp_root(stamps, history->size);
    history->disagreements += elastic_stamp_differs(stamps, history->size, root < 0 ? 0 : root);
    const struct model model = history->workers[root < 0 ? 0 : root].model;
    history->epoch++;
    for (int rank = 0; rank < history->size; rank++) {
        struct worker *worker = &history->workers[rank];
        if (worker->stamp.epoch != ELASTIC_EPOCH_NONE) /* no commit is lost */
            ck_assert_uint_ge(model.done, worker->saved.done);
        worker->model = model;
        worker->saved = model;
        worker->stamp = (struct elastic_stamp){ history->epoch, 0 };
        worker->batches = 0;
        deal_begin(&worker->deal, model.done);
        deal_place(&worker->deal, (uint64_t)rank, (uint64_t)history->size);
    }
}

static void history_lose(struct history *history, int rank)
{
    history->size--;
    history->lost++;
    memmove(&history->workers[rank], &history->workers[rank + 1],
            (size_t)(history->size - rank) * sizeof *history->workers);
}

static void history_add(struct history *history)
{
    struct worker *worker = &history->workers[history->size++];
    *worker = (struct worker){ .stamp = { .epoch = ELASTIC_EPOCH_NONE },
                               .deal = { .count = history->count,
                                         .size = 1,
                                         .distinct = history->distinct,
                                         .ahead = history->ahead > 0 } };
    memset(worker->model.used, 77, sizeof worker->model.used); /* nobody may take it over */
    history->added++;
}

static void history_take(struct history *history)
{
    for (int rank = 0; rank < history->size; rank++) {
        struct worker *worker = &history->workers[rank];
        while (worker->batches < 1 ||
               (worker->batches < history->ahead && deal_left(&worker->deal) > 0))
            worker_take(worker, history->batch);
    }
}

/* The step of one rank, which has got the gradients of all. */
static void history_apply(struct history *history, const struct worker *all, int size, int rank)
{
    struct worker *worker = &history->workers[rank];
    for (int from = 0; from < size; from++)
        for (int k = 0; k < all[from].nplaces[0]; k++)
            worker->model.used[all[from].places[0][k]]++;
    worker_finish(worker);
}

/* Some ranks are lost in the middle of a step: the others have made it, or have committed it, or
 * have not. */
static void history_break(struct history *history, const struct worker *all, int size)
{
    bool may_commit = true; /* a commit is complete where a rank has got that far */
    for (int rank = 0; rank < size; rank++) {
        uint64_t reached = history_draw(history, 3);
        if (reached > 0)
            history_apply(history, all, size, rank);
        if (reached > 1 && may_commit)
            worker_commit(&history->workers[rank]);
        worker_restore(&history->workers[rank]);
    }
    int losses = 1 + (int)history_draw(history, (uint64_t)size);
    while (losses-- > 0 && history->size > 1)
        history_lose(history, (int)history_draw(history, (uint64_t)history->size));
    while (history->size < WORKERS_MAX && history_draw(history, 3) == 0)
        history_add(history);
    history->rollbacks++;
    history_sync(history);
}

/* All ranks agree that there are to be others. */
static void history_update(struct history *history)
{
    for (int rank = 0; rank < history->size; rank++)
        worker_commit(&history->workers[rank]);
    if (history->size > 1 && history_draw(history, 2) == 0)
        history_lose(history, (int)history_draw(history, (uint64_t)history->size));
    while (history->size < WORKERS_MAX && history_draw(history, 2) == 0)
        history_add(history);
    history_sync(history);
}

static void history_step(struct history *history)
{
    struct worker all[WORKERS_MAX];
    int size = history->step_size = history->size;
    history_take(history);
    memcpy(all, history->workers, sizeof all);
    uint64_t event = history_draw(history, 12);
    if (event == 0) {
        history_break(history, all, size);
        return;
    }
    for (int rank = 0; rank < size; rank++)
        history_apply(history, all, size, rank);
    if (event == 1)
        history_update(history);
    else if (event < 6)
        for (int rank = 0; rank < size; rank++)
            worker_commit(&history->workers[rank]);
}

static void history_init(struct history *history, uint64_t seed)
{
    *history = (struct history){ .random = seed * 1000003, .epoch = ELASTIC_EPOCH_NONE };
    history->count = 1 + history_draw(history, SAMPLES_MAX);
    history->batch = 1 + history_draw(history, 7);
    history->ahead = (int)history_draw(history, AHEAD_MAX + 1);
    history->distinct = history_draw(history, 2) == 0;
    for (uint64_t size = 1 + history_draw(history, WORKERS_MAX); size > 0; size--)
        history_add(history);
    memset(history->workers[0].model.used, 0, sizeof history->workers[0].model.used);
    history_sync(history);
}

/* Every sample once; those that fill the last round may be used once more. */
static void history_check(const struct history *history, uint64_t seed)
{
    for (int rank = 0; rank < history->size; rank++) {
        const struct model *model = &history->workers[rank].model;
        int repeated = 0;
        for (uint64_t i = 0; i < history->count; i++) {
            int used = model->used[i];
            ck_assert_msg(used >= 1, "seed %lu: sample %lu is lost", seed, i);
            if (history->distinct)
                ck_assert_msg(used == 1, "seed %lu: sample %lu used %d times", seed, i, used);
            repeated += used - 1;
        }
        ck_assert_msg(repeated < history->step_size, "seed %lu: %d repetitions, %d ranks", seed,
                      repeated, history->step_size);
    }
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(no_sample_is_lost_and_none_is_repeated)
{
    uint64_t first = number_from_environment("HISTORY_FIRST", 1);
    uint64_t seeds = number_from_environment("HISTORY_SEEDS", HISTORIES);
    int lost = 0, rollbacks = 0, disagreements = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        struct history history;
        history_init(&history, seed);
        while (deal_done(&history.workers[0].deal) < history.count)
            history_step(&history);
        history_check(&history, seed);
        lost += history.lost;
        rollbacks += history.rollbacks;
        disagreements += history.disagreements;
    }
    if (seeds == HISTORIES) /* that these histories have what they are about */
        ck_assert_msg(lost > 1000 && rollbacks > 1000 && disagreements > 1000,
                      "%d lost, %d rollbacks, %d disagreements", lost, rollbacks, disagreements);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic histories");
    TCase *tcase = tcase_create("elastic histories");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, no_sample_is_lost_and_none_is_repeated);
    return unit_run(suite);
}
