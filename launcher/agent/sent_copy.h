/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of hvdagent that was sent to another machine leaves nothing behind, however it ends: it
 * removes itself as soon as it runs. */
#ifndef LAUNCHER_AGENT_SENT_COPY_H
#define LAUNCHER_AGENT_SENT_COPY_H

#include "lib/base/status.h"

/* Removes `folder` and the file "hvdagent" in it, which must be the program of this process; the
 * folder must be nobody's but this user's (0700), and becomes empty by that. Otherwise nothing is
 * removed but that file: HVD_ERR_INVALID or HVD_ERR_SYSTEM, naming the folder. */
int sent_copy_remove(const char *folder, struct err *err);

#endif
