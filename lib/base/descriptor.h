/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of the library in a process that belongs to a host program: close-on-exec,
 * nonblocking, above 2, and closed in a forked child.
 *
 * A host program may have closed its standard streams and still write to them, so a socket of the
 * library must never get the number of a standard stream. The program may fork at any moment, also
 * while a world is being joined or left. The child closes its copies, so that the peer sees the
 * connection end when the rank ends. */
#ifndef LIB_BASE_DESCRIPTOR_H
#define LIB_BASE_DESCRIPTOR_H

#include <stdbool.h>

/* All return a descriptor for descriptor_close(), or -1 with errno. */
int descriptor_socket(int family);
int descriptor_accept(int listener);
int descriptor_event(void);
int descriptor_epoll(void);
int descriptor_file(const char *name); /* to write, made if need be, and empty */

/* Whether `fd` may still be the descriptor of descriptor_event(). The host program may have closed
 * it and opened something else under its number; only another eventfd is then mistaken for ours. */
bool descriptor_is_event(int fd);

/* -1 is fine. */
void descriptor_close(int fd);

#endif
