/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr; see log.h. A line is built on the stack and written with one write() of at most
 * PIPE_BUF bytes, so that the lines of several ranks that share a pipe do not mix. A longer text is
 * cut and ends in "...". A line that cannot be written is lost without an error. */
#include "lib/base/log.h"

#include "lib/base/signal_block.h"
#include "lib/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = PIPE_BUF };

static struct {
    enum log_level level;
    bool hide_time;
} config = { LOG_WARNING, false };

static const char *const levels[] = {
    [LOG_TRACE] = "trace",     [LOG_DEBUG] = "debug", [LOG_INFO] = "info",
    [LOG_WARNING] = "warning", [LOG_ERROR] = "error", [LOG_FATAL] = "fatal",
};

bool log_level_parse(const char *text, enum log_level *level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcasecmp(text, levels[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    return false;
}

void log_configure(enum log_level level, bool hide_time)
{
    config.level = level;
    config.hide_time = hide_time;
}

/* Writes "[2026-11-21 10:00:00.012345: W] [0]: "; returns its length. */
static size_t put_prefix(char *line, size_t size, enum log_level level, int rank)
{
    char time_text[64] = "", rank_text[16] = "";
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!config.hide_time && localtime_r(&now.tv_sec, &tm))
        snprintf(time_text, sizeof time_text,
                 "%04d-%02d-%02d %02d:%02d:%02d.%06ld: ", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000);
    if (rank >= 0)
        snprintf(rank_text, sizeof rank_text, " [%d]", rank);
    char letter = (char)(levels[level][0] - 'a' + 'A');
    return (size_t)snprintf(line, size, "[%s%c]%s: ", time_text, letter, rank_text);
}

/* Ends a text that was too long, not within a UTF-8 character. Returns the new length. */
static size_t log_cut(char *line, size_t length)
{
    length -= 3;
    while (length > 0 && ((unsigned char)line[length] & 0xc0) == 0x80)
        length--;
    memcpy(line + length, "...", 3);
    return length + 3;
}

static void put_out(const char *line, size_t length)
{
    struct signal_block blocked;
    int error = errno;
    signal_block_begin(&blocked, SIGPIPE);
    while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR)
        ;
    signal_block_end(&blocked);
    errno = error;
}

void log_line(enum log_level level, int rank, const char *format, ...)
{
    if (level < config.level)
        return;
    char line[LINE_BYTES];
    size_t prefix = put_prefix(line, sizeof line, level, rank), room = sizeof line - prefix;
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(line + prefix, room, format, args);
    va_end(args);
    if (wanted < 0)
        return;
    bool whole = (size_t)wanted < room;
    size_t length = whole ? prefix + (size_t)wanted : log_cut(line, sizeof line - 1);
    line[length] = '\0';
    text_make_lines(line + prefix);
    line[length] = '\n';
    put_out(line, length + 1);
}
