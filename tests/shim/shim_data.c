/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of libshim that move bytes. */
#include "tests/shim/shim_impl.h"

#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

EXPORT ssize_t read(int fd, void *data, size_t size)
{
    return shim_fails(SHIM_CALL_READ, fd, &size, false) ? -1 : NEXT(read)(fd, data, size);
}

EXPORT ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return shim_fails(SHIM_CALL_PREAD, fd, &size, false) ? -1 : NEXT(pread)(fd, data, size, offset);
}

EXPORT ssize_t pread64(int fd, void *data, size_t size, off_t offset)
    __attribute__((alias("pread")));

EXPORT ssize_t recv(int fd, void *data, size_t size, int flags)
{
    bool nonblocking = flags & MSG_DONTWAIT;
    return shim_fails(SHIM_CALL_RECV, fd, &size, nonblocking) ? -1
                                                              : NEXT(recv)(fd, data, size, flags);
}

/* What _FORTIFY_SOURCE makes of these calls where the size of `data` is known. */
EXPORT ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
EXPORT ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    return size <= room ? read(fd, data, size) : NEXT(__read_chk)(fd, data, size, room);
}

EXPORT ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room);
EXPORT ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room)
{
    return size <= room ? pread(fd, data, size, offset)
                        : NEXT(__pread_chk)(fd, data, size, offset, room);
}

EXPORT ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags);
EXPORT ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
    return size <= room ? recv(fd, data, size, flags)
                        : NEXT(__recv_chk)(fd, data, size, room, flags);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
    return shim_fails(SHIM_CALL_WRITE, fd, &size, false) ? -1 : NEXT(write)(fd, data, size);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return shim_fails(SHIM_CALL_PWRITE, fd, &size, false) ? -1
                                                          : NEXT(pwrite)(fd, data, size, offset);
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
    __attribute__((alias("pwrite")));

EXPORT ssize_t send(int fd, const void *data, size_t size, int flags)
{
    bool nonblocking = flags & MSG_DONTWAIT;
    return shim_fails(SHIM_CALL_SEND, fd, &size, nonblocking) ? -1
                                                              : NEXT(send)(fd, data, size, flags);
}

EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
    return shim_fails(SHIM_CALL_SENDFILE, out, &size, false)
               ? -1
               : NEXT(sendfile)(out, in, offset, size);
}

EXPORT ssize_t sendfile64(int out, int in, off_t *offset, size_t size)
    __attribute__((alias("sendfile")));

static size_t total(const struct iovec *pieces, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].iov_len;
    return size;
}

/* The first byte of what is not empty. */
static struct iovec first_byte(const struct iovec *pieces)
{
    while (pieces->iov_len == 0)
        pieces++;
    return (struct iovec){ pieces->iov_base, 1 };
}

EXPORT ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    size_t whole = total(pieces, (size_t)count), size = whole;
    if (shim_fails(SHIM_CALL_READV, fd, &size, false))
        return -1;
    if (size == whole)
        return NEXT(readv)(fd, pieces, count);
    struct iovec one = first_byte(pieces);
    return NEXT(readv)(fd, &one, 1);
}

EXPORT ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    size_t whole = total(pieces, (size_t)count), size = whole;
    if (shim_fails(SHIM_CALL_WRITEV, fd, &size, false))
        return -1;
    if (size == whole)
        return NEXT(writev)(fd, pieces, count);
    struct iovec one = first_byte(pieces);
    return NEXT(writev)(fd, &one, 1);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    size_t whole = total(message->msg_iov, message->msg_iovlen), size = whole;
    if (shim_fails(SHIM_CALL_RECVMSG, fd, &size, flags & MSG_DONTWAIT))
        return -1;
    if (size == whole)
        return NEXT(recvmsg)(fd, message, flags);
    struct iovec one = first_byte(message->msg_iov), *pieces = message->msg_iov;
    size_t count = message->msg_iovlen;
    message->msg_iov = &one;
    message->msg_iovlen = 1;
    ssize_t received = NEXT(recvmsg)(fd, message, flags);
    message->msg_iov = pieces;
    message->msg_iovlen = count;
    return received;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t whole = total(message->msg_iov, message->msg_iovlen), size = whole;
    if (shim_fails(SHIM_CALL_SENDMSG, fd, &size, flags & MSG_DONTWAIT))
        return -1;
    if (size == whole)
        return NEXT(sendmsg)(fd, message, flags);
    struct msghdr shorter = *message;
    struct iovec one = first_byte(message->msg_iov);
    shorter.msg_iov = &one;
    shorter.msg_iovlen = 1;
    return NEXT(sendmsg)(fd, &shorter, flags);
}

EXPORT int eventfd_read(int fd, eventfd_t *value)
{
    return shim_fails(SHIM_CALL_EVENTFD_READ, fd, NULL, false) ? -1 : NEXT(eventfd_read)(fd, value);
}

EXPORT int eventfd_write(int fd, eventfd_t value)
{
    return shim_fails(SHIM_CALL_EVENTFD_WRITE, fd, NULL, false) ? -1
                                                                : NEXT(eventfd_write)(fd, value);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                                const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
    size_t whole = total(to, nto), size = whole;
    if (shim_fails(SHIM_CALL_VM_READV, -1, &size, false))
        return -1;
    if (size == whole)
        return NEXT(process_vm_readv)(pid, to, nto, from, nfrom, flags);
    struct iovec one = first_byte(to);
    return NEXT(process_vm_readv)(pid, &one, 1, from, nfrom, flags);
}
