/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this machine can still give. The kernel also grants larger requests, but kills a
 * process later. */
#ifndef SRC_TOOLS_BANDWIDTH_MEMORY_H
#define SRC_TOOLS_BANDWIDTH_MEMORY_H

/* In bytes, for all processes of this host together; the greatest double if the amount is
 * unknown. */
double memory_available(void);

#endif
