/* SPDX-License-Identifier: Apache-2.0 */
/* Turns events into records of Chrome's trace format; see timeline.h. Names and order of the fields
 * are Horovod's:
 *
 *   M  process_name, process_sort_index      of a tensor, when it is first seen; pid 0: the start
 *   B, E  a span    X  a rank is ready    i  CYCLE_START
 *
 * A tensor for which there is no memory is left out. */
#include "lib/timeline/timeline.h"

#include "lib/timeline/timeline_file.h"
#include "lib/timeline/timeline_names.h"

#include <stdlib.h>
#include <time.h>

struct timeline {
    struct timeline_file file;
    struct timeline_names names;
    bool mark_cycles;
    uint64_t start_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void put_json(struct timeline *timeline, const char *json)
{
    timeline_file_json(&timeline->file, json);
}

/* Microseconds with three decimals: small collectives are shorter than one. */
static void put_time(struct timeline *timeline)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC) - timeline->start_ns;
    char decimals[] = { '.', (char)('0' + now_ns / 100 % 10), (char)('0' + now_ns / 10 % 10),
                        (char)('0' + now_ns % 10), '\0' };
    put_json(timeline, ",\"ts\":");
    timeline_file_number(&timeline->file, now_ns / 1000);
    put_json(timeline, decimals);
}

static void put_pid(struct timeline *timeline, uint32_t pid)
{
    put_json(timeline, ",\"pid\":");
    timeline_file_number(&timeline->file, pid);
}

/* {"ph":"M","name":"...","pid":1,"args":{   the caller appends the rest, which ends with }} */
static void begin_metadata(struct timeline *timeline, const char *name, uint32_t pid)
{
    timeline_file_begin(&timeline->file);
    put_json(timeline, "{\"ph\":\"M\",\"name\":\"");
    put_json(timeline, name);
    put_json(timeline, "\"");
    put_pid(timeline, pid);
    put_json(timeline, ",\"args\":{");
}

static void put_sort_index(struct timeline *timeline, uint32_t pid)
{
    begin_metadata(timeline, "process_sort_index", pid);
    put_json(timeline, "\"sort_index\":");
    timeline_file_number(&timeline->file, pid);
    put_json(timeline, "}}");
}

static void put_start(struct timeline *timeline)
{
    begin_metadata(timeline, "process_name", 0);
    put_json(timeline, "\"start_time_since_epoch_in_micros\":");
    timeline_file_number(&timeline->file, clock_ns(CLOCK_REALTIME) / 1000);
    put_json(timeline, "}}");
    put_sort_index(timeline, 0);
    timeline_file_flush(&timeline->file);
}

struct timeline *timeline_open(const char *file, bool mark_cycles, struct err *err)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline) {
        fail(err, HVD_ERR_NOMEM, "timeline: out of memory");
        return NULL;
    }
    if (timeline_file_open(&timeline->file, file, err) < 0) {
        free(timeline);
        return NULL;
    }
    timeline->mark_cycles = mark_cycles;
    timeline->start_ns = clock_ns(CLOCK_MONOTONIC);
    put_start(timeline);
    return timeline;
}

void timeline_close(struct timeline *timeline)
{
    if (!timeline)
        return;
    timeline_file_close(&timeline->file);
    timeline_names_fini(&timeline->names);
    free(timeline);
}

const char *timeline_file(const struct timeline *timeline)
{
    return timeline ? timeline->file.name : NULL;
}

static bool is_over(const struct timeline *timeline)
{
    return !timeline || timeline->file.fd < 0;
}

static struct timeline_name *introduce(struct timeline *timeline, const char *tensor)
{
    struct timeline_name *name = timeline_names_add(&timeline->names, tensor);
    if (!name)
        return NULL;
    begin_metadata(timeline, "process_name", name->number);
    put_json(timeline, "\"name\":\"");
    timeline_file_text(&timeline->file, tensor);
    put_json(timeline, "\"}}");
    put_sort_index(timeline, name->number);
    return name;
}

static struct timeline_name *known(struct timeline *timeline, const char *tensor)
{
    struct timeline_name *name = timeline_names_find(&timeline->names, tensor);
    return name ? name : introduce(timeline, tensor);
}

void timeline_begin(struct timeline *timeline, const char *tensor, const char *span)
{
    struct timeline_name *name = is_over(timeline) ? NULL : known(timeline, tensor);
    if (!name)
        return;
    name->depth++;
    timeline_file_begin(&timeline->file);
    put_json(timeline, "{\"ph\":\"B\",\"name\":\"");
    timeline_file_text(&timeline->file, span);
    put_json(timeline, "\"");
    put_time(timeline);
    put_pid(timeline, name->number);
    put_json(timeline, "}");
}

bool timeline_is_open(struct timeline *timeline, const char *tensor)
{
    const struct timeline_name *name =
        is_over(timeline) ? NULL : timeline_names_find(&timeline->names, tensor);
    return name && name->depth > 0;
}

/* "name":"text" with a separator from the previous field. */
static void put_text_arg(struct timeline *timeline, const char **comma, const char *name,
                         const char *text)
{
    if (!text)
        return;
    put_json(timeline, *comma);
    put_json(timeline, name);
    put_json(timeline, "\"");
    timeline_file_text(&timeline->file, text);
    put_json(timeline, "\"");
    *comma = ",";
}

static void put_args(struct timeline *timeline, const struct timeline_args *args)
{
    const char *comma = "";
    put_json(timeline, ",\"args\":{");
    put_text_arg(timeline, &comma, "\"dtype\":", args->dtype);
    put_text_arg(timeline, &comma, "\"shape\":", args->shape);
    if (args->nbytes > 0) {
        put_json(timeline, comma);
        put_json(timeline, "\"bytes\":");
        timeline_file_number(&timeline->file, args->nbytes);
        comma = ",";
    }
    put_text_arg(timeline, &comma, "\"algorithm\":", args->algorithm);
    put_json(timeline, "}");
}

void timeline_end_with(struct timeline *timeline, const char *tensor,
                       const struct timeline_args *args)
{
    struct timeline_name *name =
        is_over(timeline) ? NULL : timeline_names_find(&timeline->names, tensor);
    if (!name || name->depth == 0)
        return;
    name->depth--;
    timeline_file_begin(&timeline->file);
    put_json(timeline, "{\"ph\":\"E\"");
    put_time(timeline);
    put_pid(timeline, name->number);
    if (args)
        put_args(timeline, args);
    put_json(timeline, "}");
}

void timeline_end(struct timeline *timeline, const char *tensor)
{
    timeline_end_with(timeline, tensor, NULL);
}

void timeline_ready(struct timeline *timeline, const char *tensor, int rank)
{
    struct timeline_name *name = is_over(timeline) ? NULL : known(timeline, tensor);
    if (!name)
        return;
    timeline_file_begin(&timeline->file);
    put_json(timeline, "{\"ph\":\"X\",\"name\":\"");
    timeline_file_number(&timeline->file, (uint64_t)rank);
    put_json(timeline, "\"");
    put_time(timeline);
    put_json(timeline, ",\"dur\":0");
    put_pid(timeline, name->number);
    put_json(timeline, "}");
}

void timeline_mark_cycle(struct timeline *timeline)
{
    if (is_over(timeline) || !timeline->mark_cycles)
        return;
    timeline_file_begin(&timeline->file);
    put_json(timeline, "{\"ph\":\"i\",\"name\":\"CYCLE_START\"");
    put_time(timeline);
    put_json(timeline, ",\"pid\":0,\"s\":\"g\"}");
}

void timeline_flush(struct timeline *timeline)
{
    if (!is_over(timeline))
        timeline_file_flush(&timeline->file);
}
