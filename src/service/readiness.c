/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness by descriptor and by datagram:
 *   look for both, say READY once, WATCHDOG=1 as often as is wanted, STOPPING.
 * Fails when the named descriptor cannot be written to, and when READY reaches nobody at the
 * socket. Later messages are lost when nobody reads them; nothing here waits. */
#include "src/service/readiness.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "/run/x" is a path, "@x" a name without a file. */
static void find_socket(struct readiness *readiness)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t length = name ? strlen(name) : 0;
    struct sockaddr_un *address = &readiness->address;
    readiness->notify_name = length > 0 ? name : NULL;
    if (length < 2 || length >= sizeof address->sun_path || (*name != '/' && *name != '@'))
        return;
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    if (*name == '@')
        address->sun_path[0] = '\0';
    readiness->address_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (*name == '/'));
    readiness->notify_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Half of $WATCHDOG_USEC, if the variable is meant for this process. */
static void find_watchdog(struct readiness *readiness)
{
    const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
    int number;
    if (!usec || readiness->notify_socket < 0)
        return;
    if (pid && (number_parse(&number, pid, strlen(pid), 1, 1 << 30) != NUMBER_OK ||
                number != (int)getpid()))
        return;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(usec, &end, 10);
    if (*usec >= '0' && *usec <= '9' && *end == '\0' && errno == 0 && value > 0)
        readiness->watchdog_ms = value / 2000 > 0 ? value / 2000 : 1;
}

static int check_descriptor(int fd, struct err *err)
{
    int flags = fd < 0 ? O_WRONLY : fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return bad_input(err, "--ready-fd", "not open for writing: '%d'", fd);
    return HVD_OK;
}

int readiness_init(struct readiness *readiness, int ready_fd, struct err *err)
{
    *readiness = (struct readiness){ .ready_fd = -1, .notify_socket = -1 };
    int rc = check_descriptor(ready_fd, err);
    if (rc < 0)
        return rc;
    readiness->ready_fd = ready_fd;
    find_socket(readiness);
    find_watchdog(readiness);
    return HVD_OK;
}

/* 0 or an errno. */
static int notify(const struct readiness *readiness, const char *text)
{
    if (!readiness->notify_name)
        return 0;
    if (readiness->notify_socket < 0)
        return EDESTADDRREQ; /* the variable names no socket that we can reach */
    ssize_t n = sendto(readiness->notify_socket, text, strlen(text), MSG_NOSIGNAL,
                       (const struct sockaddr *)&readiness->address, readiness->address_length);
    return n < 0 ? errno : 0;
}

static void write_newline(struct readiness *readiness)
{
    if (readiness->ready_fd < 0)
        return;
    ssize_t n = write(readiness->ready_fd, "\n", 1);
    (void)n; /* the reader may have gone */
    close(readiness->ready_fd);
    readiness->ready_fd = -1;
}

int readiness_ready(struct readiness *readiness, const char *status, struct err *err)
{
    char text[512];
    struct shown shown;
    snprintf(text, sizeof text, "READY=1\nSTATUS=%s", status);
    write_newline(readiness);
    int errnum = notify(readiness, text);
    if (errnum == 0)
        return HVD_OK;
    show_token(&shown, readiness->notify_name, strlen(readiness->notify_name));
    return fail_errno(err, HVD_ERR_SYSTEM, errnum, "$NOTIFY_SOCKET: cannot reach '%s'", shown.text);
}

void readiness_alive(const struct readiness *readiness)
{
    notify(readiness, "WATCHDOG=1");
}

void readiness_stopping(const struct readiness *readiness)
{
    notify(readiness, "STOPPING=1\nSTATUS=stopping");
}

void readiness_fini(struct readiness *readiness)
{
    if (readiness->notify_socket >= 0)
        close(readiness->notify_socket);
    readiness->notify_socket = -1;
}
