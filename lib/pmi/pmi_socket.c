/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers over PMI_FD; see pmi_socket.h. */
#include "lib/pmi/pmi_socket.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTOR_MAX = 1 << 20 };

int pmi_variable(environment_get_fn *get, const char *name, int low, int high, int *number,
                 struct err *err)
{
    char quoted[QUOTED_SIZE], *end;
    const char *text = get(name);
    if (!text)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is not set", name);
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not a number from %d to %d", name,
                    quote_token(quoted, sizeof quoted, text, strlen(text)), low, high);
    *number = (int)value;
    return HVD_OK;
}

static int left_over(struct err *err, int fd, const char *what)
{
    return fail(err, HVD_ERR_ENVIRONMENT,
                "PMI_FD is %d, %s; if this variable is left over from another program, unset it or "
                "set HVD_BOOTSTRAP=alone",
                fd, what);
}

int pmi_socket_init(struct pmi_socket *socket, environment_get_fn *get, struct err *err)
{
    struct stat status;
    *socket = (struct pmi_socket){ .fd = -1, .dialect = PMI1 };
    int rc = pmi_variable(get, "PMI_FD", 0, DESCRIPTOR_MAX, &socket->fd, err);
    if (rc < 0)
        return rc;
    if (fstat(socket->fd, &status) < 0)
        return left_over(err, socket->fd, "which is not open");
    return S_ISSOCK(status.st_mode) ? HVD_OK : left_over(err, socket->fd, "which is no socket");
}

static int pmi_wait(const struct pmi_socket *socket, short events, uint64_t deadline_ms,
                    struct err *err)
{
    for (;;) {
        struct pollfd ready = { .fd = socket->fd, .events = events };
        uint64_t now_ms = monotonic_ms();
        int left_ms = now_ms < deadline_ms ? (int)(deadline_ms - now_ms) : 0;
        int count = poll(&ready, 1, left_ms);
        if (count > 0)
            return HVD_OK;
        if (count == 0 && left_ms == 0)
            return fail(err, HVD_ERR_TIMEOUT, "no answer");
        if (count < 0 && errno != EINTR)
            return fail_errno(err, HVD_ERR_SYSTEM, errno, "poll");
    }
}

static bool would_wait(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static int pmi_send(const struct pmi_socket *socket, const struct pmi_writer *request,
                    uint64_t deadline_ms, struct err *err)
{
    for (size_t sent = 0; sent < request->length;) {
        int rc = pmi_wait(socket, POLLOUT, deadline_ms, err);
        if (rc < 0)
            return rc;
        ssize_t nbytes = send(socket->fd, request->text + sent, request->length - sent,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
        if (nbytes < 0 && !would_wait(errno))
            return left_over(err, socket->fd, "but the process manager has closed it");
        sent += nbytes > 0 ? (size_t)nbytes : 0;
    }
    return HVD_OK;
}

static int pmi_receive(struct pmi_socket *socket, uint64_t deadline_ms, struct err *err)
{
    int rc = pmi_wait(socket, POLLIN, deadline_ms, err);
    if (rc < 0)
        return rc;
    ssize_t nbytes = recv(socket->fd, socket->input + socket->length,
                          sizeof socket->input - socket->length, MSG_DONTWAIT);
    if (nbytes == 0 || (nbytes < 0 && !would_wait(errno)))
        return left_over(err, socket->fd, "but the process manager has closed it");
    socket->length += nbytes > 0 ? (size_t)nbytes : 0;
    return HVD_OK;
}

int pmi_socket_ask(struct pmi_socket *socket, struct pmi_writer *request,
                   struct pmi_message *answer, uint64_t deadline_ms, struct err *err)
{
    pmi_writer_end(request);
    if (request->failed)
        return fail(err, HVD_ERR_PROTOCOL, "a request that PMI cannot carry");
    int rc = pmi_send(socket, request, deadline_ms, err), length = 0;
    while (rc == HVD_OK &&
           (length = pmi_message_length(socket->dialect, socket->input, socket->length, err)) == 0)
        rc = pmi_receive(socket, deadline_ms, err);
    if (rc < 0 || length < 0)
        return rc < 0 ? rc : length;
    rc = pmi_message_read(answer, socket->dialect, socket->input, (size_t)length, err);
    socket->length -= (size_t)length;
    memmove(socket->input, socket->input + length, socket->length);
    return rc;
}
