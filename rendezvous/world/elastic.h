/* SPDX-License-Identifier: Apache-2.0 */
/* Which workers of an elastic job wait for its next world, and which are to be in it; without I/O.
 *
 * Happy path: workers say HELLO and wait; somebody who decides, a launcher or elastic_service.h,
 * says which workers the next world is to have (its members); as soon as all members wait, the
 * world is made of them. If the members differ from those of a world that runs, its ranks are told
 * once (UPDATE); they leave it and say HELLO again.
 *
 *   absent -> waiting     has said HELLO
 *   waiting -> present    the world was made with it
 *   present -> waiting    has said HELLO for the next world
 *   present -> absent     the next world was made without it
 *   waiting -> absent     its connection or its process has ended, or it was refused
 *
 * Horovod's own workers say no HELLO. Such a worker waits when it asks for its rank after a world,
 * or when it puts its address for the place with which it was started. It keeps this place for its
 * first world, so the launcher intends only worlds in which it has it.
 *
 * The end of a worker that waits is no failure: the others go on waiting for other members.
 * Refused: a worker that was removed (HVD_ERR_REMOVED), and a second process with the number of a
 * worker that waits or is in the world. A HELLO of the same process replaces its former one. */
#ifndef RENDEZVOUS_WORLD_ELASTIC_H
#define RENDEZVOUS_WORLD_ELASTIC_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "rendezvous/base/rendezvous_options.h"

#include <stdbool.h>
#include <stdint.h>

enum elastic_state { ELASTIC_ABSENT, ELASTIC_WAITING, ELASTIC_PRESENT };

/* The contents of a worker's HELLO. */
struct elastic_hello {
    char *host; /* owned */
    int pid, processors;
    uint32_t epoch;
    uint64_t came_ms;
    unsigned char key[RANK_KEY_SIZE];
    struct join_addresses addresses;
    void *owner; /* the caller's */
};

/* By the number of the worker. */
struct elastic_worker {
    enum elastic_state state;
    bool removed;
    bool intended; /* is a member of the next world */
    bool of_world; /* is a member of the last world that was made */
    bool gloo;     /* is one of Horovod's own workers: its HELLO has no owner */
    bool placed;   /* has not been in a world, and has `place` from its start */
    struct rank_info place;
    struct elastic_hello *hello; /* the last; NULL while absent; owned */
};

enum elastic_act {
    ELASTIC_REFUSE, /* `worker`, which waits, was removed; its owner is taken by elastic_gone() */
    ELASTIC_WORLD,  /* all members wait: make the world, then elastic_made() */
    ELASTIC_UPDATE  /* tell `update` to the ranks of the world */
};

struct elastic_action {
    enum elastic_act act;
    int worker;
    struct join_update update;
};

struct elastic {
    struct elastic_worker *workers;    /* owned */
    int nworkers;                      /* elements */
    int numbered;                      /* the highest number of one that has come, and 1 */
    int waiting;                       /* workers that wait */
    struct rendezvous_member *members; /* of the next world, in order of rank; owned with hosts */
    int nmembers;                      /* 0: the members are not known */
    bool running;                      /* a world was made, and has not broken */
    uint32_t next_epoch;
    bool has_update;
    bool told;                 /* the ranks of the last world know that they are to leave it */
    struct join_update update; /* the last */
};

void elastic_init(struct elastic *elastic);
void elastic_fini(struct elastic *elastic);

/* A proven HELLO, whose worker waits from now on. `*replaced` is the owner of its former HELLO if
 * it has waited already, else NULL. HVD_OK, or the status and text with which it must be
 * refused. */
int elastic_come(struct elastic *elastic, const struct join_hello *hello, void *owner,
                 uint64_t now_ms, void **replaced, struct err *err);

/* The launcher starts a worker, and gives it a place in its environment. HVD_ERR_INVALID,
 * HVD_ERR_NOMEM. */
int elastic_place(struct elastic *elastic, int worker, const struct rank_info *place,
                  struct err *err);

/* Of the `count` workers from `first` on, or of all if `count` is 0: the one that was started for
 * the place `rank` and has not been in a world; -1: none. */
int elastic_find_placed(const struct elastic *elastic, int first, int count, int rank);

/* One of Horovod's own workers waits from now on, as after HELLO. */
int elastic_come_gloo(struct elastic *elastic, int worker, uint64_t now_ms, struct err *err);

/* Is a worker Horovod's own; is one of the members? */
bool elastic_is_gloo(const struct elastic *elastic, int worker);
bool elastic_has_gloo(const struct elastic *elastic);

/* The connection of a worker that waits, or its process, has ended. */
void elastic_gone(struct elastic *elastic, int worker);

/* See rendezvous_intend() and rendezvous_remove(). */
int elastic_intend(struct elastic *elastic, const struct rendezvous_member *members, int count,
                   struct err *err);
int elastic_remove(struct elastic *elastic, int worker, struct err *err);

/* The world has broken: its ranks know that they must leave it. */
void elastic_broke(struct elastic *elastic);

/* The next thing to do; false when all is done. To be called until then after every event. */
bool elastic_next(struct elastic *elastic, struct elastic_action *action);

/* For ELASTIC_WORLD: the epoch of the world, and the HELLO of a member. */
uint32_t elastic_epoch(const struct elastic *elastic);
const struct elastic_hello *elastic_hello_of(const struct elastic *elastic, int worker);

/* The world was made of the members, which are present from now on. The next world has the same
 * members until others are intended. */
void elastic_made(struct elastic *elastic, uint32_t epoch);

/* The state of a worker, also of a number that nobody has. */
enum elastic_state elastic_state_of(const struct elastic *elastic, int worker);

#endif
