/* SPDX-License-Identifier: Apache-2.0 */
/* Faults from inside: what faults.c (drawing, judging), faults_table.c (the rows) and the files of
 * what befalls ranks, hosts and the launcher share. */
#ifndef TESTS_SIMULATOR_FAULTS_IMPL_H
#define TESTS_SIMULATOR_FAULTS_IMPL_H

#include "launcher/base/exit_status.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/faults.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

enum { STATUSES_MAX = 8, FAULTS_MAX = 2 };

/* A dead path is noticed by TCP (TCP_USER_TIMEOUT); ranks that wait hear of a loss. */
enum { TCP_MS = 3500, LEARN_MS = 2000, LEARN_OF_HOST_MS = 9000, LEARN_LATER_MS = 34000 };

enum sim_effect { NOTHING, MAY, MUST };

struct sim_fault {
    const struct sim_fault_kind *kind;
    int rank, host, value;
    uint64_t at_us, fired_us;
    enum sim_effect effect;
    bool starting; /* its host was, which takes longer to be noticed */
    bool cut_off;  /* a host is: its ranks and the others lose each other */
    int statuses[STATUSES_MAX], nstatuses;
};

struct sim_fault_kind {
    const char *sentence;
    enum sim_effect (*fire)(struct sim_fault *fault);
    uint32_t bound_ms; /* until the job is over, if it ends it */
    const char *words; /* of the last line, if nothing else has befallen the job; or NULL */
    void (*prepare)(struct sim_fault *fault);     /* before anything begins; or NULL */
    void (*on_worker)(struct sim_worker *worker); /* when its rank begins; or NULL */
};

extern const struct sim_fault_kind sim_fault_kinds[];
extern const int sim_fault_kind_count, sim_fault_kinds_apart; /* all of them; the last ones */

/* ---- faults.c ---- */

/* hvdrun may end with that status because of it. */
void sim_fault_allow(struct sim_fault *fault, int status);

/* The rank, if it lives; the host, if it was reached; and the job is not over. */
struct sim_worker *sim_fault_worker(const struct sim_fault *fault);
struct sim_host *sim_fault_host(const struct sim_fault *fault);
enum sim_effect sim_must_if(bool certain);

/* Has it a rank that lives? Has it one in the plan? */
bool sim_host_has_ranks(const struct sim_host *host);
bool sim_host_is_used(int host);

/* Is it `above`, or connected through it? */
bool sim_host_is_within(const struct sim_host *host, const struct sim_host *above);

/* Who waits for others then, and can be reached, has missed a loss. */
void sim_must_learn(uint64_t within_ms);

/* Of sim_after(): a stopped process goes on; the launcher gets the signal fault->value. */
void sim_go_on(void *process);
void sim_tell_launcher_to_stop(void *fault);

/* ---- what befalls: ranks, hosts, the launcher ---- */

enum sim_effect sim_fire_ask(struct sim_fault *fault);
enum sim_effect sim_fire_cable(struct sim_fault *fault);
enum sim_effect sim_fire_cut_link(struct sim_fault *fault);
enum sim_effect sim_fire_double(struct sim_fault *fault);
enum sim_effect sim_fire_end_agent(struct sim_fault *fault);
enum sim_effect sim_fire_exit(struct sim_fault *fault);
enum sim_effect sim_fire_flap(struct sim_fault *fault);
enum sim_effect sim_fire_freeze_all(struct sim_fault *fault);
enum sim_effect sim_fire_hang(struct sim_fault *fault);
enum sim_effect sim_fire_interrupt_twice(struct sim_fault *fault);
enum sim_effect sim_fire_kill(struct sim_fault *fault);
enum sim_effect sim_fire_kill_agent(struct sim_fault *fault);
enum sim_effect sim_fire_kill_both(struct sim_fault *fault);
enum sim_effect sim_fire_kill_supervisor(struct sim_fault *fault);
enum sim_effect sim_fire_kill_launcher(struct sim_fault *fault);
enum sim_effect sim_fire_leave(struct sim_fault *fault);
enum sim_effect sim_fire_never_join(struct sim_fault *fault);
enum sim_effect sim_fire_no_program(struct sim_fault *fault);
enum sim_effect sim_fire_one_direction(struct sim_fault *fault);
enum sim_effect sim_fire_out_of_memory(struct sim_fault *fault);
enum sim_effect sim_fire_power(struct sim_fault *fault);
enum sim_effect sim_fire_reader_gone(struct sim_fault *fault);
enum sim_effect sim_fire_signal(struct sim_fault *fault);
enum sim_effect sim_fire_slow_reader(struct sim_fault *fault);
enum sim_effect sim_fire_starve_agent(struct sim_fault *fault);
enum sim_effect sim_fire_stop_agent(struct sim_fault *fault);
enum sim_effect sim_fire_stop_for_good(struct sim_fault *fault);
enum sim_effect sim_fire_stop_launcher(struct sim_fault *fault);
enum sim_effect sim_fire_stop_rank(struct sim_fault *fault);
enum sim_effect sim_fire_unauthenticated(struct sim_fault *fault);
enum sim_effect sim_fire_suspend(struct sim_fault *fault);
enum sim_effect sim_fire_unreachable(struct sim_fault *fault);
enum sim_effect sim_fire_withhold(struct sim_fault *fault);
void sim_prepare_unreachable(struct sim_fault *fault);
void sim_prepare_hang(struct sim_fault *fault);
void sim_prepare_no_program(struct sim_fault *fault);
void sim_never_join(struct sim_worker *worker);
void sim_withhold(struct sim_worker *worker);

#endif
