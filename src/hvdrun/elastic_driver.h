/* SPDX-License-Identifier: Apache-2.0 */
/* Drives an elastic job: passes what its hosts, workers and rendezvous report to the policy
 * (launcher/elastic/elastic_plan.h), and has the job and the rendezvous do what the policy asks
 * for. */
#ifndef SRC_HVDRUN_ELASTIC_DRIVER_H
#define SRC_HVDRUN_ELASTIC_DRIVER_H

#include "launcher/job/job.h"
#include "rendezvous/server/rendezvous.h"
#include "src/hvdrun/job_setup.h"
#include "src/hvdrun/worker_notifier.h"

struct elastic_driver;

/* Starts the first workers, as far as the hosts of the set-up have enough slots, and the search for
 * other hosts. All arguments are borrowed until elastic_driver_destroy(). */
struct elastic_driver *elastic_driver_create(uv_loop_t *loop, const struct job_setup *setup,
                                             struct job *job, struct rendezvous *rendezvous);

/* A worker, which is about to wait, is Horovod's own. */
void elastic_driver_on_gloo(struct elastic_driver *driver, int worker);

/* A worker has said HELLO; the workers of a world are complete; a worker has ended; workers have
 * not submitted a tensor in time; the host of a worker is to be left. */
void elastic_driver_on_waiting(struct elastic_driver *driver, int worker);
void elastic_driver_on_world(struct elastic_driver *driver, int epoch, const int *workers,
                             int size);
void elastic_driver_on_ended(struct elastic_driver *driver, int worker, enum job_worker_end end);
void elastic_driver_on_late(struct elastic_driver *driver, const int *workers, int count,
                            const char *why);
void elastic_driver_on_drained(struct elastic_driver *driver, int worker);

/* Takes what concerns notifications of Horovod's own workers. */
struct worker_notifier *elastic_driver_notifier(struct elastic_driver *driver);

/* To be called before job_destroy(), as the job watches the script's process. NULL is fine. */
void elastic_driver_destroy(struct elastic_driver *driver);

#endif
