/* SPDX-License-Identifier: Apache-2.0 */
/* The exchanges between members of a group when every member owns a share. Pure arithmetic.
 *
 * A member has one exchange with each other member, in order of members. Member m is in exchange m,
 * or m - 1 if m comes after the own number. */
#ifndef LIB_COLLECTIVE_DIRECT_SCHEDULE_H
#define LIB_COLLECTIVE_DIRECT_SCHEDULE_H

int direct_member(int exchange, int self);
int direct_exchange(int member, int self);

/* Every other rank that `rank` exchanges bytes with, ascending. Returns how many. */
int direct_peers(int rank, int size, int *peers);

#endif
