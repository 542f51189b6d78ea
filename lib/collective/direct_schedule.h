/* SPDX-License-Identifier: Apache-2.0 */
/* Who exchanges what with whom when every member of a group owns a share: arithmetic, nothing else.
 *
 * A member has an exchange with each other one, in their order. Member m is in exchange m, or m - 1
 * behind the own place. */
#ifndef LIB_COLLECTIVE_DIRECT_SCHEDULE_H
#define LIB_COLLECTIVE_DIRECT_SCHEDULE_H

int direct_member(int exchange, int self);
int direct_exchange(int member, int self);

/* Every other rank that `rank` exchanges bytes with, ascending. Returns how many. */
int direct_peers(int rank, int size, int *peers);

#endif
