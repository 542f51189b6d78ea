/* SPDX-License-Identifier: Apache-2.0 */
/* The few lines that the library says without being asked for them, on stderr, as Horovod does:
 *
 *   [2026-11-21 10:00:00.012345: W] [0]: text
 *
 * HOROVOD_LOG_LEVEL (trace, debug, info, warning, error, fatal; default warning) says from which
 * level on, HOROVOD_LOG_HIDE_TIME leaves out the time. One write() for each line. */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_TRACE, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_FATAL };

/* Reads a level, in any case; false if there is no such level. */
bool log_level_parse(const char *text, enum log_level *level);

/* To be called once, before other threads log; until then: warning, with time. */
void log_configure(enum log_level level, bool hide_time);

/* `rank` -1 leaves the rank out. */
void log_line(enum log_level level, int rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
