/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary files that checkpoints are written to, TARGET.tmp-BOOT-RANDOM, and the removal of
 * those that crashed writers have left.
 *
 *   made and locked by its writer -> renamed to the target, or removed by its writer;
 *   lock gone with the writer's process -> removed by the next writer of the same target
 *
 * The kernel releases a lock (flock) when its process is gone, however the process ends. BOOT are
 * the first 8 digits of the kernel's boot id, or zeros if the kernel has none. If BOOT is that of
 * this kernel, a lock that can be taken proves that there is no writer. A shared file system may
 * keep the locks of each host apart; so a file that another kernel has begun, or may have begun, is
 * removed only when it was last written to more than a day ago. */
#ifndef LIB_TRAINING_CHECKPOINT_TEMPORARY_H
#define LIB_TRAINING_CHECKPOINT_TEMPORARY_H

#include "lib/base/status.h"

enum { CHECKPOINT_TEMPORARY_AGE_S = 24 * 60 * 60 };

/* Makes and locks a file that no other process writes, after removing abandoned files. Returns its
 * descriptor, which is above the standard streams, and its name, for free(). On failure NULL and a
 * status: the directory or memory. */
int checkpoint_temporary_make(const char *target, char **temporary, struct err *err);

/* Replaces `fd` by a descriptor that is no standard stream's; -1 with errno if there is none. */
int checkpoint_move_off_streams(int fd);

#endif
