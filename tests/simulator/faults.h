/* SPDX-License-Identifier: Apache-2.0 */
/* What befalls a job: none, one or two faults from the table in faults.c, each at a moment that the
 * seed chooses. A row says what is done and what hvdrun must then end with; so the verdict of every
 * job is predicted, and compared (oracles.h). */
#ifndef TESTS_SIMULATOR_FAULTS_H
#define TESTS_SIMULATOR_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_worker;

/* Draws them, prepares those that are there from the start, and plans the others. Before the
 * launcher begins. */
void sim_faults_draw(void);

/* A rank's process begins: what the faults have in mind for it. */
void sim_faults_on_worker(struct sim_worker *worker);

/* May hvdrun end with that status, after what has happened? */
bool sim_faults_allow(int status);
const char *sim_faults_text(void); /* what has happened, and what it allows */

/* The only fault was the end of a rank: which, for the verdict must name it; else -1. */
int sim_faults_blamed_rank(void);

/* The only fault was the loss of a host, for which hvdrun ended with that status: which; else
 * -1. */
int sim_faults_blamed_host(int status);

/* May hvdrun name that host as lost, after all that has happened? */
bool sim_faults_may_lose(int host);

/* What the last line must say then; NULL if nothing is known. */
const char *sim_faults_words(int status);

/* By when the job must be over; and everything gone. */
uint64_t sim_faults_deadline_us(void);
uint64_t sim_faults_gone_us(void);
bool sim_launcher_was_killed(void);
bool sim_faults_are_two(void);

/* The table, for the report: the sentence of row `index` and the jobs that it befell, of which so
 * many were judged badly. NULL beyond the last. */
const char *sim_fault_sentence(int index, unsigned long *jobs, unsigned long *broken);

/* Likewise of jobs in which a host was lost that others were connected through. */
unsigned long sim_faults_of_inner_hosts(unsigned long *broken);

/* Likewise of jobs that two faults have befallen. */
unsigned long sim_faults_in_pairs(unsigned long *broken);

void sim_faults_count(bool broken); /* of the job that has just been judged */

#endif
