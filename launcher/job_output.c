/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks' output on its way to the console and to files; see job_output.h.
 * Fails while it is set up when a directory or file cannot be created; later a destination that
 * cannot be written is given up, said once, and the job goes on without it. */
#include "launcher/job_output.h"

#include "launcher/output_files.h"
#include "launcher/output_lines.h"
#include "launcher/output_writer.h"
#include "launcher/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So much may wait for a slow reader, beside the windows of the streams. */
enum { HIGH_WATER = 1 << 20, LAST_WORDS = 200 };

/* hvdrun's stdout or stderr. */
struct console {
    struct output_writer *writer;
    struct output_sink *sink;
    bool closed;   /* was so from the start: whatever is written is lost */
    bool dangling; /* a stream ended without an end of line: begin the next record on a new one */
};

struct rank_stream {
    struct output_lines lines;
    struct output_sink *file; /* NULL without files */
    uint32_t owed;            /* credit to give back */
};

struct rank_output {
    struct rank_stream streams[OUTPUT_STREAMS];
    char last_words[LAST_WORDS + 1];
};

struct job_output {
    struct job_output_options options;
    struct job_output_events events;
    void *context;
    struct console consoles[OUTPUT_STREAMS];
    struct output_writer *files; /* NULL without files */
    struct rank_output *ranks;
    struct text_buffer scratch;
    bool owing; /* some stream is owed credit */
    bool finishing, lost;
};

static size_t pending(const struct job_output *output)
{
    size_t sum = output->files ? output_writer_pending(output->files) : 0;
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        sum += output_writer_pending(output->consoles[i].writer);
    return sum;
}

static void give_back(struct job_output *output)
{
    output->owing = false;
    for (int rank = 0; rank < output->options.nranks; rank++) {
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++) {
            uint32_t owed = output->ranks[rank].streams[stream].owed;
            output->ranks[rank].streams[stream].owed = 0;
            if (owed > 0)
                output->events.on_credit(output->context, rank, (enum output_stream)stream, owed);
        }
    }
}

static void on_progress(void *context)
{
    struct job_output *output = context;
    if (output->owing && pending(output) < HIGH_WATER)
        give_back(output);
    if (output->finishing && pending(output) == 0) {
        output->finishing = false;
        output->events.on_finished(output->context);
    }
}

static void on_broken(void *context, struct output_sink *sink, int errnum)
{
    struct job_output *output = context;
    bool is_stdout = sink == output->consoles[STREAM_STDOUT].sink;
    output->lost = true;
    if (is_stdout && errnum == EPIPE)
        output->events.on_reader_gone(output->context);
    else if (sink != output->consoles[STREAM_STDERR].sink)
        job_output_say(output, "%s: cannot be written, its output is lost: %s",
                       output_sink_name(sink), strerror(errnum));
}

static void console_write(struct job_output *output, enum output_stream stream, const void *data,
                          size_t length)
{
    struct console *console = &output->consoles[stream];
    if (length == 0)
        return;
    if (console->closed) {
        output->lost = true;
        return;
    }
    if (console->dangling)
        output_sink_write(console->sink, "\n", 1);
    console->dangling = false;
    output_sink_write(console->sink, data, length);
}

/* Passes on what the splitter has made. */
static void write_records(struct job_output *output, int rank, enum output_stream stream)
{
    struct text_buffer *records = &output->scratch;
    struct output_sink *file = output->ranks[rank].streams[stream].file;
    console_write(output, stream, records->data, records->length);
    if (file && records->length > 0)
        output_sink_write(file, records->data, records->length);
    records->length = 0;
}

static const char *stamp(const struct job_output *output, char text[OUTPUT_STAMP_SIZE])
{
    if (!output->options.timestamps)
        return NULL;
    output_stamp(text, time(NULL));
    return text;
}

/* Remembers the last line with something in it, as far as it lies in one chunk. */
static void remember(struct rank_output *rank, const char *data, size_t length)
{
    while (length > 0 && strchr("\r\n\t ", data[length - 1]) && data[length - 1])
        length--;
    size_t begin = length;
    while (begin > 0 && data[begin - 1] != '\n' && data[begin - 1] != '\r')
        begin--;
    if (begin == length)
        return;
    size_t used = 0;
    for (size_t i = begin; i < length && used < LAST_WORDS; i++) {
        unsigned char byte = (unsigned char)data[i];
        rank->last_words[used++] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
    }
    rank->last_words[used] = '\0';
}

void job_output_take(struct job_output *output, int rank, enum output_stream stream,
                     const char *data, size_t length)
{
    struct rank_stream *from = &output->ranks[rank].streams[stream];
    char text[OUTPUT_STAMP_SIZE];
    if (stream == STREAM_STDERR)
        remember(&output->ranks[rank], data, length);
    output_lines_feed(&from->lines, data, length, stamp(output, text), &output->scratch);
    write_records(output, rank, stream);
    from->owed += (uint32_t)length;
    if (pending(output) >= HIGH_WATER) {
        output->owing = true;
        return;
    }
    output->events.on_credit(output->context, rank, stream, from->owed);
    from->owed = 0;
}

void job_output_end(struct job_output *output, int rank, enum output_stream stream)
{
    char text[OUTPUT_STAMP_SIZE];
    output_lines_end(&output->ranks[rank].streams[stream].lines, stamp(output, text),
                     &output->scratch);
    bool rest = output->scratch.length > 0;
    write_records(output, rank, stream);
    if (rest)
        output->consoles[stream].dangling = true;
}

void job_output_say(struct job_output *output, const char *format, ...)
{
    struct text_buffer line = { 0 };
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_buffer_printf(&line, "hvdrun: %s\n", text);
    console_write(output, STREAM_STDERR, line.data, line.length);
    text_buffer_fini(&line);
}

const char *job_output_last_words(const struct job_output *output, int rank)
{
    return output->ranks[rank].last_words;
}

void job_output_finish(struct job_output *output)
{
    output->finishing = true;
    on_progress(output);
}

void job_output_discard(struct job_output *output)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        if (output_writer_pending(output->consoles[i].writer) == 0)
            continue;
        output_writer_drop(output->consoles[i].writer);
        output->consoles[i].closed = output->lost = true;
    }
    if (output->files && output_writer_pending(output->files) > 0)
        output_writer_drop(output->files);
    on_progress(output);
}

bool job_output_lost(const struct job_output *output)
{
    return output->lost;
}

static void open_consoles(struct job_output *output, uv_loop_t *loop)
{
    static const struct output_writer_events events = { on_progress, on_broken };
    static const char *const names[OUTPUT_STREAMS] = { "stdout", "stderr" };
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        struct console *console = &output->consoles[i];
        console->writer = output_writer_create(loop, &events, output);
        console->sink = output_sink_add(console->writer, STDOUT_FILENO + i, names[i], false);
        console->closed =
            i == STREAM_STDOUT ? output->options.stdout_closed : output->options.stderr_closed;
    }
}

static int open_files(struct job_output *output, uv_loop_t *loop, struct err *err)
{
    static const struct output_writer_events events = { on_progress, on_broken };
    const struct job_output_options *options = &output->options;
    output->files = output_writer_create(loop, &events, output);
    for (int rank = 0; rank < options->nranks; rank++) {
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++) {
            char *path = output_file_path(options->directory, rank, options->nranks,
                                          stream == STREAM_STDOUT ? "stdout" : "stderr");
            int fd = output_file_create(path, err);
            if (fd >= 0)
                output->ranks[rank].streams[stream].file =
                    output_sink_add(output->files, fd, path, true);
            free(path);
            if (fd < 0)
                return fd;
        }
    }
    return HVD_OK;
}

struct job_output *job_output_create(uv_loop_t *loop, const struct job_output_options *options,
                                     const struct job_output_events *events, void *context,
                                     struct err *err)
{
    struct job_output *output = xcalloc(1, sizeof *output);
    output->options = *options;
    output->events = *events;
    output->context = context;
    output->ranks = xcalloc((size_t)options->nranks, sizeof *output->ranks);
    for (int rank = 0; rank < options->nranks; rank++) {
        output_lines_init(&output->ranks[rank].streams[STREAM_STDOUT].lines, rank, "stdout");
        output_lines_init(&output->ranks[rank].streams[STREAM_STDERR].lines, rank, "stderr");
    }
    open_consoles(output, loop);
    if (options->directory && open_files(output, loop, err) < 0) {
        job_output_destroy(output);
        return NULL;
    }
    return output;
}

void job_output_destroy(struct job_output *output)
{
    if (!output)
        return;
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        output_writer_destroy(output->consoles[i].writer);
    output_writer_destroy(output->files);
    for (int rank = 0; rank < output->options.nranks; rank++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            output_lines_fini(&output->ranks[rank].streams[stream].lines);
    text_buffer_fini(&output->scratch);
    free(output->ranks);
    free(output);
}
