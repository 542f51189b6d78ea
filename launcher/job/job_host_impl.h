/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface of hvdrun's end of an agent, shared by the files of job_host. */
#ifndef LAUNCHER_JOB_JOB_HOST_IMPL_H
#define LAUNCHER_JOB_JOB_HOST_IMPL_H

#include "launcher/job/job_host.h"

/* job_host.c: a frame without a body. */
void job_host_send_empty(struct job_host *host, uint16_t type);

/* job_host.c: no more is to be heard of it, and why. */
void job_host_lose(struct job_host *host, int status, const char *reason);

/* job_host.c: must it give signs of life? */
bool job_host_is_watched(const struct job_host *host);

/* job_host.c: can anything be sent to it? */
bool job_host_is_open(const struct job_host *host);

/* job_host_heartbeat.c: after how long people want to know that nothing comes: two heartbeats of
 * five. */
uint64_t job_host_worth_telling_ms(const struct job_host *host);

/* job_host_describe.c: everything up to PREPARE. */
void job_host_describe(struct job_host *host, const struct job_options *options);

/* job_host_frames.c: a frame has come, as frame_link.h says. */
int job_host_on_frame(void *context, const struct frame *frame, struct err *err);

/* job_host_relay.c: its frames. */
int job_host_on_relay_open(struct job_host *host, struct wire_reader *body, struct err *err);
int job_host_on_relay_data(struct job_host *host, struct wire_reader *body, struct err *err);
int job_host_on_relay_end(struct job_host *host, struct wire_reader *body, struct err *err);

/* A rank of this host, or NULL for one that is not. */
struct host_rank *job_host_find_rank(struct job_host *host, int rank);

/* A step is taken now. */
void job_host_take_step(struct job_host *host, enum host_step step);

#endif
