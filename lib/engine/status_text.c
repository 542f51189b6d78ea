/* SPDX-License-Identifier: Apache-2.0 */
/* The status text of this rank, for SIGUSR2 to hvdrun and for the stall inspector: what its own
 * tensors wait for, what waits for this rank, and what it finished last.
 *
 * The root of a set asks all ranks of the set whom they wait for. The text says that a rank has not
 * submitted a tensor only if that rank has answered so. Where the root has not asked, or a rank has
 * not answered, the text says only what is certain: some of a range of ranks have not submitted the
 * tensor, or nothing is known of them. */
#include "lib/engine/engine_impl.h"

#include "lib/negotiation/list_text.h"
#include "lib/stall/stall.h"

#include <stdio.h>
#include <string.h>

enum { LINES_MAX = 24 };

/* Longer than a query may take. */
#define ANSWERS_NS ((STALL_PERSON_MS + 100) * 1000000ull)

struct page {
    struct list_text text;
    int lines, left_out;
    enum rank_waits_for first; /* the meaning of the first line */
    uint64_t now_ns;
};

static double seconds(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? (double)(now_ns - since_ns) / 1e9 : 0;
}

static bool has_line(struct page *page, enum rank_waits_for waits_for)
{
    if (page->text.length == 0)
        page->first = waits_for;
    if (page->lines >= LINES_MAX)
        page->left_out++;
    else
        page->lines++;
    return page->left_out == 0;
}

static void name_range(struct list_text *list, const struct process_set *set,
                       const struct rank_range *range)
{
    int first = set->ranks[range->first];
    for (int rank = range->first; rank < range->end; rank++) {
        int last = set->ranks[rank];
        bool goes_on = rank + 1 < range->end && set->ranks[rank + 1] == last + 1;
        if (goes_on)
            continue;
        list_text_add(list, first == last ? "%d" : "%d-%d", first, last);
        if (rank + 1 < range->end) {
            first = set->ranks[rank + 1];
            list_text_add(list, ", ");
        }
    }
}

/* "1, 4-7"; `some` stands in front of ranges of which only some ranks are meant. */
static void name_ranks(struct list_text *list, const struct process_set *set,
                       const struct rank_ranges *ranges, const char *some)
{
    for (int i = 0; i < ranges->count; i++) {
        bool is_closed = ranges->closed && i == ranges->count - 1;
        list_text_add(list, "%s%s", i ? ", " : "", is_closed ? "some of " : some);
        name_range(list, set, &ranges->range[i]);
    }
}

/* The ranks that are waited for: " (not submitted by 1, 4-7, some of 9-12; not known of 13-15)" */
static void put_missing(struct list_text *list, const struct process_set *set,
                        const struct rank_ranges *missing, const struct rank_ranges *unsure,
                        const struct rank_ranges *silent)
{
    bool is_said = missing->count > 0 || unsure->count > 0;
    if (!is_said && silent->count == 0)
        return;
    list_text_add(list, is_said ? " (not submitted by " : " (");
    name_ranks(list, set, missing, "");
    list_text_add(list, missing->count > 0 && unsure->count > 0 ? ", " : "");
    name_ranks(list, set, unsure, "some of ");
    list_text_add(list, silent->count == 0 ? "" : is_said ? "; not known of " : "not known of ");
    name_ranks(list, set, silent, "");
    list_text_add(list, ")");
}

/* What all ranks of the set have answered about a name. */
static bool find_told(const struct process_set *set, const char *name, struct stall_told *told)
{
    for (int i = 0; set->stall && stall_told(set->stall, i, told); i++)
        if (strcmp(told->name, name) == 0)
            return true;
    return false;
}

static void put_waiting(struct page *page, const struct process_set *set,
                        const struct waiting *waiting)
{
    static const struct rank_ranges nobody;
    char label[REQUEST_LABEL];
    struct stall_told told;
    if (!has_line(page, waiting->own ? WAITS_FOR_RANKS : WAITS_FOR_ITSELF))
        return;
    request_label(label, waiting->kind, waiting->name);
    list_text_add(&page->text, "%s %s", waiting->own ? "waiting for" : "not yet submitted:", label);
    if (set->id != 0)
        list_text_add(&page->text, " of process set %d", set->id);
    list_text_add(&page->text, " since %.1f s", seconds(waiting->since_ns, page->now_ns));
    if (find_told(set, waiting->name, &told))
        put_missing(&page->text, set, told.missing, &nobody, told.silent);
    else
        put_missing(&page->text, set, &waiting->missing, &waiting->unsure, &waiting->unheard);
    list_text_add(&page->text, "\n");
}

static bool is_waiting(const struct process_set *set, const char *name)
{
    struct waiting waiting;
    for (int i = 0; negotiation_waiting(set->negotiation, i, &waiting); i++)
        if (strcmp(waiting.name, name) == 0)
            return true;
    return ready_has(set, name) || set_steady_has(set, name);
}

/* Names that other ranks have reported, and of which no report has come up the tree yet. */
static void put_told(struct page *page, const struct process_set *set)
{
    struct stall_told told;
    for (int i = 0; set->stall && stall_told(set->stall, i, &told); i++) {
        if (told.age_ms == 0 || told.missing->count == 0 || is_waiting(set, told.name))
            continue;
        struct waiting waiting = { .name = told.name,
                                   .kind = told.kind,
                                   .since_ns = page->now_ns - told.age_ms * UINT64_C(1000000) };
        put_waiting(page, set, &waiting);
    }
}

static const char *act_of(const struct batch *batch)
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
    return batch->operation ? "moving the data of" : acts[batch->stage.step];
}

/* Tensors whose input a device still makes, and tensors that wait behind them. */
static void put_unoffered(struct page *page, const struct process_set *set)
{
    char label[REQUEST_LABEL];
    struct waiting waiting;
    for (int i = 0; ready_waiting(set, i, &waiting); i++) {
        bool is_unmade = i < set->ready.unmade.count;
        if (has_line(page, is_unmade ? WAITS_FOR_DEVICE : WAITS_FOR_NOTHING))
            list_text_add(&page->text, "%s %s since %.1f s\n",
                          is_unmade ? "waiting for the device to make the input of"
                                    : "about to submit",
                          request_label(label, waiting.kind, waiting.name),
                          seconds(waiting.since_ns, page->now_ns));
    }
}

static void put_batch(struct page *page, const struct batch *batch)
{
    char label[REQUEST_LABEL];
    const struct tensor *own = batch->tensors[0].own;
    bool needs_device = !batch->operation &&
                        (batch->stage.step == STAGE_REDUCING || batch->stage.step == STAGE_DOOMED);
    if (!has_line(page, needs_device ? WAITS_FOR_DEVICE : WAITS_FOR_NOTHING))
        return;
    list_text_add(&page->text, "%s %s", act_of(batch),
                  request_label(label, batch->description.kind, own ? own->name : NULL));
    if (batch->count > 1)
        list_text_add(&page->text, " and %d more", batch->count - 1);
    if (own)
        list_text_add(&page->text, " since %.1f s", seconds(own->since_ns, page->now_ns));
    list_text_add(&page->text, "\n");
}

/* The first of a tensor's chunks. */
static void status_text_put_line(struct page *page, const struct batch *first)
{
    const struct tensor *last = NULL;
    for (const struct batch *batch = first; batch; batch = batch->next) {
        const struct tensor *own = batch->tensors[0].own;
        if (!own || own != last)
            put_batch(page, batch);
        last = own;
    }
}

static void put_set(struct page *page, const struct process_set *set)
{
    struct waiting waiting;
    for (int i = 0; negotiation_waiting(set->negotiation, i, &waiting); i++)
        if (waiting.own || !(ready_has(set, waiting.name) || set_steady_has(set, waiting.name)))
            put_waiting(page, set, &waiting);
    for (int i = 0; set_steady_waiting(set, i, &waiting); i++)
        put_waiting(page, set, &waiting);
    put_told(page, set);
    put_unoffered(page, set);
    for (uint32_t n = set->batches.window.first; n != set->batches.window.end; n++)
        if (set->batches.running[n % WINDOW_SIZE])
            put_batch(page, set->batches.running[n % WINDOW_SIZE]);
    status_text_put_line(page, set->batches.queue);
    status_text_put_line(page, set->stages.returning.first);
    status_text_put_line(page, set->stages.reducing.first);
}

static void put_last(struct page *page, const struct engine *engine)
{
    char label[REQUEST_LABEL];
    const struct tensor *last = engine->in_flight.last_done;
    if (!last)
        list_text_add(&page->text, "no collective has been finished yet\n");
    else
        list_text_add(&page->text, "last finished %s %.1f s ago\n",
                      request_label(label, last->description.kind, last->name),
                      seconds(engine->in_flight.last_done_ns, page->now_ns));
}

/* Called under the lock. Returns what the first line says. */
static enum rank_waits_for write_page(struct engine *engine, char *text, size_t size)
{
    struct err err;
    struct page page = { .now_ns = monotonic_ns() };
    list_text_init(&page.text, text, size);
    if (failure_check(engine->failure, &err) < 0)
        list_text_add(&page.text, "the world is broken: %s\n", err.text);
    for (int id = 0; id < engine->sets.count; id++)
        if (engine->sets.at[id] && engine->sets.at[id]->state == SET_READY &&
            engine->sets.at[id]->ended.code == HVD_OK)
            put_set(&page, engine->sets.at[id]);
    if (page.left_out > 0)
        list_text_add(&page.text, "and %d more\n", page.left_out);
    if (page.lines == 0)
        list_text_add(&page.text, "in no collective\n");
    put_last(&page, engine);
    return page.first;
}

void engine_report(void *arg, struct join_report *report, size_t size)
{
    struct engine *engine = arg;
    engine_lock(engine);
    if (inspect_ask(engine))
        progress_for_person(engine, inspect_has_told, engine, monotonic_ns() + ANSWERS_NS);
    engine->inspect.asking = false;
    enum rank_waits_for first = write_page(engine, report->text, size);
    counters_read(&engine->counters, monotonic_tick_ns(), &report->stats);
    engine_list_submitted(engine, &report->waits);
    report->waits.for_whom = first;
    engine_unlock(engine);
}

void engine_write_status(const struct process_set *set, char *text, size_t size)
{
    const struct engine *engine = set->engine;
    struct page page = { .now_ns = monotonic_ns() };
    int unoffered = ready_waiting_count(set), others = engine->in_flight.count - unoffered;
    list_text_init(&page.text, text, size);
    if (unoffered > 0)
        list_text_add(&page.text, "its device still makes the input of %d tensor%s, ",
                      set->ready.unmade.count, set->ready.unmade.count == 1 ? "" : "s");
    if (others > 0)
        list_text_add(&page.text, "in %d other collectives, ", others);
    else if (unoffered == 0)
        list_text_add(&page.text, "in no collective, ");
    put_last(&page, engine);
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = '\0';
}
