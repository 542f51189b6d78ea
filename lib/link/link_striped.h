/* SPDX-License-Identifier: Apache-2.0 */
/* One link over several TCP links. Bytes go over them in blocks, one link after the other, so that
 * each link has a congestion window and a processor's interrupts of its own. The order of bytes is
 * the order of the blocks. Both sides have the same number of links, in the same order.
 *
 * Fails as the link whose turn it is does, and when another link has broken. */
#ifndef LIB_LINK_LINK_STRIPED_H
#define LIB_LINK_LINK_STRIPED_H

#include "lib/link/link.h"

enum { STREAMS_MAX = 16, STRIPE_BLOCK = 64 * 1024 };

/* Takes over `count` links, 2 to STREAMS_MAX, each of which only copies and can be waited for. NULL
 * and `err` when out of memory or descriptors; then the links still belong to the caller. */
struct link *link_striped_create(struct link *const links[], int count, struct err *err);

#endif
