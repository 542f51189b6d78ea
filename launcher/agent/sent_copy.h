/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of hvdagent that was sent to another machine leaves no file behind, however it ends: it
 * removes itself as soon as it runs. */
#ifndef LAUNCHER_AGENT_SENT_COPY_H
#define LAUNCHER_AGENT_SENT_COPY_H

#include "lib/base/status.h"

/* Removes `folder` and the file "hvdagent" in it, which must be the program of this process. The
 * folder must belong to this user alone (0700) and contain nothing else. Otherwise only the file is
 * removed, and the call returns HVD_ERR_INVALID or HVD_ERR_SYSTEM, naming the folder. */
int sent_copy_remove(const char *folder, struct err *err);

#endif
