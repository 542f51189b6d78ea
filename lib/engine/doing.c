/* SPDX-License-Identifier: Apache-2.0 */
/* What this rank is doing, in words, for SIGUSR2 to hvdrun and for the stall inspector: what its own
 * tensors wait for, what waits for it, what it did last. */
#include "lib/engine/engine_impl.h"

#include "lib/link/socket.h"
#include "lib/negotiation/list_text.h"

#include <stdio.h>

enum { LINES_MAX = 24 };

struct page {
    struct list_text text;
    int lines, left_out;
    uint64_t now_ns;
};

static double seconds(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? (double)(now_ns - since_ns) / 1e9 : 0;
}

static bool has_line(struct page *page)
{
    if (page->lines >= LINES_MAX)
        page->left_out++;
    else
        page->lines++;
    return page->left_out == 0;
}

static void name_ranks(struct list_text *list, const struct process_set *set,
                       const struct rank_ranges *ranges)
{
    for (int i = 0; i < ranges->count; i++) {
        int first = set->ranks[ranges->range[i].first];
        int last = set->ranks[ranges->range[i].end - 1];
        list_text_add(list, i ? ", " : "");
        list_text_add(list, first == last ? "%d" : "%d-%d", first, last);
    }
}

static void put_waiting(struct page *page, const struct process_set *set,
                        const struct waiting *waiting)
{
    char label[REQUEST_LABEL];
    if (!has_line(page))
        return;
    request_label(label, waiting->kind, waiting->name);
    list_text_add(&page->text, "%s %s", waiting->own ? "waiting for" : "not yet submitted:", label);
    if (set->id != 0)
        list_text_add(&page->text, " of process set %d", set->id);
    list_text_add(&page->text, " since %.1f s", seconds(waiting->since_ns, page->now_ns));
    if (waiting->missing.count > 0) {
        list_text_add(&page->text, " (not submitted by ");
        name_ranks(&page->text, set, &waiting->missing);
        list_text_add(&page->text, ")");
    }
    list_text_add(&page->text, "\n");
}

static const char *act_of(const struct run *run)
{
    static const char *const acts[] = {
        [STAGE_NONE] = "about to move the data of",
        [STAGE_QUEUED] = "about to copy from a device the data of",
        [STAGE_COMING] = "copying from a device the data of",
        [STAGE_HERE] = "about to move the data of",
        [STAGE_GOING] = "copying to a device the result of",
        [STAGE_REDUCING] = "waiting for devices to reduce",
        [STAGE_DOOMED] = "waiting for a device to let go of",
    };
    return run->operation ? "moving the data of" : acts[run->stage.step];
}

/* Of those that a device still makes the input of, and what waits behind them. */
static void put_unoffered(struct page *page, const struct process_set *set)
{
    char label[REQUEST_LABEL];
    struct waiting waiting;
    for (int i = 0; ready_waiting(set, i, &waiting); i++)
        if (has_line(page))
            list_text_add(&page->text, "%s %s since %.1f s\n",
                          i < set->unmade.count ? "waiting for the device to make the input of"
                                                : "about to submit",
                          request_label(label, waiting.kind, waiting.name),
                          seconds(waiting.since_ns, page->now_ns));
}

static void put_run(struct page *page, const struct run *run)
{
    char label[REQUEST_LABEL];
    const struct tensor *own = run->tensors[0].own;
    if (!has_line(page))
        return;
    list_text_add(&page->text, "%s %s", act_of(run),
                  request_label(label, run->description.kind, own ? own->name : NULL));
    if (run->count > 1)
        list_text_add(&page->text, " and %d more", run->count - 1);
    if (own)
        list_text_add(&page->text, " since %.1f s", seconds(own->since_ns, page->now_ns));
    list_text_add(&page->text, "\n");
}

/* Of a tensor's chunks, the first. */
static void put_line(struct page *page, const struct run *first)
{
    const struct tensor *last = NULL;
    for (const struct run *run = first; run; run = run->next) {
        const struct tensor *own = run->tensors[0].own;
        if (!own || own != last)
            put_run(page, run);
        last = own;
    }
}

static void put_set(struct page *page, const struct process_set *set)
{
    struct waiting waiting;
    for (int i = 0; negotiation_waiting(set->negotiation, i, &waiting); i++)
        if (waiting.own || !ready_has(set, waiting.name))
            put_waiting(page, set, &waiting);
    put_unoffered(page, set);
    for (uint32_t n = set->window.first; n != set->window.end; n++)
        if (set->running[n % WINDOW_SIZE])
            put_run(page, set->running[n % WINDOW_SIZE]);
    put_line(page, set->queue);
    put_line(page, set->returning.first);
    put_line(page, set->reducing.first);
}

static void put_last(struct page *page, const struct engine *engine)
{
    char label[REQUEST_LABEL];
    const struct tensor *last = engine->flight.last_done;
    if (!last)
        list_text_add(&page->text, "no collective has been finished yet\n");
    else
        list_text_add(&page->text, "last finished %s %.1f s ago\n",
                      request_label(label, last->description.kind, last->name),
                      seconds(engine->last_done_ns, page->now_ns));
}

/* Under the lock. */
static void write_page(struct engine *engine, char *text, size_t size)
{
    struct err err;
    struct page page = { .now_ns = monotonic_ns() };
    list_text_init(&page.text, text, size);
    if (failure_check(engine->failure, &err) < 0)
        list_text_add(&page.text, "the world is broken: %s\n", err.text);
    for (int id = 0; id < engine->sets_count; id++)
        if (engine->sets[id] && engine->sets[id]->state == SET_READY &&
            engine->sets[id]->ended.code == HVD_OK)
            put_set(&page, engine->sets[id]);
    if (page.left_out > 0)
        list_text_add(&page.text, "and %d more\n", page.left_out);
    if (page.lines == 0)
        list_text_add(&page.text, "in no collective\n");
    put_last(&page, engine);
}

void engine_report(void *arg, struct join_report *report, size_t size)
{
    struct engine *engine = arg;
    engine_lock(engine);
    write_page(engine, report->text, size);
    counters_read(&engine->counters, monotonic_tick_ns(), &report->stats);
    engine_unlock(engine);
}

void engine_say_doing(const struct process_set *set, char *text, size_t size)
{
    const struct engine *engine = set->engine;
    struct page page = { .now_ns = monotonic_ns() };
    int unoffered = ready_waiting_count(set), others = engine->flight.in_flight - unoffered;
    list_text_init(&page.text, text, size);
    if (unoffered > 0)
        list_text_add(&page.text, "its device still makes the input of %d tensor%s, ",
                      set->unmade.count, set->unmade.count == 1 ? "" : "s");
    if (others > 0)
        list_text_add(&page.text, "in %d other collectives, ", others);
    else if (unoffered == 0)
        list_text_add(&page.text, "in no collective, ");
    put_last(&page, engine);
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = '\0';
}
