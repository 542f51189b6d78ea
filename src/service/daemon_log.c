/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on stderr; see daemon_log.h. A pipe that poll(2) reports as writable takes PIPE_BUF bytes
 * at once. */
#include "src/service/daemon_log.h"

#include "lib/base/text.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_SIZE = 1000 };

static unsigned long left_out;

static int daemon_log_has_room(void)
{
    struct pollfd stream = { .fd = STDERR_FILENO, .events = POLLOUT };
    return poll(&stream, 1, 0) == 1 && (stream.revents & POLLOUT);
}

static void daemon_log_put(const char *text)
{
    char line[TEXT_SIZE + 32];
    int length = snprintf(line, sizeof line, "hvdrendezvousd: %s\n", text);
    if (!daemon_log_has_room() || write(STDERR_FILENO, line, (size_t)length) != length)
        left_out++;
}

void daemon_log(const char *format, ...)
{
    char text[TEXT_SIZE], lost[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text_make_line(text);
    if (left_out > 0 && daemon_log_has_room()) {
        snprintf(lost, sizeof lost, "%lu lines were left out", left_out);
        left_out = 0;
        daemon_log_put(lost);
    }
    daemon_log_put(text);
}
