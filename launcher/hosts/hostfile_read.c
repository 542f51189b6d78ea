/* SPDX-License-Identifier: Apache-2.0 */
/* A hostfile from the file system:
 *   open without blocking, see what it is, read to the end, close, parse (hostfile.c).
 * Fails when the file cannot be opened or read, is neither a regular file nor a FIFO, is larger
 * than HOSTFILE_SIZE_MAX, or is a FIFO whose writer does not finish within HOSTFILE_WAIT_MS. */
#include "launcher/hosts/hostfile_read.h"

#include "launcher/base/bad_input.h"
#include "launcher/hosts/host_list.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int hostfile_read_cannot(struct err *err, const char *name, const char *what)
{
    return bad_input(err, name, "cannot %s: %s", what, strerror(errno));
}

static int check_kind(int fd, const char *path, bool *is_fifo, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return hostfile_read_cannot(err, path, "stat");
    if (S_ISDIR(status.st_mode))
        return bad_input(err, path, "is a directory, not a hostfile");
    *is_fifo = S_ISFIFO(status.st_mode);
    if (!S_ISREG(status.st_mode) && !*is_fifo)
        return bad_input(err, path, "is a device or socket, not a hostfile");
    if (status.st_size > HOSTFILE_SIZE_MAX)
        return bad_input(err, path, "is larger than %d MiB", HOSTFILE_SIZE_MAX >> 20);
    return HVD_OK;
}

/* Waits until bytes have come or the last writer has closed the FIFO. */
static int wait_for_writer(int fd, uint64_t deadline_ms, const char *path, struct err *err)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    int rc;
    do {
        uint64_t now_ms = monotonic_ms();
        rc = poll(&poll_fd, 1, now_ms < deadline_ms ? (int)(deadline_ms - now_ms) : 0);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return hostfile_read_cannot(err, path, "read");
    if (rc == 0)
        return bad_input(err, path, "still unfinished after %d s", HOSTFILE_WAIT_MS / 1000);
    return HVD_OK;
}

/* Appends up to 64 KiB. Returns their number; 0 at the end; -1 with errno. */
static ssize_t hostfile_read_some(int fd, struct text_buffer *text)
{
    enum { PIECE = 1 << 16 };
    ssize_t n = read(fd, text_buffer_reserve(text, PIECE), PIECE);
    if (n > 0)
        text->length += (size_t)n;
    return n;
}

/* A FIFO that nobody has opened for writing yet reads as ended. It has really ended if some bytes
 * have come, or if poll() reports a hang-up, which happens only after a writer. */
static int read_fifo(int fd, struct text_buffer *text, const char *path, struct err *err)
{
    uint64_t deadline_ms = monotonic_ms() + HOSTFILE_WAIT_MS;
    bool waited = false;
    while (text->length <= HOSTFILE_SIZE_MAX) {
        ssize_t n = hostfile_read_some(fd, text);
        if (n == 0 && (waited || text->length > 0))
            return HVD_OK;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return hostfile_read_cannot(err, path, "read");
        waited = n <= 0;
        if (waited && wait_for_writer(fd, deadline_ms, path, err) < 0)
            return HVD_ERR_INVALID;
    }
    return HVD_OK;
}

static int read_regular(int fd, struct text_buffer *text, const char *path, struct err *err)
{
    ssize_t n;
    while ((n = hostfile_read_some(fd, text)) != 0 && text->length <= HOSTFILE_SIZE_MAX)
        if (n < 0 && errno != EINTR)
            return hostfile_read_cannot(err, path, "read");
    return HVD_OK;
}

static int hostfile_read_all(int fd, struct text_buffer *text, const char *path, struct err *err)
{
    bool is_fifo = false;
    int rc = check_kind(fd, path, &is_fifo, err);
    if (rc == HVD_OK)
        rc = (is_fifo ? read_fifo : read_regular)(fd, text, path, err);
    if (rc == HVD_OK && text->length > HOSTFILE_SIZE_MAX)
        rc = bad_input(err, path, "is larger than %d MiB", HOSTFILE_SIZE_MAX >> 20);
    return rc;
}

int hostfile_read(struct text_buffer *text, const char *path, const char *name, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hostfile_read_cannot(err, name, "open");
    int rc = hostfile_read_all(fd, text, name, err);
    close(fd);
    return rc;
}

int host_list_read_hostfile(struct host_list *list, const char *path, struct err *err)
{
    struct text_buffer text = { 0 };
    *list = (struct host_list){ 0 };
    int rc = hostfile_read(&text, path, path, err);
    if (rc == HVD_OK)
        rc = host_list_parse_hostfile(list, text.data, text.length, path, err);
    text_buffer_fini(&text);
    return rc;
}
