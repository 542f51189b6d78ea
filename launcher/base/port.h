/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP port of all networks of this machine: of IPv6 and IPv4 by one socket where it has both. */
#ifndef LAUNCHER_BASE_PORT_H
#define LAUNCHER_BASE_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* A socket that is bound and does not block; 0: any free port. `again`: connections that have come
 * by the port before do not occupy it. -1 and errno. */
int port_bind(uint16_t port, bool again);

/* The port of a bound socket; 0 if that cannot be told. */
uint16_t port_of_socket(int fd);

#endif
