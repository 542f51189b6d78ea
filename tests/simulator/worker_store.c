/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that ask the key-value store over HTTP, as scripts do: PUT of values that are all
 * different, and GET, on few keys, one request after the other on a connection of its own; in some
 * jobs a PUT comes a second time, on another connection, and late. When the job is over the
 * histories are looked at: every read of a key gives a value that a register would have had at some
 * moment between question and answer, and later reads never go back behind earlier ones. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3, ACTS_MAX = 256, LATE_US = 200000 };

struct act {
    bool is_put;
    int key;
    int value;                      /* 0: there was none */
    uint64_t asked_us, answered_us; /* SIM_NEVER: never */
};

static struct act acts[ACTS_MAX];
static int nacts, last_value;

struct sim_asker {
    struct sim_worker *worker;
    struct sim_end *end;
    struct act *act;         /* that is under way */
    struct sim_asker *again; /* puts what this one has put a second time; or NULL */
    bool repeats;            /* is such a one */
    char answer[2048];
    size_t length;
};

void sim_store_reset(void)
{
    nacts = last_value = 0;
}

static void request(struct sim_asker *asker, struct act act)
{
    act.asked_us = sim_now_us();
    act.answered_us = SIM_NEVER;
    acts[nacts] = act;
    asker->act = &acts[nacts++];
    char *body = act.is_put ? sim_format("%d", act.value) : sim_format("%s", "");
    char *text = sim_format(
        "%s /simulated/key%d HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n%s",
        act.is_put ? "PUT" : "GET", act.key, strlen(body), body);
    sim_write(asker->end, text, strlen(text));
}

static bool may_ask(const struct sim_asker *asker)
{
    return nacts < ACTS_MAX && asker->worker->state < WORKER_LEAVING && !asker->act;
}

struct repeat {
    struct sim_asker *asker;
    struct act act;
};

static void repeat(void *context)
{
    const struct repeat *repeat = context;
    if (may_ask(repeat->asker))
        request(repeat->asker, repeat->act);
}

/* As a client does that has waited for an answer for too long; or the network, by a detour. */
static void put_again(struct sim_asker *asker, struct act act)
{
    struct repeat *late = sim_new(sizeof *late);
    *late = (struct repeat){ asker, act };
    sim_timer(asker->worker->process, sim_dice(LATE_US), repeat, late);
}

static void ask(void *context)
{
    struct sim_asker *asker = context;
    if (!may_ask(asker))
        return;
    struct act act = { .is_put = sim_once_in(2), .key = (int)sim_dice(KEYS) };
    if (act.is_put)
        act.value = ++last_value;
    request(asker, act);
    if (act.is_put && asker->again && sim_once_in(2))
        put_again(asker->again, act);
}

/* The answer is there as a whole: its status and value; or -1. */
static int parse(struct sim_asker *asker, int *value)
{
    asker->answer[asker->length] = '\0';
    char *end = strstr(asker->answer, "\r\n\r\n");
    const char *length = end ? strcasestr(asker->answer, "content-length:") : NULL;
    size_t body = length && length < end ? (size_t)atoi(length + 15) : 0;
    if (!end || asker->length < (size_t)(end + 4 - asker->answer) + body)
        return -1;
    *value = atoi(end + 4);
    return atoi(asker->answer + strlen("HTTP/1.1 "));
}

static void on_answer(struct sim_asker *asker, int status, int value)
{
    struct act *act = asker->act;
    asker->act = NULL;
    act->answered_us = sim_now_us();
    if (!act->is_put && status == 200)
        act->value = value;
    else if (status != 200 && (act->is_put || status != 404))
        sim_broken("the key-value store answers %d", status);
    if (!asker->repeats)
        sim_timer(asker->worker->process, sim_between(10, SIM_MS(60)), ask, asker);
}

static void on_readable(void *context)
{
    struct sim_asker *asker = context;
    int error, value = 0;
    long count = sim_read(asker->end, asker->answer + asker->length,
                          sizeof asker->answer - 1 - asker->length, &error);
    if (count < 0)
        asker->end->reader.process = NULL;
    if (count <= 0)
        return;
    asker->length += (size_t)count;
    int status = parse(asker, &value);
    if (status < 0)
        return;
    asker->length = 0;
    on_answer(asker, status, value);
}

static struct sim_asker *begin(struct sim_worker *worker)
{
    struct sim_asker *asker = sim_new(sizeof *asker);
    asker->worker = worker;
    asker->end = sim_dial(worker->process, worker->port);
    if (!asker->end)
        return NULL;
    asker->end->reader = (struct sim_user){ worker->process, on_readable, asker, false };
    return asker;
}

void sim_store_begin(struct sim_worker *worker)
{
    struct sim_asker *asker = begin(worker);
    if (!asker)
        return;
    if (work.again && (asker->again = begin(worker)))
        asker->again->repeats = true;
    worker->asker = asker;
    ask(asker);
}

/* ---- was it a register? ---- */

/* The first put of it; it may have come a second time. */
static const struct act *put_of(int value)
{
    for (int i = 0; i < nacts; i++)
        if (acts[i].is_put && acts[i].value == value)
            return &acts[i];
    return NULL;
}

/* Some other value was put wholly between the put that was read and the read. */
static bool is_stale(const struct act *read, const struct act *put)
{
    for (int i = 0; i < nacts; i++) {
        const struct act *other = &acts[i];
        bool after_put = put ? other->asked_us > put->answered_us : true;
        if (other->is_put && other->value != read->value && other->key == read->key && after_put &&
            other->answered_us < read->asked_us)
            return true;
    }
    return false;
}

/* An earlier read has seen a value that was put after the one that this read gives. */
static bool goes_back(const struct act *read, const struct act *put)
{
    for (int i = 0; i < nacts; i++) {
        const struct act *earlier = &acts[i];
        if (earlier->is_put || earlier->key != read->key || earlier->value == 0 ||
            earlier->answered_us >= read->asked_us || earlier->value == read->value)
            continue;
        if (!put || put->answered_us < put_of(earlier->value)->asked_us)
            return true;
    }
    return false;
}

static bool gives(const struct act *read, const struct act *put)
{
    return !is_stale(read, put) && !goes_back(read, put);
}

static void check_read(const struct act *read)
{
    bool was_put = read->value == 0, is_fine = was_put && gives(read, NULL);
    for (int i = 0; i < nacts && !is_fine; i++) {
        const struct act *put = &acts[i];
        if (!put->is_put || put->value != read->value || put->key != read->key ||
            put->asked_us > read->answered_us)
            continue;
        was_put = true;
        is_fine = gives(read, put);
    }
    if (!is_fine)
        sim_broken("key %d gives %d, which %s", read->key, read->value,
                   was_put ? "was replaced before" : "nobody had put");
}

void sim_store_check(void)
{
    for (int i = 0; i < nacts; i++)
        if (!acts[i].is_put && acts[i].answered_us != SIM_NEVER)
            check_read(&acts[i]);
}
