/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface of hvdrun's end of an agent, shared by the files of job_host. */
#ifndef LAUNCHER_JOB_JOB_HOST_IMPL_H
#define LAUNCHER_JOB_JOB_HOST_IMPL_H

#include "launcher/job/job_host.h"

/* job_host.c: a frame without a body. */
void job_host_send_empty(struct job_host *host, uint16_t type);

/* job_host.c: ends the connection to the host, with the cause. */
void job_host_lose(struct job_host *host, int status, const char *reason);

/* job_host.c: must the host answer heartbeats? */
bool job_host_is_watched(const struct job_host *host);

/* job_host.c: can anything be sent to the host? */
bool job_host_is_open(const struct job_host *host);

/* job_host_heartbeat.c: a host that is not heard for so long is reported to people: the time of two
 * heartbeats of five. */
uint64_t job_host_worth_telling_ms(const struct job_host *host);

/* job_host_heartbeat.c: bytes come now. Keeps how long the host was silent before, or before it was
 * told to stop, if a host below it may have ended because of that. */
void job_host_note_gap(struct job_host *host, uint64_t now_ms);

/* job_host_describe.c: everything up to PREPARE. `tunnel`: the one through which the host was
 * reached, or NULL. */
void job_host_describe(struct job_host *host, const struct job_options *options,
                       struct tunnel *tunnel);

/* job_host_frames.c: handles a frame of the link (frame_link.h). */
int job_host_on_frame(void *context, const struct frame *frame, struct err *err);

/* job_host_relay.c: the frames of relayed connections. */
int job_host_on_relay_open(struct job_host *host, struct wire_reader *body, struct err *err);
int job_host_on_relay_data(struct job_host *host, struct wire_reader *body, struct err *err);
int job_host_on_relay_end(struct job_host *host, struct wire_reader *body, struct err *err);

/* The rank of this host with that number, or NULL. */
struct host_rank *job_host_find_rank(struct job_host *host, int rank);

/* Enters a step and reports it. */
void job_host_take_step(struct job_host *host, enum host_step step);

#endif
