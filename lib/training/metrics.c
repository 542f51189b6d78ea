/* SPDX-License-Identifier: Apache-2.0 */
/* The average of each metric over the ranks (hvd_training.h).
 *
 * Every rank sends one message to all others, with its metrics in the order of their names, or with
 * the text of its mistake:
 *
 *     0 mistaken, u8   then its text, a string;
 *                      or for each metric its name, a string, and the bits of its value, u64
 *
 * Then all ranks have the same messages and draw the same conclusion: the mistake of the lowest
 * rank that has one, else the lowest rank whose names differ from those of the first rank, else the
 * averages, added up in the order of the ranks. Fails also when out of memory, and when a message
 * is malformed. */
#include "lib/hvd_training.h"

#include "lib/base/text.h"
#include "lib/base/wire.h"
#include "lib/process.h"
#include "lib/training/call.h"
#include "lib/training/names.h"

#include <stdlib.h>
#include <string.h>

struct average {
    struct hvd_metric *metrics; /* the caller's */
    int count;
    int process_set;
    struct named *order; /* of the metrics; owned, as all below */
    double *sums;        /* in that order */
    int *ranks;          /* of the set, of the world */
    struct wire_writer message;
    struct hvd_result messages; /* of all ranks, one after the other */
};

/* ---- sending ---- */

static int metrics_prepare(struct average *average, struct err *err)
{
    int count = average->count;
    if (count < 0 || (count > 0 && !average->metrics))
        return fail(err, HVD_ERR_INVALID, "a list of %d metrics%s", count,
                    average->metrics ? "" : " at NULL");
    average->order = calloc((size_t)count + 1, sizeof *average->order);
    average->sums = calloc((size_t)count + 1, sizeof *average->sums);
    if (!average->order || !average->sums)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    for (int i = 0; i < count; i++)
        average->order[i] = (struct named){ average->metrics[i].name, i };
    return names_sort("metric", average->order, count, err);
}

/* A mistake of this rank is then in `own`: all ranks have to learn of it. */
static int find_ranks(struct average *average, struct err *own, struct err *err)
{
    int rc = call_answer(hvd_process_set_rank(average->process_set), err);
    int size = rc < 0 ? rc : call_answer(hvd_process_set_size(average->process_set), err);
    if (size < 0)
        return size;
    average->ranks = calloc((size_t)size, sizeof *average->ranks);
    if (average->ranks)
        hvd_process_set_ranks(average->process_set, average->ranks, size);
    else if (own->code == HVD_OK)
        fail(own, HVD_ERR_NOMEM, "out of memory");
    return HVD_OK;
}

static struct hvd_metric *metric_at(const struct average *average, int k)
{
    return &average->metrics[average->order[k].place];
}

static void metrics_put(struct average *average, const struct err *own)
{
    uint64_t bits;
    wire_put_u8(&average->message, own->code < 0);
    if (own->code < 0)
        wire_put_string(&average->message, own->text);
    for (int k = 0; own->code == HVD_OK && k < average->count; k++) {
        memcpy(&bits, &metric_at(average, k)->value, sizeof bits);
        wire_put_string(&average->message, metric_at(average, k)->name);
        wire_put_u64(&average->message, bits);
    }
}

/* A rank that has no memory for its message reports this. */
static int exchange(struct average *average, struct err *own, struct err *err)
{
    static const char exhausted[] = "\1\xd\0\0\0out of memory";
    const void *message = exhausted;
    size_t size = sizeof exhausted - 1;
    metrics_put(average, own);
    if (average->message.failed) {
        fail(own, HVD_ERR_NOMEM, "out of memory");
    } else {
        message = average->message.data;
        size = average->message.length;
    }
    return call_gather_bytes("hvd.average_metrics", average->process_set, message, size,
                             &average->messages, err);
}

/* ---- reading ---- */

/* The message of the set's k-th rank, which begins with whether it has a mistake. */
static struct wire_reader message_of(const struct average *average, int k)
{
    struct wire_reader reader;
    const char *at = average->messages.data;
    for (int i = 0; i < k; i++)
        at += average->messages.rows[i];
    wire_reader_init(&reader, at, (size_t)average->messages.rows[k]);
    return reader;
}

static int check_mistakes(const struct average *average, const struct err *own, struct err *err)
{
    char text[sizeof own->text];
    if (own->code < 0)
        return fail(err, own->code, "%s", own->text);
    for (int k = 0; k < average->messages.nrows; k++) {
        struct wire_reader reader = message_of(average, k);
        if (wire_get_u8(&reader) == 0)
            continue;
        wire_get_string(&reader, text, sizeof text);
        text_make_line(text);
        return fail(err, HVD_ERR_MISMATCH, "rank %d: %s", average->ranks[k], text);
    }
    return HVD_OK;
}

struct entry {
    bool there; /* no: that was the last */
    struct wire_text name;
    double value;
};

static struct entry metrics_next_entry(struct wire_reader *reader)
{
    struct entry entry = { .there = reader->left > 0 };
    if (!entry.there)
        return entry;
    entry.name = wire_get_text(reader);
    uint64_t bits = wire_get_u64(reader);
    memcpy(&entry.value, &bits, sizeof bits);
    return entry;
}

/* True if it has a name that the other, in the same order, has not. */
static bool is_alone(const struct entry *entry, const struct entry *other)
{
    const struct wire_text *a = &entry->name, *b = &other->name;
    if (!entry->there || !other->there)
        return entry->there;
    int order = memcmp(a->data, b->data, a->length < b->length ? a->length : b->length);
    return order < 0 || (order == 0 && a->length < b->length);
}

static int quote_difference(const struct entry *entry, int rank, int other, struct err *err)
{
    char quoted[QUOTED_SIZE];
    quote_token(quoted, sizeof quoted, entry->name.data, entry->name.length);
    return fail(err, HVD_ERR_MISMATCH, "rank %d has a metric '%s', rank %d has none", rank, quoted,
                other);
}

/* Adds the values of the set's k-th rank, as long as its names are those of the first rank. */
static int metrics_add(struct average *average, int k, struct err *err)
{
    int first = average->ranks[0], rank = average->ranks[k];
    struct wire_reader reference = message_of(average, 0), reader = message_of(average, k);
    wire_get_u8(&reference);
    wire_get_u8(&reader);
    for (int n = 0; reference.left > 0 || reader.left > 0; n++) {
        struct entry expected = metrics_next_entry(&reference), entry = metrics_next_entry(&reader);
        if (reference.failed || reader.failed)
            return fail(err, HVD_ERR_PROTOCOL, "rank %d sent no list of metrics",
                        reference.failed ? first : rank);
        if (is_alone(&expected, &entry))
            return quote_difference(&expected, first, rank, err);
        if (is_alone(&entry, &expected))
            return quote_difference(&entry, rank, first, err);
        if (n < average->count) /* or this rank differs, as will be seen */
            average->sums[n] += entry.value;
    }
    return HVD_OK;
}

static int metrics_take(struct average *average, const struct err *own, struct err *err)
{
    int size = average->messages.nrows;
    int rc = check_mistakes(average, own, err);
    for (int k = 0; rc == HVD_OK && k < size; k++)
        rc = metrics_add(average, k, err);
    for (int n = 0; rc == HVD_OK && n < average->count; n++)
        metric_at(average, n)->value = average->sums[n] / size;
    return rc;
}

static void average_fini(struct average *average)
{
    free(average->order);
    free(average->sums);
    free(average->ranks);
    wire_writer_fini(&average->message);
    hvd_result_free(&average->messages);
}

int hvd_average_metrics(struct hvd_metric *metrics, int count, int process_set)
{
    struct err own = { .code = HVD_OK }, err;
    struct average average = { .metrics = metrics, .count = count, .process_set = process_set };
    metrics_prepare(&average, &own);
    int rc = find_ranks(&average, &own, &err);
    if (rc == HVD_OK)
        rc = exchange(&average, &own, &err);
    if (rc == HVD_OK)
        rc = metrics_take(&average, &own, &err);
    rc = call_own_mistake_first(rc, &own, &err);
    average_fini(&average);
    if (rc < 0)
        fail_context(&err, "average metrics");
    return process_answer(rc, &err);
}
