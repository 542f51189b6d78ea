/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's stdout and stderr (launcher/output/output_writer.h) in memory: what is written is taken
 * a moment later, all at once or, by a slow reader, a little at a time; a reader of stdout may have
 * gone away. Nothing may be written once the writer is destroyed. stdin
 * (launcher/output/stdin_reader.h) is never asked for. */
#include "launcher/output/output_writer.h"

#include "launcher/output/stdin_reader.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/world.h"

#include <errno.h>
#include <string.h>

struct output_sink {
    struct output_writer *writer;
    const char *name;
    struct sim_console *console;
    bool broken;
};

struct output_writer {
    struct output_writer_events events;
    void *context;
    uv_loop_t *loop;
    struct output_sink *sink; /* a console has one */
    size_t pending, taken;
    size_t looked_at; /* what had been written to it then */
    bool started, due, dropped, destroyed;
};

struct output_writer *output_writer_create(uv_loop_t *loop,
                                           const struct output_writer_events *events, void *context)
{
    struct output_writer *writer = sim_new(sizeof *writer);
    *writer = (struct output_writer){ .events = *events, .context = context, .loop = loop };
    world.writers_without_thread++;
    return writer;
}

struct output_sink *output_sink_add(struct output_writer *writer, int fd, const char *name,
                                    bool owned)
{
    struct output_sink *sink = sim_new(sizeof *sink);
    (void)owned;
    *sink = (struct output_sink){ writer, name, &world.consoles[fd == 2], false };
    return writer->sink = sink;
}

void output_writer_start(struct output_writer *writer)
{
    world.writers_without_thread -= !writer->started;
    writer->started = true;
}

static void append(struct sim_console *console, const void *data, size_t length)
{
    if (length == 0)
        return;
    if (console->length + length > console->room) {
        size_t room = 2 * (console->length + length) + 4096;
        char *text = sim_room(room);
        if (console->length > 0)
            memcpy(text, console->text, console->length);
        console->text = text;
        console->room = room;
    }
    memcpy(console->text + console->length, data, length);
    console->length += length;
}

const char *sim_last_line(void)
{
    const struct sim_console *console = &world.consoles[1];
    size_t length = console->length;
    length -= length > 0 && console->text[length - 1] == '\n';
    const char *newline = length > 0 ? memrchr(console->text, '\n', length) : NULL;
    const char *line = newline ? newline + 1 : console->text;
    length -= (size_t)(line - console->text);
    char *text = sim_new(length + 1);
    return length > 0 ? memcpy(text, line, length) : text;
}

static void due(struct output_writer *writer);

static void on_due(void *context)
{
    struct output_writer *writer = context;
    writer->due = false;
    if (writer->destroyed)
        return;
    bool is_stdout = writer->sink->console == &world.consoles[0];
    if (is_stdout && world.reader_gone && writer->pending > 0 && !writer->sink->broken) {
        writer->sink->broken = true;
        writer->pending = 0;
        writer->events.on_broken(writer->context, writer->sink, EPIPE);
    }
    size_t taken = writer->pending;
    if (is_stdout && world.slow_reader && taken > 2000)
        taken = 2000;
    writer->pending -= taken;
    writer->taken += taken;
    if (writer->pending > 0)
        due(writer);
    writer->events.on_progress(writer->context);
}

static void due(struct output_writer *writer)
{
    if (writer->due || writer->destroyed)
        return;
    writer->due = true;
    sim_after(writer->loop->data, sim_between(20, world.slow_reader ? 5000 : 500), on_due, writer);
}

void output_sink_write(struct output_sink *sink, const void *data, size_t length)
{
    struct output_writer *writer = sink->writer;
    if (writer->destroyed)
        sim_broken("output is written after the end");
    if (sink->broken || writer->dropped)
        return;
    if (sink->console == &world.consoles[1] && length > 8 && memcmp(data, "hvdrun: ", 8) == 0)
        sim_log("%.*s", (int)strcspn(data, "\n"), (const char *)data);
    append(sink->console, data, length);
    writer->pending += length;
    due(writer);
}

const char *output_sink_name(const struct output_sink *sink)
{
    return sink->name;
}

size_t output_writer_pending(struct output_writer *writer)
{
    return writer->pending;
}

bool output_writer_is_late(struct output_writer *writer)
{
    bool late = writer->pending > 0 && writer->looked_at > writer->taken;
    writer->looked_at = writer->taken + writer->pending;
    return late;
}

void output_writer_poke(struct output_writer *writer)
{
    due(writer);
}

void output_writer_drop(struct output_writer *writer)
{
    world.output_dropped = writer->dropped = true;
    writer->pending = 0;
}

void output_writer_destroy(struct output_writer *writer)
{
    if (writer)
        writer->destroyed = true;
}

/* ---- launcher/output/stdin_reader.h ---- */

struct stdin_reader *stdin_reader_create(uv_loop_t *loop, int fd, stdin_read_fn on_read,
                                         void *context, struct err *err)
{
    (void)loop, (void)fd, (void)on_read, (void)context, (void)err;
    return NULL;
}

int stdin_reader_errnum(const struct stdin_reader *reader)
{
    (void)reader;
    return 0;
}

void stdin_reader_want(struct stdin_reader *reader, size_t nbytes)
{
    (void)reader, (void)nbytes;
}

void stdin_reader_wake(struct stdin_reader *reader)
{
    (void)reader;
}

void stdin_reader_destroy(struct stdin_reader *reader)
{
    (void)reader;
}
