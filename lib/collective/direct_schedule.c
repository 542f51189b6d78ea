/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of direct exchange; see direct_schedule.h. */
#include "lib/collective/direct_schedule.h"

int direct_member(int exchange, int self)
{
    return exchange < self ? exchange : exchange + 1;
}

int direct_exchange(int member, int self)
{
    return member < self ? member : member - 1;
}

int direct_peers(int rank, int size, int *peers)
{
    for (int i = 0; i < size - 1; i++)
        peers[i] = direct_member(i, rank);
    return size - 1;
}
