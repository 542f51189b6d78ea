/* SPDX-License-Identifier: Apache-2.0 */
/* The log of hvdrendezvousd: lines on stderr, "hvdrendezvousd: ...". Never waits: while the reader
 * of stderr does not read, lines are dropped, and the next line that fits reports their number. */
#ifndef SRC_SERVICE_DAEMON_LOG_H
#define SRC_SERVICE_DAEMON_LOG_H

/* One line without its newline. Characters that would harm a terminal become '?', and a line longer
 * than 1000 bytes is cut. */
void daemon_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
