/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP port of all networks of this machine: of IPv6 and IPv4 by one socket where it has both. */
#ifndef LAUNCHER_BASE_PORT_H
#define LAUNCHER_BASE_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a bound socket that does not block, or -1 and errno. Port 0 is any free port. With
 * `again` connections that came by the port before do not occupy it. */
int port_bind(uint16_t port, bool again);

/* The port of a bound socket; 0 if that cannot be told. */
uint16_t port_of_socket(int fd);

#endif
