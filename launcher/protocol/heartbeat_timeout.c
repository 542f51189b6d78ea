/* SPDX-License-Identifier: Apache-2.0 */
/* Watching for silence; see silence.h. */
#include "launcher/protocol/heartbeat_timeout.h"

void silence_start(struct silence *silence, uint64_t limit_ms, uint64_t now_ms)
{
    *silence = (struct silence){ .limit_ms = limit_ms, .heard_ms = now_ms, .looked_ms = now_ms };
}

void silence_heard(struct silence *silence, uint64_t now_ms)
{
    silence->heard_ms = now_ms;
}

void silence_excuse(struct silence *silence, uint64_t longest_ms, uint64_t now_ms)
{
    silence->excused_ms = now_ms;
    silence->longest_ms = longest_ms;
}

void silence_pause(struct silence *silence)
{
    silence->paused = true;
}

void silence_resume(struct silence *silence, uint64_t now_ms)
{
    silence->paused = false;
    silence->heard_ms = now_ms;
}

static bool is_late(const struct silence *silence, uint64_t now_ms)
{
    return now_ms - silence->looked_ms > SILENCE_LOOK_MS + SILENCE_LATE_MS;
}

uint64_t silence_lasts_ms(const struct silence *silence, uint64_t now_ms)
{
    return is_late(silence, now_ms) ? 0 : now_ms - silence->heard_ms;
}

static bool is_too_long(const struct silence *silence, uint64_t now_ms)
{
    bool excused = silence->excused_ms > silence->heard_ms;
    uint64_t since_ms = excused ? silence->excused_ms : silence->heard_ms;
    bool spent =
        excused && silence->longest_ms > 0 && now_ms - silence->heard_ms >= silence->longest_ms;
    return now_ms - since_ms >= silence->limit_ms || spent;
}

bool silence_look(struct silence *silence, uint64_t now_ms)
{
    if (is_late(silence, now_ms))
        silence->heard_ms = now_ms;
    silence->looked_ms = now_ms;
    return silence->limit_ms > 0 && !silence->paused && is_too_long(silence, now_ms);
}
