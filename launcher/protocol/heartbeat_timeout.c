/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeat timeouts; see heartbeat_timeout.h. */
#include "launcher/protocol/heartbeat_timeout.h"

void heartbeat_timeout_start(struct heartbeat_timeout *timeout, uint64_t limit_ms, uint64_t now_ms)
{
    *timeout = (struct heartbeat_timeout){ .limit_ms = limit_ms,
                                           .heard_ms = now_ms,
                                           .checked_ms = now_ms };
}

void heartbeat_timeout_heard(struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    timeout->heard_ms = now_ms;
}

void heartbeat_timeout_excuse(struct heartbeat_timeout *timeout, uint64_t longest_ms,
                              uint64_t now_ms)
{
    timeout->excused_ms = now_ms;
    timeout->longest_ms = longest_ms;
}

void heartbeat_timeout_pause(struct heartbeat_timeout *timeout)
{
    timeout->paused = true;
}

void heartbeat_timeout_resume(struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    timeout->paused = false;
    timeout->heard_ms = now_ms;
}

static bool is_late(const struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    return now_ms - timeout->checked_ms > HEARTBEAT_CHECK_MS + HEARTBEAT_LATE_MS;
}

uint64_t heartbeat_timeout_elapsed_ms(const struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    return is_late(timeout, now_ms) ? 0 : now_ms - timeout->heard_ms;
}

static bool is_too_long(const struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    bool excused = timeout->excused_ms > timeout->heard_ms;
    uint64_t since_ms = excused ? timeout->excused_ms : timeout->heard_ms;
    bool spent =
        excused && timeout->longest_ms > 0 && now_ms - timeout->heard_ms >= timeout->longest_ms;
    return now_ms - since_ms >= timeout->limit_ms || spent;
}

bool heartbeat_timeout_check(struct heartbeat_timeout *timeout, uint64_t now_ms)
{
    if (is_late(timeout, now_ms))
        timeout->heard_ms = now_ms;
    timeout->checked_ms = now_ms;
    return timeout->limit_ms > 0 && !timeout->paused && is_too_long(timeout, now_ms);
}
