/* SPDX-License-Identifier: Apache-2.0 */
/* How long an agent may say nothing; see job_host.h.
 *
 *   heard -> silent -> starved -> lost;   from silent and starved back to heard
 *
 * A host from which nothing comes for --heartbeat-timeout is lost, unless something shows that the
 * agent lives and only cannot answer:
 * - On this machine the kernel reports the agent's exit at once, and the agent's state. While the
 * agent wants to run (R) or waits inside the kernel (D), hvdrun waits for it without a limit. An
 * agent that is stopped (T) is lost, and so is one that sleeps (S) all the time although there is
 * something to read: it hangs.
 * - The kernel of another machine acknowledges bytes for a process that does not read. While it
 * does, the agent has STARVED_TIMES the time. Behind a command (--remote-shell, a jump host)
 * nothing is known.
 *
 * Priorities stay as they are: raising one takes a privilege, and an agent has little to do. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/shown_seconds.h"
#include "launcher/process/process_handle.h"

#include <stdio.h>
#include <string.h>

/* How many times --heartbeat-timeout an agent may be silent while its host acknowledges. */
enum { STARVED_TIMES = 6 };

/* How long after the gap of a silent host the ends of hosts below it become known: the agent passes
 * on what has come meanwhile, and waits a moment for what a command has written before it ended. */
enum { GAP_TELLS_MS = 2000 };

/* The limit on bytes queued for an agent that does not read, and the largest answer for each of its
 * ranks, which may all send the same request at once. */
enum { QUEUE_MIB = 64, QUEUE_RANK_MIB = 5 };

/* Two heartbeats of five have been missed. */
uint64_t job_host_worth_telling_ms(const struct job_host *host)
{
    return host->options->heartbeat_timeout_ms * (uint64_t)2 / 5;
}

uint64_t job_host_silent_ms(const struct job_host *host)
{
    uint64_t silent_ms = heartbeat_timeout_elapsed_ms(&host->heartbeat, uv_now(host->loop));
    return host->phase == HOST_RUNNING && silent_ms >= job_host_worth_telling_ms(host) ? silent_ms
                                                                                       : 0;
}

/* Until when the gap that ends now counts. A host that is told to stop may be slow to answer
 * because it stops. */
static uint64_t gap_counts_until_ms(const struct job_host *host, uint64_t now_ms)
{
    return host->stopping && host->stopped_ms < now_ms ? host->stopped_ms : now_ms;
}

/* A host below ends after the whole limit, and may have heard one heartbeat less than what hvdrun
 * heard from this one: a fifth of the limit. The rest of the quarter is for checks. */
void job_host_note_gap(struct job_host *host, uint64_t now_ms)
{
    uint64_t heard_ms = now_ms - heartbeat_timeout_elapsed_ms(&host->gap, now_ms);
    uint64_t end_ms = gap_counts_until_ms(host, now_ms);
    uint64_t limit_ms = host->options->heartbeat_timeout_ms;
    if (limit_ms == 0 || end_ms < heard_ms || end_ms - heard_ms < limit_ms * 3 / 4)
        return;
    host->gap_ms = end_ms - heard_ms;
    host->gap_end_ms = end_ms;
}

uint64_t job_host_gap_before_ms(const struct job_host *host, uint64_t stop_ms)
{
    bool tells = stop_ms > 0 && host->gap_ms > 0 && host->gap_end_ms + GAP_TELLS_MS >= stop_ms;
    return tells ? host->gap_ms : 0;
}

/* Before its ranks run, an agent may be blocked, for instance by a network file system. */
static bool may_be_silent(const struct job_host *host)
{
    return !host->stopping && (host->phase == HOST_DESCRIBING || job_host_is_starting(host));
}

/* A client there that sends requests to the rendezvous, and reads no answers, must not fill our
 * memory. */
static void check_queue(struct job_host *host)
{
    size_t limit = ((size_t)QUEUE_MIB + QUEUE_RANK_MIB * (size_t)host->where.local_size) << 20;
    if (job_host_is_watched(host) && frame_link_queued(&host->link) > limit)
        job_host_lose(host, STATUS_HOST_LOST, "the agent does not read what it is sent");
}

/* Has the agent read some of the queued bytes? On a slow network, large answers take longer than a
 * host may be silent. */
static bool has_read(struct job_host *host)
{
    bool waits, was_behind = host->behind;
    uint64_t before = host->taken;
    host->taken = frame_link_written(&host->link, &waits);
    host->behind = waits;
    return was_behind && host->taken != before;
}

static bool wants_to_run(const struct job_host *host)
{
    char state = process_state(host->agent);
    return state == 'R' || state == 'D';
}

static bool is_stopped(const struct job_host *host)
{
    char state = host->local ? process_state(host->agent) : 0;
    return state == 'T' || state == 't';
}

static bool has_acknowledged(struct job_host *host)
{
    uint64_t before = host->acknowledged;
    host->acknowledged = host_connect_acknowledged(host->connect);
    return host->acknowledged > before;
}

static uint64_t longest_ms(const struct job_host *host)
{
    return host->local ? 0 : STARVED_TIMES * (uint64_t)host->options->heartbeat_timeout_ms;
}

/* Reported once until bytes come again. */
static void tell_starved(struct job_host *host, uint64_t silent_ms)
{
    char text[200];
    if (host->local)
        snprintf(text, sizeof text,
                 "no sign of life from its agent (pid %d) for %g s: it does not get a processor, "
                 "or waits for a disk; the job goes on",
                 (int)host->agent, shown_seconds(silent_ms));
    else
        snprintf(text, sizeof text,
                 "no sign of life from its agent for %g s, but the host acknowledges what it is "
                 "sent: it has %g s in all",
                 shown_seconds(silent_ms), shown_seconds(longest_ms(host)));
    host->events->on_note(host->context, host->index, true, text);
}

/* Reads the count of acknowledged bytes at each check, so that only new ones excuse the host. */
static void look_for_excuse(struct job_host *host)
{
    uint64_t now_ms = uv_now(host->loop);
    uint64_t silent_ms = heartbeat_timeout_elapsed_ms(&host->heartbeat, now_ms);
    bool acknowledged = !host->local && has_acknowledged(host);
    if (silent_ms < job_host_worth_telling_ms(host) ||
        !(host->local ? wants_to_run(host) : acknowledged))
        return;
    heartbeat_timeout_excuse(&host->heartbeat, longest_ms(host), now_ms);
    if (silent_ms < host->options->heartbeat_timeout_ms || host->starved)
        return;
    host->starved = true;
    tell_starved(host, silent_ms);
}

static void lose_silent(struct job_host *host)
{
    char text[160];
    uint64_t silent_ms = uv_now(host->loop) - host->heartbeat.heard_ms;
    uint64_t limit_ms = host->options->heartbeat_timeout_ms;
    bool starved = !host->local && host->starved && silent_ms >= longest_ms(host);
    snprintf(text, sizeof text, "no sign of life for %g s (--heartbeat-timeout)%s",
             shown_seconds(starved ? longest_ms(host) : limit_ms),
             starved            ? ", though the host acknowledged what it was sent"
             : is_stopped(host) ? ": it is stopped"
                                : "");
    job_host_lose(host, STATUS_HOST_LOST, text);
}

bool job_host_is_quiet(const struct job_host *host)
{
    uint64_t silent_ms = heartbeat_timeout_elapsed_ms(&host->heartbeat, uv_now(host->loop));
    return host->phase == HOST_LOST || may_be_silent(host) ||
           silent_ms >= job_host_worth_telling_ms(host);
}

void job_host_heartbeat_check(struct job_host *host, bool hidden)
{
    uint64_t now_ms = uv_now(host->loop);
    heartbeat_timeout_check(&host->gap, now_ms);
    if (job_host_is_watched(host) && (has_read(host) || may_be_silent(host)))
        heartbeat_timeout_heard(&host->heartbeat, now_ms);
    check_queue(host);
    if (!job_host_is_watched(host))
        return;
    look_for_excuse(host);
    if (hidden)
        heartbeat_timeout_excuse(&host->heartbeat, 0, now_ms);
    if (heartbeat_timeout_check(&host->heartbeat, now_ms))
        lose_silent(host);
}
