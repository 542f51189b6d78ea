/* SPDX-License-Identifier: Apache-2.0 */
/* A job as JSON, for people and tools. In a list (GET /v1/jobs: {"jobs": [...]}, oldest first) and
 * in full (GET /v1/jobs/ID) a job has
 *
 *   id           string
 *   state        "gathering", "running", "ended" or "failed"
 *   planned      true: by a launcher; false: the rendezvous assigns the ranks
 *   size         number of ranks; null while unknown
 *   connected    workers whose connection is open
 *   missing      workers that have not joined; null while the size is not known
 *   host_count   number of hosts of its workers
 *   states       { "expected": n, "gloo": n, "waiting": n, "running": n, "left": n, "lost": n }
 *   since        when the rendezvous learnt of the job, RFC 3339 in UTC
 *   age_s        seconds since then
 *   ended        when its last worker had left; null before
 *   cause        cause of its failure, one line; "" if it has not failed
 *   command      of a launcher's job: command of every rank, in a shell's syntax; else null, like
 *                the members below
 *   user         user who has started the launcher
 *   started      when
 *   verdict      the launcher's last line; null before
 *   exit_status  of the launcher; null before
 *   failed_rank  the rank that the verdict names; null before, and if it names no rank
 *
 * and in full also
 *
 *   hosts    [{ host, ranks: [numbers, ascending], states: as above }], in order of first rank
 *   ranks    [{ rank, host, local_rank, cross_rank, state, pid, joined_s_ago, heard_s_ago,
 *            status_text, stats, stalled, end, exit_status, terminated, output }], in order of rank; [] as
 *            long as no places are given
 *   pending_workers  [{ host, pid, wanted_rank, came_s_ago }], in order of arrival, of workers
 *            that have no rank yet; [] afterwards
 *
 *   pid, joined_s_ago   null before hvd_init has been called; the pid is as its host counts
 *   heard_s_ago         since it last said anything, answers to ?ask among them; null if it has not
 *   status_text         lines: what it waits for as it last said, or why it cannot say; [] if it
 *                       was never asked
 *   stats               what it had counted when it was last asked (lib/base/rank_stats.h); null if
 *                       it was never asked, or cannot say
 *                       { collectives   finished since hvd_init()
 *                         bytes         of the tensors that it submitted for them
 *                         waiting_s     seconds in which a thread waited for a collective
 *                         uptime_s      seconds since hvd_init()
 *                         operations    { "allreduce": { collectives, bytes }, ... }, of those that
 *                                       are counted; see enum stats_operation }
 *   stalled             null, or of a rank that has waited for others for at least three seconds
 *                       when it was last asked (stalls.h)
 *                       { tensor           its name
 *                         since_s          how long it had waited for it then
 *                         waits_for        numbers of ranks that have not submitted it, ascending, or
 *                                          of those that do not answer; at most 16
 *                         waits_for_more   how many others there are }
 *   end                 how its process has ended, as the launcher has seen it; null before, and
 *                       without a launcher
 *   exit_status         of the process, 128 plus the number of the signal that has killed it; null
 *                       before, and where nobody knows
 *   terminated          it has ended after the launcher had told it to
 *   output              { stdout: [lines], stderr: [lines] }: what it has written last, as far as
 *                       the launcher has seen it (launch.h has the limits); null unless asked for
 *   wanted_rank         null: any
 *
 * Seconds are numbers with up to three decimals. What is not UTF-8 in the name of a host is
 * replaced by '?'. Fields may be added; none is left out. Costs O(N log N) at most. */
#ifndef RENDEZVOUS_API_STATUS_JSON_H
#define RENDEZVOUS_API_STATUS_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct rendezvous_job;

/* `epoch_ms` is when the clock of `now_ms` said 0, since 1970. Both return NULL when out of memory;
 * what they return is the caller's. `output`: with the last lines of each rank. */
cJSON *status_json_job(const struct rendezvous_job *job, uint64_t epoch_ms, uint64_t now_ms);
cJSON *status_json_job_in_full(const struct rendezvous_job *job, bool output, uint64_t epoch_ms,
                               uint64_t now_ms);

#endif
