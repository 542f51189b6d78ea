/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in a process that is not ours: close-on-exec, nonblocking, above 2, and not
 * inherited.
 *
 * A host program may have closed its standard streams and write to them all the same: a socket of
 * ours must never be what it writes to. And a child that it forks at any moment, also while a world
 * is being joined or left, closes its copies, so that the other side sees it when a rank ends. */
#ifndef LIB_BASE_DESCRIPTOR_H
#define LIB_BASE_DESCRIPTOR_H

#include <stdbool.h>

/* All return a descriptor for descriptor_close(), or -1 with errno. */
int descriptor_socket(int family);
int descriptor_accept(int listener);
int descriptor_event(void);
int descriptor_epoll(void);
int descriptor_file(const char *name); /* to write, made if need be, and empty */

/* Whether `fd` may still be what descriptor_event() gave: the host program may have closed it, and
 * have something else under its number, of which only other events are taken for it. */
bool descriptor_is_event(int fd);

/* -1 is fine. */
void descriptor_close(int fd);

#endif
