/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the ranks: hvdrun's own, without what must not travel, and what tells a rank
 * its place. Pure. */
#ifndef LAUNCHER_WORKER_ENVIRONMENT_H
#define LAUNCHER_WORKER_ENVIRONMENT_H

#include "launcher/string_list.h"
#include "lib/base/place.h"

/* Appends what all ranks share. Left out, as horovodrun does: BASH_FUNC_*, OLDPWD,
 * *CUDA_VISIBLE_DEVICES*, _HOROVOD_SECRET_KEY; and whatever is set per rank, so that an outer job's
 * values cannot leak in; and entries without "=". */
void worker_environment_common(struct string_list *list, char *const *environment);

/* Appends what one rank gets, except the address of the rendezvous, which its agent knows. */
void worker_environment_rank(struct string_list *list, const struct place *place, const char *host,
                             const char *job_key);

#endif
