/* SPDX-License-Identifier: Apache-2.0 */
/* One job of the model of scale.c: hvdrun, its agents and ranks. A job starts, meets, and then one
 * thing befalls it, after which it does not go on. */
#ifndef TESTS_SIMULATOR_SCALE_JOB_H
#define TESTS_SIMULATOR_SCALE_JOB_H

#include "launcher/verdict/job_state.h"
#include "rendezvous/world/membership.h"
#include "tests/simulator/scale_net.h"
#include "tests/simulator/scale_sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scale_mode { FLAT, TREE, MODES };

struct scale_settings {
    double latency_ms, mbit, message_us, frame_us, connect_ms, connect_work_ms, spawn_ms;
    double heartbeat_timeout_ms;
    int width;
};

struct scale {
    const struct scale_settings *settings;
    enum scale_mode mode;
    int nhosts, local_size, nranks;
    struct scale_net net;
    struct scale_sizes sizes;
    struct job_state state;
    struct membership membership;
    struct rendezvous_slot *slots;
    int *asked;      /* by node: children to which hvdrun has asked it to connect */
    int *connecting; /* by node: children that it is connecting, or has connected */
    void (*on_arrived)(struct scale *scale, int node); /* what all are told comes to a node */
    size_t told;                                       /* its bytes */
    bool *knows;                                       /* by node: that the job has failed */
    int nknow;
    uint64_t last_ns; /* the last host has learnt it, or hvdrun the last thing */
};

/* Ends the program if something is not as it must be. */
void scale_must(bool fine, const char *what);

/* Memory that is all zero; the program ends if there is none. */
void *scale_alloc(size_t count, size_t size);

void scale_init(struct scale *scale, const struct scale_settings *settings, enum scale_mode mode,
                int nhosts, int local_size);
void scale_fini(struct scale *scale);

/* What ends a phase has happened now. */
void scale_note_time(struct scale *scale);

/* Milliseconds from the beginning of a phase to the last thing that was noted. */
double scale_begin_phase(struct scale *scale);
double scale_end_phase(struct scale *scale, double began_ns);

/* hvdrun tells all hosts the same, by MULTICAST to those of the first level. */
void scale_tell_all(struct scale *scale, size_t nbytes,
                    void (*on_arrived)(struct scale *scale, int node));

/* For a frame whose arrival changes nothing. */
void scale_on_nothing(void *context, int node);

/* What happens to a job, and how many milliseconds it takes. `ms`: until the neighbours of the host
 * see that it is lost. */
double scale_run_start(struct scale *scale);
double scale_run_join(struct scale *scale);
double scale_run_death(struct scale *scale);
double scale_run_lost_host(struct scale *scale, double ms);
double scale_run_end(struct scale *scale);

#endif
