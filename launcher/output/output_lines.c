/* SPDX-License-Identifier: Apache-2.0 */
/* A stream cut into records with a prefix; see output_lines.h.
 *   Complete records go from the chunk straight to the output; only the unfinished end of a chunk
 *   is kept, and goes out when its end comes, when it gets too long, or when the stream ends. */
#include "launcher/output/output_lines.h"

#include <stdio.h>
#include <string.h>

/* Memory that a stream without an unfinished record may keep. */
enum { PARTIAL_IDLE_MAX = 1 << 16 };

void output_lines_init(struct output_lines *lines, int rank, const char *stream)
{
    *lines = (struct output_lines){ .prefix_length = 0 };
    output_lines_set_rank(lines, rank, stream);
}

void output_lines_set_rank(struct output_lines *lines, int rank, const char *stream)
{
    int length = snprintf(lines->prefix, sizeof lines->prefix, "[%d]<%s>:", rank, stream);
    lines->prefix_length = (size_t)length;
}

void output_lines_fini(struct output_lines *lines)
{
    text_buffer_fini(&lines->partial);
}

void output_stamp(char stamp[OUTPUT_STAMP_SIZE], time_t now)
{
    struct tm local;
    if (!localtime_r(&now, &local) || !asctime_r(&local, stamp))
        stamp[0] = '\0';
    stamp[strcspn(stamp, "\n")] = '\0';
}

/* The output of the records of one chunk. */
struct sink {
    struct output_lines *lines;
    const char *stamp;
    size_t stamp_length;
    struct text_buffer *out;
};

static char *output_lines_append(char *to, const void *data, size_t nbytes)
{
    if (nbytes > 0)
        memcpy(to, data, nbytes);
    return to + nbytes;
}

/* Puts one record: the kept bytes, then `text`, then `mark`. */
static void put_record(const struct sink *sink, const char *text, size_t length, const char *mark)
{
    struct output_lines *lines = sink->lines;
    size_t mark_length = strlen(mark);
    char *start = text_buffer_reserve(sink->out, sink->stamp_length + lines->prefix_length +
                                                     lines->partial.length + length + mark_length);
    char *to = output_lines_append(start, sink->stamp, sink->stamp_length);
    to = output_lines_append(to, lines->prefix, lines->prefix_length);
    to = output_lines_append(to, lines->partial.data, lines->partial.length);
    to = output_lines_append(to, text, length);
    to = output_lines_append(to, mark, mark_length);
    sink->out->length += (size_t)(to - start);
    lines->partial.length = 0;
    if (lines->partial.capacity > PARTIAL_IDLE_MAX)
        text_buffer_fini(&lines->partial);
}

/* Puts full pieces while the kept bytes and `text` are longer than a record may be; returns the
 * bytes of `text` that were used. */
static size_t put_pieces(const struct sink *sink, const char *text, size_t length)
{
    size_t taken = 0;
    while (sink->lines->partial.length + (length - taken) > OUTPUT_RECORD_MAX) {
        size_t piece = OUTPUT_RECORD_MAX - sink->lines->partial.length;
        put_record(sink, text + taken, piece, "\\\n");
        taken += piece;
    }
    return taken;
}

static void output_lines_put_line(const struct sink *sink, const char *text, size_t length)
{
    size_t taken = put_pieces(sink, text, length - 1);
    put_record(sink, text + taken, length - taken, "");
}

static void output_lines_keep(const struct sink *sink, const char *text, size_t length)
{
    size_t taken = put_pieces(sink, text, length);
    text_buffer_put(&sink->lines->partial, text + taken, length - taken);
}

/* The position of the next `byte`, or `end`. */
static const char *search(const char *at, const char *end, char byte)
{
    const char *found = memchr(at, byte, (size_t)(end - at));
    return found ? found : end;
}

void output_lines_feed(struct output_lines *lines, const char *data, size_t length,
                       const char *stamp, struct text_buffer *out)
{
    if (length == 0)
        return;
    struct sink sink = { lines, stamp, stamp ? strlen(stamp) : 0, out };
    const char *at = data, *end = data + length;
    const char *newline = search(at, end, '\n'), *carriage = search(at, end, '\r');
    while (newline < end || carriage < end) {
        const char *next = (newline < carriage ? newline : carriage) + 1;
        output_lines_put_line(&sink, at, (size_t)(next - at));
        at = next;
        if (newline < at)
            newline = search(at, end, '\n');
        if (carriage < at)
            carriage = search(at, end, '\r');
    }
    output_lines_keep(&sink, at, (size_t)(end - at));
}

void output_lines_end(struct output_lines *lines, const char *stamp, struct text_buffer *out)
{
    struct sink sink = { lines, stamp, stamp ? strlen(stamp) : 0, out };
    if (lines->partial.length > 0)
        put_record(&sink, NULL, 0, "");
    text_buffer_fini(&lines->partial);
}
