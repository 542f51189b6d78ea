/* SPDX-License-Identifier: Apache-2.0 */
/* One job, from its start until it is judged. Several may be under way at the same time.
 *
 *   waiting -> hit -> over;   waiting -> over, when the job ends before its time
 *
 * waiting: for the phase and the moment that the plan wants, and for the victim to be there. hit:
 * for the launcher and every other process to end, as long as patience goes. */
#ifndef TESTS_CHAOS_TRIAL_H
#define TESTS_CHAOS_TRIAL_H

#include "tests/chaos/leftovers.h"
#include "tests/chaos/oracle.h"

/* What all trials share. */
struct trial_setting {
    const struct launcher *launcher;
    const char *program; /* of the launcher */
    const char *worker;
    const char *folder; /* trials have folders of their own in it */
    struct testbed testbed;
    struct leftovers leftovers; /* judged when only one trial runs */
};

enum trial_state { TRIAL_WAITING, TRIAL_HIT, TRIAL_OVER };
enum { TRIAL_VICTIMS_MAX = 16, TRIAL_FOLDER_SIZE = 300 };

struct trial {
    struct trial_setting *setting;
    struct plan plan;
    enum trial_state state;
    unsigned long token;
    char folder[TRIAL_FOLDER_SIZE];
    pid_t launcher;
    pid_t victims[TRIAL_VICTIMS_MAX];
    int nvictims;
    int host;                                       /* of the first victim */
    uint64_t started_us, phase_us, hit_us, next_us; /* 0: not yet */
    int next;                                       /* of the fault's */
    uint64_t clean_us; /* since when nobody is left, as far as was seen; 0: somebody is */
    int clean_looks;
    bool again;  /* the second victim was chosen */
    bool missed; /* there was no victim to be found, or another was there after it; the job was told
                  * to stop */
    struct outcome outcome;
    double clean_ms; /* from the fault, or the job's start, to the end of everything */
    bool good;
    char why[ORACLE_TEXT];
};

uint64_t trial_now_us(void);

/* Starts the job. False, with a line on stderr, if that is not possible. */
bool trial_start(struct trial *trial, struct trial_setting *setting, const struct plan *plan,
                 unsigned long token);

/* Moves it on. The census is of a moment ago. */
void trial_step(struct trial *trial, const struct census *census, bool alone);

/* Shows what a failed one has said and left on `log`, kills that, and removes its folder. */
void trial_finish(struct trial *trial, struct census *census, FILE *log);

#endif
