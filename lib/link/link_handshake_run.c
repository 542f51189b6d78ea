/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes over sockets; see link_handshake_run.h. */
#include "lib/link/link_handshake_run.h"

#include "lib/link/socket.h"

#include <poll.h>

/* Bytes moved, 0 if none could be, or a negative status. */
static ssize_t speak(struct link_handshake *handshake, int fd, struct err *err)
{
    size_t length;
    const void *data = link_handshake_output(handshake, &length);
    if (length == 0)
        return 0;
    ssize_t nbytes = socket_send(fd, data, length, err);
    if (nbytes > 0)
        link_handshake_sent(handshake, (size_t)nbytes);
    return nbytes;
}

static ssize_t listen_to(struct link_handshake *handshake, int fd, struct err *err)
{
    size_t length;
    void *space = link_handshake_space(handshake, &length);
    if (length == 0)
        return 0;
    ssize_t nbytes = socket_receive(fd, space, length, err);
    if (nbytes <= 0)
        return nbytes;
    int rc = link_handshake_received(handshake, (size_t)nbytes, err);
    return rc < 0 ? rc : nbytes;
}

int link_handshake_run(struct link_handshake *handshake, int fd, struct err *err)
{
    ssize_t said, heard;
    do {
        if ((said = speak(handshake, fd, err)) < 0)
            return (int)said;
        if ((heard = listen_to(handshake, fd, err)) < 0)
            return (int)heard;
    } while (said + heard > 0);
    return link_handshake_done(handshake);
}

short link_handshake_run_events(const struct link_handshake *handshake)
{
    size_t length;
    link_handshake_output(handshake, &length);
    return length > 0 ? POLLOUT : POLLIN;
}
