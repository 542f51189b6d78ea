/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the ranks, in layers; a later one wins, so that no rank finds a name twice:
 *
 *   on another machine: the agent's own, what the login gave, without what is none of a rank's
 *   on hvdrun's machine: which of its accelerators are to be used
 *   the interfaces that ranks are reached at, in Horovod's and NCCL's names
 *   hvdrun's own, without what must not travel
 *   where the agent offers the rendezvous
 *   what tells the rank its place
 *
 * Any bytes are fine in a value. Pure. */
#ifndef LAUNCHER_PROCESS_WORKER_ENVIRONMENT_H
#define LAUNCHER_PROCESS_WORKER_ENVIRONMENT_H

#include "launcher/base/string_list.h"
#include "lib/base/rank_info.h"

/* Appends what ranks on the same machine get of an environment that is ended by NULL. Left out, as
 * horovodrun does: BASH_FUNC_*, OLDPWD, _HOROVOD_SECRET_KEY; and whatever is set by us, so that an
 * outer job's values cannot leak in; and entries without "=". */
void worker_environment_inherit(struct string_list *list, char *const *environment);

/* Appends hvdrun's own layer for all machines: what is inherited, but the variables that say which
 * accelerators of one machine are to be used, and what all ranks of all jobs share. */
void worker_environment_common(struct string_list *list, char *const *environment);

/* Appends these variables, CUDA_VISIBLE_DEVICES and its like. */
void worker_environment_devices(struct string_list *list, char *const *environment);

/* Appends what one rank gets, except the address of the rendezvous, which its agent knows. */
void worker_environment_rank(struct string_list *list, const struct rank_info *rank_info,
                             const char *host, const char *job_id, const char *job_key);

/* Sorts the list by name; of entries with the same name only the last one stays. */
void worker_environment_finish(struct string_list *list);

/* What execve() gets: `common`, which is finished, and `own` instead of what has the same name. The
 * array is to be freed; its texts are borrowed from the lists. */
char **worker_environment_over(const struct string_list *common, const struct string_list *own);

#endif
