/* SPDX-License-Identifier: Apache-2.0 */
/* A file system on which reading hangs inside the kernel, so that the reader cannot be killed;
 * for tests, as root.
 *
 *   stuck_fs DIRECTORY COMMAND...   mounts it there with one file "stuck" in it; runs the command
 *
 * What reads "stuck" hangs until the command has ended; then the file system goes, and the read
 * fails. Once somebody reads, there is a file DIRECTORY.read. Ends as the command does, or with
 * status 77 if nothing can be mounted here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 77, FILE_NODE = 2, ROOM = 1 << 17 };

static void answer(int fd, uint64_t unique, int error, const void *body, size_t length)
{
    char reply[sizeof(struct fuse_out_header) + sizeof(struct fuse_entry_out) + 64];
    struct fuse_out_header header = { .len = (uint32_t)(sizeof header + length),
                                      .error = -error,
                                      .unique = unique };
    memcpy(reply, &header, sizeof header);
    if (length > 0)
        memcpy(reply + sizeof header, body, length);
    if (write(fd, reply, header.len) < 0 && errno != ENOENT)
        _exit(CANNOT);
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){ .ino = node,
                               .size = node == FILE_NODE ? 4096 : 0,
                               .mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555,
                               .nlink = 1 };
}

static void lookup(int fd, const struct fuse_in_header *in)
{
    struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };
    bool found = strcmp((const char *)(in + 1), "stuck") == 0;
    answer(fd, in->unique, found ? 0 : ENOENT, &entry, found ? sizeof entry : 0);
}

/* Notes that somebody reads. The request is never answered. */
static void let_hang(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.read", directory);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static void serve_one(int fd, const char *directory, const struct fuse_in_header *in)
{
    struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
    struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
    struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };
    switch (in->opcode) {
    case FUSE_INIT:
        answer(fd, in->unique, 0, &init, sizeof init);
        break;
    case FUSE_GETATTR:
        answer(fd, in->unique, 0, &attr, sizeof attr);
        break;
    case FUSE_LOOKUP:
        lookup(fd, in);
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        answer(fd, in->unique, 0, &opened, sizeof opened);
        break;
    case FUSE_READ:
        let_hang(directory);
        break;
    case FUSE_INTERRUPT:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        break;
    default:
        answer(fd, in->unique, ENOSYS, NULL, 0);
    }
}

/* Serves requests until the file system is unmounted. */
static void serve(int fd, const char *directory)
{
    static _Alignas(struct fuse_in_header) char request[ROOM];
    while (read(fd, request, sizeof request) > 0 || errno == EINTR || errno == ENOENT)
        serve_one(fd, directory, (const struct fuse_in_header *)(const void *)request);
    _exit(0);
}

static pid_t run(char **command)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(command[0], command);
    _exit(127);
}

int main(int argc, char **argv)
{
    char options[128];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), status = 0;
    if (argc < 3 || fd < 0)
        return CANNOT;
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd,
             (int)getuid(), (int)getgid());
    if (mount("stuck", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
        return CANNOT;
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd, argv[1]);
    }
    close(fd); /* with the server's the connection ends, and every read */
    waitpid(run(argv + 2), &status, 0);
    kill(server, SIGKILL);
    umount2(argv[1], MNT_DETACH);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
