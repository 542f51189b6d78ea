/* SPDX-License-Identifier: Apache-2.0 */
/* Tells unmodified Horovod workers of an elastic job that the hosts have changed.
 *
 * A worker tells where it listens; it is pinged. When the next world is to have other members, rank
 * 0 of the running world is notified through the agent of its host: at once, or as soon as it
 * listens. It has the other ranks leave their world at the next commit. A worker that does not
 * answer is tried again, NOTIFIER_TRIES times in all, then a line says so, and the world changes
 * only when its ranks leave it for another reason. */
#ifndef SRC_HVDRUN_WORKER_NOTIFIER_H
#define SRC_HVDRUN_WORKER_NOTIFIER_H

#include "launcher/job/job.h"

enum { NOTIFIER_TRIES = 3 };

struct worker_notifier;

/* `job` is borrowed. */
struct worker_notifier *worker_notifier_create(struct job *job);

/* A worker listens at the addresses in `text` (launcher/elastic/worker_notice.h). */
void worker_notifier_on_listens(struct worker_notifier *notifier, int worker, const char *text,
                                size_t length);

/* `worker`, which is rank 0, must be notified. */
void worker_notifier_on_update(struct worker_notifier *notifier, int worker);

/* A new world is there: nobody has to be notified any more. */
void worker_notifier_on_world(struct worker_notifier *notifier);

/* The end of an exchange (job_callbacks.on_exchanged). */
void worker_notifier_on_exchanged(struct worker_notifier *notifier, uint32_t id, int error,
                                  const void *answer, size_t length);

/* NULL is fine. */
void worker_notifier_destroy(struct worker_notifier *notifier);

#endif
