/* SPDX-License-Identifier: Apache-2.0 */
/* The log lines of the library on stderr, in Horovod's format:
 *
 *   [2026-11-21 10:00:00.012345: W] [0]: text
 *
 * HOROVOD_LOG_LEVEL (trace, debug, info, warning, error, fatal; default warning) sets the lowest
 * level that is logged. HOROVOD_LOG_HIDE_TIME leaves out the time. Each line is one write(). */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_TRACE, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_FATAL };

/* Reads a level, in any case; false if there is no such level. */
bool log_level_parse(const char *text, enum log_level *level);

/* Must be called once, before other threads log. The defaults before that are: warning, with
 * time. */
void log_configure(enum log_level level, bool hide_time);

/* `rank` -1 leaves the rank out. */
void log_line(enum log_level level, int rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
