/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's end of an agent from inside: what its three files share. */
#ifndef LAUNCHER_JOB_HOST_IMPL_H
#define LAUNCHER_JOB_HOST_IMPL_H

#include "launcher/job_host.h"

/* job_host.c: a frame without a body. */
void job_host_send_empty(struct job_host *host, uint16_t type);

/* job_host_describe.c: everything up to PREPARE. */
void job_host_describe(struct job_host *host, const struct job_options *options);

/* job_host_frames.c: a frame has come, as frame_link.h says. */
int job_host_on_frame(void *context, const struct frame *frame, struct err *err);

/* A rank of this host, or NULL for one that is not. */
struct host_rank *job_host_find_rank(struct job_host *host, int rank);

/* A step is taken now. */
void job_host_take_step(struct job_host *host, enum host_step step);

#endif
