/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of a job on a port of hvdrun's own (--status-page, --status-port, --status-fd),
 * on 127.0.0.1 of the machine where hvdrun runs. The job's agents offer the same rendezvous on
 * their hosts, but only as long as ranks run; clients of this port also see the verdict. As with
 * the agents, a client whose socket belongs to hvdrun's user needs no key. */
#ifndef SRC_HVDRUN_STATUS_PORT_H
#define SRC_HVDRUN_STATUS_PORT_H

#include "launcher/process/socket_owner.h"
#include "rendezvous/tcp/tcp_port.h"

struct status_port {
    struct tcp_port *port; /* NULL: there is none */
    struct socket_owner owner;
};

/* Listens on `port` (0: any). HVD_OK, or HVD_ERR_SYSTEM and `err`, which names the port. */
int status_port_open(struct status_port *self, uv_loop_t *loop, int port,
                     struct rendezvous *rendezvous, struct err *err);

/* Writes the number of the port and a newline to a descriptor that hvdrun has inherited, and closes
 * it. HVD_OK, or HVD_ERR_SYSTEM and `err`, which names the descriptor. */
int status_port_tell(const struct status_port *self, int fd, struct err *err);

/* Sends the last bytes of the destroyed rendezvous. status_port_close() follows when the loop has
 * run, for as long as it may. Both do nothing when there is no port. */
void status_port_drain(struct status_port *self);
void status_port_close(struct status_port *self);

#endif
