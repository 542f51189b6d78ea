/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks' output on its way to the console and to files; see job_output.h. job_output_workers.c
 * has the ranks, and their files. Fails during set-up
 * when a directory or file cannot be created. Later, a destination that cannot be written is given
 * up and reported once, and the job goes on without it. */
#include "launcher/output/job_output_impl.h"

#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that may be queued for a slow reader, in addition to the windows of the streams. */
enum { HIGH_WATER = 1 << 20, PIECE = 32 * 1024 };

/* The most failed destinations that are named. */
enum { BROKEN_NAMED_MAX = 3 };

static size_t pending(const struct job_output *output)
{
    size_t sum = output->files ? output_writer_pending(output->files) : 0;
    for (int i = 0; i < OUTPUT_STREAMS && output->own[i].writer; i++)
        sum += output_writer_pending(output->own[i].writer);
    return sum;
}

static void resume(struct job_output *output);

static void on_progress(void *context)
{
    struct job_output *output = context;
    if (output->congested && pending(output) < HIGH_WATER)
        resume(output);
    if (output->finishing && !output->congested && pending(output) == 0) {
        output->finishing = false;
        output->events.on_finished(output->context);
    }
}

/* Of stderr nothing is said, for it would be said there. */
static void tell_broken(struct job_output *output, struct output_sink *sink, int errnum)
{
    if (sink != output->consoles[STREAM_STDERR]->sink && ++output->nbroken <= BROKEN_NAMED_MAX)
        job_output_say(output, "%s: cannot be written, its output is lost: %s%s",
                       output_sink_name(sink), strerror(errnum),
                       output->nbroken == BROKEN_NAMED_MAX ? " (others are not named)" : "");
}

static void on_job_output_broken(void *context, struct output_sink *sink, int errnum)
{
    struct job_output *output = context;
    bool is_stdout = sink == output->consoles[STREAM_STDOUT]->sink;
    output->lost = true;
    if (is_stdout && errnum == EPIPE)
        output->events.on_reader_gone(output->context);
    else
        tell_broken(output, sink, errnum);
}

/* Something is written to a console that is closed: from the start, which is told once, or because
 * job_output_discard() has given up on it. */
static void console_lose(struct job_output *output, struct console *console)
{
    bool tell = console->absent && !console->told;
    output->lost = console->told = true;
    if (tell)
        tell_broken(output, console->sink, EBADF);
}

/* Wipes the status line before anything else is written, and before another status line. */
static void wipe_status(struct job_output *output)
{
    static const char wipe[] = "\r\033[K";
    struct console *console = output->consoles[STREAM_STDERR];
    if (output->status_shown)
        output_sink_write(console->sink, wipe, sizeof wipe - 1);
    output->status_shown = false;
}

void job_output_status(struct job_output *output, const char *line)
{
    struct console *console = output->consoles[STREAM_STDERR];
    if (console->closed || console->dangling)
        return;
    wipe_status(output);
    output_sink_write(console->sink, line, strlen(line));
    output->status_shown = *line;
}

static void console_write(struct job_output *output, enum output_stream stream, const void *data,
                          size_t length)
{
    struct console *console = output->consoles[stream];
    if (length == 0)
        return;
    wipe_status(output);
    if (console->closed) {
        console_lose(output, console);
        return;
    }
    if (console->dangling)
        output_sink_write(console->sink, "\n", 1);
    console->dangling = false;
    console->returned = ((const char *)data)[length - 1] == '\r';
    output_sink_write(console->sink, data, length);
}

/* Passes on the records of the splitter. */
static void write_records(struct job_output *output, int rank, enum output_stream stream)
{
    struct text_buffer *records = &output->scratch;
    struct output_sink *file = output->ranks[rank]->streams[stream].file;
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

/* Called before the records are written. Output to a separate stdout does not count. */
static void note_last(struct job_output *output, int rank, enum output_stream stream)
{
    if (output->scratch.length > 0 && output->consoles[stream] == output->consoles[STREAM_STDERR])
        output->last_rank = stream == STREAM_STDERR ? rank : -1;
}

static void write_piece(struct job_output *output, int rank, enum output_stream stream,
                        const char *data, size_t length)
{
    char text[OUTPUT_STAMP_SIZE];
    if (stream == STREAM_STDERR)
        last_line_feed(&output->ranks[rank]->last_line, data, length);
    output_lines_feed(&output->ranks[rank]->streams[stream].lines, data, length,
                      stamp(output, text), &output->scratch);
    note_last(output, rank, stream);
    write_records(output, rank, stream);
    output->events.on_credit(output->context, rank, stream, (uint32_t)length);
}

/* Writes the unfinished end of the stream. */
static void write_end(struct job_output *output, int rank, enum output_stream stream)
{
    char text[OUTPUT_STAMP_SIZE];
    output_lines_end(&output->ranks[rank]->streams[stream].lines, stamp(output, text),
                     &output->scratch);
    bool rest = output->scratch.length > 0;
    note_last(output, rank, stream);
    write_records(output, rank, stream);
    if (rest)
        output->consoles[stream]->dangling = true;
}

/* A prefix can make a line of one byte many times as long, so this writes a piece at a time, while
 * there is room. False if some bytes must wait. */
static bool write_waiting(struct job_output *output, int rank, enum output_stream stream)
{
    struct rank_stream *from = &output->ranks[rank]->streams[stream];
    size_t done = 0;
    while (done < from->waiting.length && pending(output) < HIGH_WATER) {
        size_t left = from->waiting.length - done;
        size_t piece = left < PIECE ? left : PIECE;
        write_piece(output, rank, stream, from->waiting.data + done, piece);
        done += piece;
    }
    if (done < from->waiting.length) {
        text_buffer_consume(&from->waiting, done);
        return false;
    }
    text_buffer_fini(&from->waiting);
    if (from->ended)
        write_end(output, rank, stream);
    from->ended = false;
    return true;
}

static void resume(struct job_output *output)
{
    output->congested = false;
    for (int rank = 0; rank < output->nranks; rank++)
        for (int stream = 0; output->ranks[rank] && stream < OUTPUT_STREAMS; stream++)
            if (!write_waiting(output, rank, (enum output_stream)stream))
                output->congested = true;
    job_output_release(output);
}

void job_output_take(struct job_output *output, int rank, enum output_stream stream,
                     const char *data, size_t length)
{
    struct rank_stream *from = &output->ranks[rank]->streams[stream];
    last_lines_feed(&from->last_lines, data, length);
    while (length > 0 && from->waiting.length == 0 && pending(output) < HIGH_WATER) {
        size_t piece = length < PIECE ? length : PIECE;
        write_piece(output, rank, stream, data, piece);
        data += piece;
        length -= piece;
    }
    if (length == 0)
        return;
    text_buffer_put(&from->waiting, data, length);
    output->congested = true;
}

void job_output_end(struct job_output *output, int rank, enum output_stream stream)
{
    struct rank_stream *from = &output->ranks[rank]->streams[stream];
    if (from->waiting.length > 0)
        from->ended = true;
    else
        write_end(output, rank, stream);
}

void job_output_say(struct job_output *output, const char *format, ...)
{
    struct text_buffer line = { 0 };
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        xalloc_failed();
    va_end(args);
    text_buffer_printf(&line, "hvdrun: %s\n", text);
    if (output->consoles[STREAM_STDERR]->returned)
        output->consoles[STREAM_STDERR]->dangling = true;
    output->last_rank = -1;
    console_write(output, STREAM_STDERR, line.data, line.length);
    text_buffer_fini(&line);
    free(text);
}

bool job_output_is_amid_line(const struct job_output *output, enum output_stream stream)
{
    const struct console *console = output->consoles[stream];
    return console->dangling || console->returned;
}

void job_output_line_ended(struct job_output *output, enum output_stream stream)
{
    struct console *console = output->consoles[stream];
    console->dangling = console->returned = false;
}

const char *job_output_last_line(struct job_output *output, int rank)
{
    return output->ranks[rank] ? last_line_text(&output->ranks[rank]->last_line) : "";
}

bool job_output_shows_last_line(const struct job_output *output, int rank)
{
    return output->last_rank == rank;
}

char *job_output_last_lines(const struct job_output *output, int rank, bool *on_stdout)
{
    if (!output->ranks[rank])
        return xstrdup("");
    const struct rank_stream *streams = output->ranks[rank]->streams;
    char *text = last_lines_text(&streams[STREAM_STDERR].last_lines);
    *on_stdout = *text == '\0';
    if (!*on_stdout)
        return text;
    free(text);
    return last_lines_text(&streams[STREAM_STDOUT].last_lines);
}

char *job_output_tail(const struct job_output *output, int rank, enum output_stream stream,
                      size_t nbytes)
{
    if (!output->ranks[rank])
        return xstrdup("");
    return last_lines_tail(&output->ranks[rank]->streams[stream].last_lines, JOB_OUTPUT_TAIL_LINES,
                           nbytes);
}

/* Never calls back at once: the caller may be inside a callback. */
void job_output_finish(struct job_output *output)
{
    output->finishing = true;
    output_writer_poke(output->consoles[STREAM_STDERR]->writer);
}

void job_output_discard(struct job_output *output)
{
    for (int i = 0; i < OUTPUT_STREAMS && output->own[i].writer; i++) {
        if (!output_writer_is_late(output->own[i].writer))
            continue;
        output_writer_drop(output->own[i].writer);
        output->own[i].closed = output->lost = true;
    }
    if (output->files && output_writer_is_late(output->files)) {
        output_writer_drop(output->files);
        output->lost = true;
    }
    output_writer_poke(output->consoles[STREAM_STDERR]->writer);
}

bool job_output_lost(const struct job_output *output)
{
    return output->lost;
}

static void open_console(struct job_output *output, enum output_stream stream, uv_loop_t *loop)
{
    static const struct output_writer_events events = { on_progress, on_job_output_broken };
    bool is_stdout = stream == STREAM_STDOUT;
    struct console *console = &output->own[stream];
    console->writer = output_writer_create(loop, &events, output);
    console->sink = output_sink_add(console->writer, is_stdout ? STDOUT_FILENO : STDERR_FILENO,
                                    is_stdout ? "stdout" : "stderr", false);
    console->closed = console->absent =
        is_stdout ? output->options.stdout_closed : output->options.stderr_closed;
    output->consoles[stream] = console;
}

/* True for "2>&1", or one terminal for both: two writers would mix their lines. */
static bool are_one_file(int fd, int other)
{
    struct stat status, other_status;
    return fstat(fd, &status) == 0 && fstat(other, &other_status) == 0 &&
           status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

static void open_consoles(struct job_output *output, uv_loop_t *loop)
{
    open_console(output, STREAM_STDOUT, loop);
    if (are_one_file(STDOUT_FILENO, STDERR_FILENO) &&
        output->options.stdout_closed == output->options.stderr_closed)
        output->consoles[STREAM_STDERR] = output->consoles[STREAM_STDOUT];
    else
        open_console(output, STREAM_STDERR, loop);
}

static int open_files(struct job_output *output, uv_loop_t *loop, struct err *err)
{
    static const struct output_writer_events events = { on_progress, on_job_output_broken };
    int rc = HVD_OK;
    output->files = output_writer_create(loop, &events, output);
    for (int rank = 0; rc == HVD_OK && rank < output->options.nranks; rank++)
        rc = job_output_open_files(output, rank, err);
    return rc;
}

struct job_output *job_output_create(uv_loop_t *loop, const struct job_output_options *options,
                                     const struct job_output_events *events, void *context,
                                     struct err *err)
{
    struct job_output *output = xcalloc(1, sizeof *output);
    output->options = *options;
    output->events = *events;
    output->context = context;
    output->last_rank = -1;
    open_consoles(output, loop);
    if (options->directory && open_files(output, loop, err) < 0) {
        job_output_destroy(output);
        return NULL;
    }
    for (int rank = 0; !options->elastic && rank < options->nranks; rank++)
        job_output_add(output, rank, rank);
    return output;
}

void job_output_prepare(struct job_output *output)
{
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        if (output->own[i].writer)
            output_writer_start(output->own[i].writer);
    if (output->files)
        output_writer_start(output->files);
}

void job_output_destroy(struct job_output *output)
{
    if (!output)
        return;
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        output_writer_destroy(output->own[i].writer);
    output_writer_destroy(output->files);
    job_output_free_ranks(output);
    text_buffer_fini(&output->scratch);
    free(output);
}
