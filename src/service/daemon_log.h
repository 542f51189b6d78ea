/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrendezvousd says: lines on stderr, "hvdrendezvousd: ...". Never waits: while whoever
 * reads stderr does not, lines are left out, and the next that fits says how many. */
#ifndef SRC_SERVICE_DAEMON_LOG_H
#define SRC_SERVICE_DAEMON_LOG_H

/* One line without its newline; what would harm a terminal becomes '?', and what is longer than
 * 1000 bytes is cut. */
void daemon_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
