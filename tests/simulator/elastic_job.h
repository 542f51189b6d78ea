/* SPDX-License-Identifier: Apache-2.0 */
/* One simulated elastic job: its members, its worlds, and where its hosts come from. hvdrun with
 * its policy, the agents and the rendezvous are the real code, as in world.h, which has the hosts,
 * the launcher and its verdict. */
#ifndef TESTS_SIMULATOR_ELASTIC_JOB_H
#define TESTS_SIMULATOR_ELASTIC_JOB_H

#include "launcher/elastic/elastic_plan.h"
#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "src/hvdrun/elastic_driver.h"
#include "tests/simulator/process.h"
#include "tests/simulator/stream.h"
#include "tests/simulator/world.h"

enum { SIM_MEMBERS_MAX = 2048, SIM_WORLDS_MAX = 512, SIM_WORLD_SIZE_MAX = 24 };

/* In the jobs of seeds from here on ranks hang, too. */
#define SIM_FIRST_HANGING UINT64_C(1000000000000)

/* --stall-check-shutdown-time-seconds of these jobs. */
enum { SIM_SHUTDOWN_MS = 4000 };

enum sim_member_state {
    MEMBER_STARTS,
    MEMBER_JOINS,
    MEMBER_WAITS,
    MEMBER_RUNS,
    MEMBER_DOUBTS, /* has lost a link, and waits for the news that explain it */
    MEMBER_HANGS,  /* comes to no step any more, and hears nothing */
    MEMBER_LEAVES
};

/* A world, as its members and hvdrun know it. */
struct sim_epoch {
    int size;                     /* 0: nobody knows of it */
    int told[SIM_WORLD_SIZE_MAX]; /* workers in order of rank, as hvdrun was told */
    bool was_told;
    struct sim_member *members[SIM_WORLD_SIZE_MAX]; /* by rank; NULL until it has come */
    int step, arrived;      /* collectives that are complete; members that have come to the next */
    int start;              /* the commit of rank 0, from which all go on */
    bool leaves;            /* a member knows of other hosts: all leave after this step */
    struct late_ranks late; /* that the stall inspector has named */
};

/* The process of a worker. */
struct sim_member {
    struct sim_process *process;
    int number, port;
    enum sim_member_state state;
    unsigned long turn; /* counts states: an event of a former one comes to nothing */
    struct sim_end *rendezvous;
    struct frame_reader reader;
    struct seal seal;
    unsigned char nonce[NONCE_SIZE];
    bool said_hello;
    int epoch; /* of the world that it is in, or was in last; -1: none */
    int rank;
    int committed; /* steps */
    bool updated, ignores_term, has_state;
    int exit_status; /* of its own choice; -1: none yet */
};

/* A worker as hvdrun sees it. */
struct sim_elastic_worker {
    int host;
    bool ended, removed;
};

/* All of it is drawn from the seed. */
struct sim_elastic {
    struct job_setup setup;
    struct hvdrun_options options;
    struct elastic_driver *driver;
    struct sim_member *members[SIM_MEMBERS_MAX]; /* by number; NULL until its process begins */
    struct sim_elastic_worker workers[SIM_MEMBERS_MAX];
    int numbered;                       /* workers that were started */
    uint64_t failed_us[SIM_HOSTS_MAX];  /* the last failure there; 0: none */
    uint64_t drained_us[SIM_HOSTS_MAX]; /* when it was drained; 0: it was not */
    struct sim_epoch epochs[SIM_WORLDS_MAX];
    int last_epoch;                    /* that hvdrun was told of; -1: none */
    int steps;                         /* after which a rank has finished */
    int crashes_at_start, never_joins; /* one in so many; 0: none */
    uint64_t calm_us;                  /* nothing befalls the job from then on */
    bool interrupted;
    int found[SIM_HOSTS_MAX];     /* slots that the discovery would find now */
    int delivered[SIM_HOSTS_MAX]; /* slots that hvdrun knows */
    int worlds, losses, given_up; /* counted for the report */
};

extern struct sim_elastic elastic;

/* elastic_discovery.c: fills a list of the hosts that are found now, whose names are constant. */
void sim_discovery_list(struct host_list *list, struct host_slots slots[SIM_HOSTS_MAX]);

/* elastic_member.c */
void sim_member_exit(struct sim_member *member, int status);
bool sim_member_lives(const struct sim_member *member);

/* The member hangs from now on. Others of its world may hang, too; the stall inspector names them
 * all after a while. */
void sim_member_hang(struct sim_member *member);

/* elastic_events.c: plans what befalls the job. */
void sim_elastic_befall(void);

/* elastic_oracles.c: what is looked at while it happens, and at the end. */
void sim_elastic_on_world(int epoch, const int *workers, int size);
void sim_elastic_on_welcome(struct sim_member *member, const struct join_welcome *welcome);
void sim_elastic_on_ended(int worker, enum job_worker_end end);
void sim_elastic_on_drained(int worker);
void sim_elastic_before_late(const int *workers, int count);
void sim_elastic_after_late(const int *workers, int count);
void sim_elastic_on_report(const struct job_report *report);
void sim_elastic_judge(void);

#endif
