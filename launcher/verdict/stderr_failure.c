/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the reports of failures on stderr; see stderr_failure.h. */
#include "launcher/verdict/stderr_failure.h"

#include <string.h>

/* How a report begins, and the phase of the lines behind it. */
static const struct {
    const char *begins;
    int phase;
} headers[] = {
    { "Traceback (most recent call last):", STDERR_IN_TRACEBACK },             /* Python */
    { "terminate called after throwing an instance of", STDERR_IN_TERMINATE }, /* libstdc++ */
};

/* Lines of Python before a traceback that is no failure of its own: of the next exception of a
 * chain, and of an exception that does not end the process. */
static const char *const related[] = {
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
    "Exception ignored in",
    "Error in atexit._run_exitfuncs:",
};

/* Messages that say that another rank has failed. A message has both parts. */
static const struct {
    const char *part, *other;
} consequences[] = {
    { "Horovod has been shut down", "" },               /* of HorovodInternalError, Horovod 0.28 */
    { "gloo/transport/", "Connection closed by peer" }, /* Horovod, torch.distributed */
    { "gloo/transport/", "Connection reset by peer" },
    { "RuntimeError: Connection reset by peer", "" }, /* the store of torch.distributed */
};

struct line {
    const char *text;
    size_t length;
};

static bool line_begins(struct line line, const char *start)
{
    size_t length = strlen(start);
    return line.length >= length && memcmp(line.text, start, length) == 0;
}

static bool line_has(struct line line, const char *part)
{
    return memmem(line.text, line.length, part, strlen(part)) != NULL;
}

static bool is_consequence(struct line line)
{
    for (size_t i = 0; i < sizeof consequences / sizeof *consequences; i++)
        if (line_has(line, consequences[i].part) && line_has(line, consequences[i].other))
            return true;
    return false;
}

static bool is_related(struct line line)
{
    for (size_t i = 0; i < sizeof related / sizeof *related; i++)
        if (line_begins(line, related[i]))
            return true;
    return false;
}

/* The phase behind a header, which may stand behind a progress bar; STDERR_OUTSIDE if the line is
 * none. */
static int phase_behind(struct line line, bool redrawn)
{
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (line_begins(line, headers[i].begins) || (redrawn && line_has(line, headers[i].begins)))
            return headers[i].phase;
    return STDERR_OUTSIDE;
}

/* torch.distributed writes "[rank3]: " before each line of a traceback that is not empty. */
static struct line without_rank(struct line line)
{
    static const char mark[] = "[rank";
    size_t at = sizeof mark - 1;
    if (!line_begins(line, mark))
        return line;
    while (at < line.length && line.text[at] >= '0' && line.text[at] <= '9')
        at++;
    struct line rest = { line.text + at, line.length - at };
    return line_begins(rest, "]: ") ? (struct line){ rest.text + 3, rest.length - 3 } : line;
}

/* The last report is too old for what comes now, or there is none. */
static bool report_is_over(const struct stderr_reader *reader)
{
    return reader->failure.kind == STDERR_NO_FAILURE ||
           reader->line_us > reader->failure.began_us + STDERR_FAILURE_LASTS_US;
}

static void begin_report(struct stderr_reader *reader, enum stderr_failure_kind kind)
{
    reader->failure = (struct stderr_failure){ .kind = kind, .began_us = reader->line_us };
}

static void take_header(struct stderr_reader *reader, int phase)
{
    if (reader->phase == STDERR_BEFORE_RELATED || reader->phase == STDERR_IN_RELATED) {
        reader->phase = STDERR_IN_RELATED;
        return;
    }
    /* two processes of a rank may write tracebacks at the same time */
    if (reader->phase != STDERR_IN_TRACEBACK || report_is_over(reader))
        begin_report(reader, STDERR_FAILURE_BEGUN);
    reader->phase = phase;
}

static void take_message(struct stderr_reader *reader, struct line line)
{
    reader->failure.kind = is_consequence(line) ? STDERR_CONSEQUENCE : STDERR_OWN_FAILURE;
    reader->phase = STDERR_OUTSIDE;
}

/* A line outside of tracebacks, for instance one that the program has made of the exception. It
 * does not change a report: a rank that fails may lose its peers after that. */
static void take_other(struct stderr_reader *reader, struct line line)
{
    reader->phase = is_related(line) ? STDERR_BEFORE_RELATED : STDERR_OUTSIDE;
    if (is_consequence(line) &&
        (report_is_over(reader) || reader->failure.kind == STDERR_CONSEQUENCE))
        begin_report(reader, STDERR_CONSEQUENCE);
}

static void take_stderr_line(struct stderr_reader *reader)
{
    struct line line = without_rank((struct line){ reader->line, reader->length });
    int phase = phase_behind(line, reader->redrawn);
    bool blank = line.length == 0 || line.text[0] == ' ' || line.text[0] == '\t';
    if (reader->redrawn) /* the bar may be much older than what follows it */
        reader->line_us = reader->last_us;
    reader->length = 0;
    reader->returned = reader->redrawn = false;
    if (phase != STDERR_OUTSIDE)
        take_header(reader, phase);
    else if (reader->phase == STDERR_IN_TERMINATE ||
             (reader->phase == STDERR_IN_TRACEBACK && !blank))
        take_message(reader, line);
    else if (reader->phase == STDERR_IN_RELATED && !blank)
        reader->phase = STDERR_OUTSIDE;
    else if (reader->phase == STDERR_OUTSIDE || (reader->phase == STDERR_BEFORE_RELATED && !blank))
        take_other(reader, line);
}

static void add_to_line(struct stderr_reader *reader, const char *data, size_t length,
                        uint64_t now_us)
{
    if (reader->returned) {
        reader->length = 0;
        reader->returned = false;
        reader->redrawn = true;
    }
    size_t room = STDERR_LINE_MAX - reader->length;
    if (reader->length == 0)
        reader->line_us = now_us;
    reader->last_us = now_us;
    size_t kept = length < room ? length : room;
    memcpy(reader->line + reader->length, data, kept);
    reader->length += kept;
}

static size_t length_to_line_end(const char *data, size_t length)
{
    size_t n = 0;
    while (n < length && data[n] != '\n' && data[n] != '\r')
        n++;
    return n;
}

void stderr_reader_feed(struct stderr_reader *reader, const char *data, size_t length,
                        uint64_t now_us)
{
    while (length > 0) {
        size_t part = length_to_line_end(data, length);
        if (part > 0)
            add_to_line(reader, data, part, now_us);
        if (part < length && data[part] == '\n')
            take_stderr_line(reader);
        else if (part < length)
            reader->returned = true;
        part += part < length;
        data += part;
        length -= part;
    }
}

void stderr_reader_end(struct stderr_reader *reader)
{
    if (reader->length > 0)
        take_stderr_line(reader);
}
