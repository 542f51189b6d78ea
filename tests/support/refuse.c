/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command for which the kernel refuses some calls, as it does in many a container:
 *
 *   refuse WORD... -- COMMAND [ARGUMENT...]
 *
 *   memfd    memfd_create()
 *   readv    process_vm_readv()
 *   unix     socket() of a unix socket
 *   pools    mmap() of shared memory of 32 MiB and more
 *
 * A refused call fails with EPERM. Status 99 if this kernel cannot refuse calls. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void require(int condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    exit(99);
}

/* Little-endian: the lower half of an argument comes first. */
#define LOAD(member)                                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, member))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const struct sock_filter no_memfd[] = { LOAD(nr), UNLESS(SYS_memfd_create, 1), REFUSE,
                                               ALLOW };
static const struct sock_filter no_readv[] = { LOAD(nr), UNLESS(SYS_process_vm_readv, 1), REFUSE,
                                               ALLOW };
static const struct sock_filter no_unix[] = { LOAD(nr),      UNLESS(SYS_socket, 3),
                                              LOAD(args[0]), UNLESS(AF_UNIX, 1),
                                              REFUSE,        ALLOW };

/* MAP_SHARED_VALIDATE has that bit, too. */
static const struct sock_filter no_pools[] = {
    LOAD(nr),      UNLESS(SYS_mmap, 5),
    LOAD(args[3]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
    LOAD(args[1]), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 32 << 20, 0, 1),
    REFUSE,        ALLOW,
};

static const struct {
    const char *word;
    const struct sock_filter *filter;
    unsigned short length;
} refusals[] = {
    { "memfd", no_memfd, sizeof no_memfd / sizeof *no_memfd },
    { "readv", no_readv, sizeof no_readv / sizeof *no_readv },
    { "unix", no_unix, sizeof no_unix / sizeof *no_unix },
    { "pools", no_pools, sizeof no_pools / sizeof *no_pools },
};

static void refuse(const char *word)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (strcmp(refusals[i].word, word) != 0)
            continue;
        struct sock_fprog program = { .len = refusals[i].length,
                                      .filter = (struct sock_filter *)refusals[i].filter };
        require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
        return;
    }
    fprintf(stderr, "refuse: unknown word '%s'\n", word);
    exit(99);
}

int main(int argc, char **argv)
{
    int at = 1;
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        refuse(argv[at]);
    if (at + 1 >= argc) {
        fprintf(stderr, "refuse: no command\n");
        return 99;
    }
    execvp(argv[at + 1], argv + at + 1);
    require(0, argv[at + 1]);
}
