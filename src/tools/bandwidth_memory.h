/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this machine can still give: what is asked for beyond it is granted all the same
 * and paid for with a process that is killed. */
#ifndef SRC_TOOLS_BANDWIDTH_MEMORY_H
#define SRC_TOOLS_BANDWIDTH_MEMORY_H

/* In bytes, for all processes of this host together; the greatest double if it cannot be found
 * out. */
double memory_available(void);

#endif
