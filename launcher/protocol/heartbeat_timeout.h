/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how long nothing has come from the other side of a link, although the check itself
 * may be late: a machine that was frozen, or a loop that was busy, reads the clock before it
 * reads the bytes that arrived meanwhile. When a check comes too late, the other side gets the
 * whole time again. Decides only; times are arguments, on a clock that goes on while the process
 * is stopped. */
#ifndef LAUNCHER_PROTOCOL_HEARTBEAT_TIMEOUT_H
#define LAUNCHER_PROTOCOL_HEARTBEAT_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

/* The default of --heartbeat-timeout: the limit between hvdrun and an agent, in seconds, as --help
 * prints it. */
#define HEARTBEAT_TIMEOUT_DEFAULT_S "5"

/* The interval of checks, and the delay from which on a check is too late. */
enum { HEARTBEAT_CHECK_MS = 250, HEARTBEAT_LATE_MS = 500 };

struct heartbeat_timeout {
    uint64_t limit_ms; /* 0: there is none */
    uint64_t heard_ms, checked_ms;
    uint64_t excused_ms; /* the last excuse; counts if it is later than the last byte */
    uint64_t longest_ms; /* limit of the excuse; 0: none */
    bool paused;
};

/* All zero is a timeout without a limit. */
void heartbeat_timeout_start(struct heartbeat_timeout *timeout, uint64_t limit_ms, uint64_t now_ms);

/* Bytes have come from the other side. */
void heartbeat_timeout_heard(struct heartbeat_timeout *timeout, uint64_t now_ms);

/* Something else shows that the other side lives and cannot answer: it gets the whole time again,
 * but altogether no more than `longest_ms` from the last time it was heard, if that is not 0. */
void heartbeat_timeout_excuse(struct heartbeat_timeout *timeout, uint64_t longest_ms,
                              uint64_t now_ms);

/* The timeout does not run until heartbeat_timeout_resume(), which gives the whole time again. */
void heartbeat_timeout_pause(struct heartbeat_timeout *timeout);
void heartbeat_timeout_resume(struct heartbeat_timeout *timeout, uint64_t now_ms);

/* For how long nothing has come; 0 when the next check is too late, because that check will start
 * the time anew. */
uint64_t heartbeat_timeout_elapsed_ms(const struct heartbeat_timeout *timeout, uint64_t now_ms);

/* Call this every HEARTBEAT_CHECK_MS: has nothing come for too long? */
bool heartbeat_timeout_check(struct heartbeat_timeout *timeout, uint64_t now_ms);

#endif
