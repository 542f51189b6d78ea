/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the ranks, in layers; a later layer wins, so that no rank finds a name twice:
 *
 *   on another machine: the agent's own, from the login, without variables that are not for ranks
 *   on hvdrun's machine: the variables that select its accelerators
 *   the interfaces that ranks are reached at, in Horovod's and NCCL's names
 *   hvdrun's own, without variables that must not travel
 *   the address where the agent offers the rendezvous
 *   the rank info of this rank
 *
 * A value may contain any bytes. Pure. */
#ifndef LAUNCHER_PROCESS_WORKER_ENVIRONMENT_H
#define LAUNCHER_PROCESS_WORKER_ENVIRONMENT_H

#include "launcher/base/string_list.h"
#include "lib/base/auth.h"
#include "lib/base/rank_info.h"

/* Appends the entries for ranks on the same machine from an environment that is ended by NULL. Left
 * out, as in horovodrun: BASH_FUNC_*, OLDPWD, _HOROVOD_SECRET_KEY; variables that we set, so that
 * an outer job's values cannot leak in; and entries without "=". */
void worker_environment_inherit(struct string_list *list, char *const *environment);

/* Appends hvdrun's own layer for all machines: the inherited variables, except those that select
 * accelerators of one machine, and the variables that all ranks of all jobs share. */
void worker_environment_common(struct string_list *list, char *const *environment);

/* Appends the variables that select accelerators, CUDA_VISIBLE_DEVICES and its like. */
void worker_environment_devices(struct string_list *list, char *const *environment);

/* Appends the variables of one rank, except the address of the rendezvous, which its agent knows.
 * `key` is the key of `worker` alone (worker_key_derive()). */
void worker_environment_rank(struct string_list *list, const struct rank_info *rank_info,
                             const char *host, const char *job_id, const struct job_key *key,
                             int worker);

/* Appends the variables of a worker of an elastic job: its number, and that of its agent, by which
 * its processes are found when the agent is lost. */
void worker_environment_elastic(struct string_list *list, int worker, int agent);

/* Appends the environment of a command that hvdrun runs on its own machine: hvdrun's own, and
 * ENV_COMMAND_OF, by which what the command has started is found (cleanup/command_guard.h). */
void worker_environment_command(struct string_list *list, char *const *environment,
                                const char *job_id);

/* Sorts the list by name; of entries with the same name only the last one stays. */
void worker_environment_finish(struct string_list *list);

/* The array for execve(): `common`, which is finished, with entries replaced by those of `own` with
 * the same name. The caller frees the array; its texts are borrowed from the lists. */
char **worker_environment_over(const struct string_list *common, const struct string_list *own);

#endif
