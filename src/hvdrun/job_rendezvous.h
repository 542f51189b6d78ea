/* SPDX-License-Identifier: Apache-2.0 */
/* Connects two modules that do not know each other: the launcher, whose agents carry the workers'
 * connections and which prints on stderr, and the rendezvous, where the workers meet. */
#ifndef SRC_HVDRUN_JOB_RENDEZVOUS_H
#define SRC_HVDRUN_JOB_RENDEZVOUS_H

#include "launcher/job/job.h"
#include "launcher/placement/rank_plan.h"
#include "rendezvous/server/rendezvous.h"

struct job_rendezvous;

/* A rendezvous for the ranks of a job, whose options are borrowed. */
struct job_rendezvous *job_rendezvous_create(uv_loop_t *loop, const struct job_options *options,
                                             const struct job_key *key, struct err *err);

/* Events of an elastic job: a worker has said HELLO; a world is complete; workers have not
 * submitted a tensor in time, as another rank of their world says. */
struct job_rendezvous_events {
    void (*on_gloo)(void *context, int worker); /* Horovod's own worker, before on_waiting() */
    void (*on_listens)(void *context, int worker, const char *text, size_t length);
    void (*on_update)(void *context, int worker);
    void (*on_waiting)(void *context, int worker);
    void (*on_world)(void *context, int epoch, const int *workers, int size);
    void (*on_late)(void *context, const int *workers, int count, const char *why);
};

/* Sets the receiver of the events of an elastic job; both borrowed until the end. */
void job_rendezvous_listen(struct job_rendezvous *self, const struct job_rendezvous_events *events,
                           void *context);

/* Sets the job whose agents carry the connections; call this before the loop runs. */
void job_rendezvous_attach(struct job_rendezvous *self, struct job *job);

/* The rendezvous, for other carriers of connections than the agents. */
struct rendezvous *job_rendezvous_itself(struct job_rendezvous *self);

/* The launcher's interface to it; `self` is borrowed. */
struct job_rendezvous_interface job_rendezvous_interface(struct job_rendezvous *self);

/* Makes every rank print its status text on hvdrun's stderr, within 2 s. */
void job_rendezvous_ask(struct job_rendezvous *self);

/* NULL is fine. */
void job_rendezvous_destroy(struct job_rendezvous *self);

#endif
