/* SPDX-License-Identifier: Apache-2.0 */
/* A port for the status page; see status_port.h. Fails when the port is taken, and when the
 * descriptor for its number cannot be written to. */
#include "src/hvdrun/status_port.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static enum rendezvous_origin origin_of(void *context, int fd)
{
    struct status_port *self = context;
    uid_t uid;
    bool own = socket_owner_find(&self->owner, fd, &uid) && uid == geteuid();
    return own ? RENDEZVOUS_OWN_UID : RENDEZVOUS_ELSEWHERE;
}

int status_port_open(struct status_port *self, uv_loop_t *loop, int port,
                     struct rendezvous *rendezvous, struct err *err)
{
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    self->port = tcp_port_open(loop, address, rendezvous, err);
    if (!self->port)
        return err->code;
    socket_owner_init(&self->owner);
    tcp_port_set_origin(self->port, origin_of, self);
    return HVD_OK;
}

int status_port_tell(const struct status_port *self, int fd, struct err *err)
{
    errno = EIO; /* for a short write */
    int errnum = dprintf(fd, "%d\n", tcp_port_number(self->port)) < 2 ? errno : 0;
    close(fd);
    return errnum ? fail_errno(err, HVD_ERR_SYSTEM, errnum, "write to descriptor %d", fd) : HVD_OK;
}

void status_port_drain(struct status_port *self)
{
    if (self->port)
        tcp_port_drain(self->port);
}

void status_port_close(struct status_port *self)
{
    if (!self->port)
        return;
    tcp_port_close(self->port);
    socket_owner_fini(&self->owner);
    self->port = NULL;
}
