/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root: hvdrendezvousd that was started by root, for a port below 1024 or a key that only
 * root may read, serves as another user (--user). */
#ifndef SRC_SERVICE_PRIVILEGES_H
#define SRC_SERVICE_PRIVILEGES_H

#include "lib/base/status.h"

/* Becomes the user, with the group of its entry and no other, for ever. HVD_ERR_INVALID if this
 * process is not root's, there is no such user, or the user is root; HVD_ERR_SYSTEM if the kernel
 * refuses. */
int privileges_drop(const char *user, struct err *err);

#endif
