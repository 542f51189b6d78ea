/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a program; see program_find.h. Fails when no such file is found, it is no regular file or
 * not executable, it is binary but not for this kind of machine, or it is a script in Python
 * without a "#!" line. */
#include "launcher/process/program_find.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What errno does not tell: execve() fails with EACCES for a pipe, a device or a socket too. */
enum { NOT_REGULAR = -1 };

/* 0, NOT_REGULAR, or the errno with which executing `path` would fail. */
static int check_program(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (!S_ISREG(status.st_mode))
        return NOT_REGULAR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* 0 and the file, or what check_program() finds wrong. */
static int program_find_look_up(const char *name, const char *path, char **file)
{
    if (!*name)
        return ENOENT;
    if (strchr(name, '/')) {
        *file = xstrdup(name);
        return check_program(name);
    }
    int result = ENOENT;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
        size_t length = strcspn(at, ":");
        *file = length > 0 ? xasprintf("%.*s/%s", (int)length, at, name) : xstrdup(name);
        int rc = check_program(*file);
        if (rc == 0)
            return 0;
        free(*file);
        *file = NULL;
        if (rc != ENOENT && rc != ENOTDIR)
            result = rc;
        at += length;
        if (!*at)
            return result;
    }
}

/* ---- the kind of a file ---- */

/* The first bytes of a file, and their number; 0 if the file cannot be read, which execve() does
 * not require. Does not wait, even if a pipe has taken the place of the file since the check. */
static size_t read_head(const char *path, char *head, size_t size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, size) : 0;
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* EM_NONE if it is no ELF file. */
static unsigned elf_machine(const char *head, size_t nbytes)
{
    uint16_t machine;
    if (nbytes < EI_NIDENT + 4 || memcmp(head, ELFMAG, SELFMAG) != 0)
        return EM_NONE;
    memcpy(&machine, head + EI_NIDENT + 2, sizeof machine);
    return machine;
}

/* The kernel may know interpreters for other machines (qemu). */
static bool has_interpreters(void)
{
    DIR *folder = opendir("/proc/sys/fs/binfmt_misc");
    size_t count = 0;
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count > 4; /* ".", "..", "register", "status" */
}

/* Our own machine is that of our own program; most machines of 64 bits also run programs of 32. */
static bool runs_here(unsigned machine)
{
    static const struct {
        unsigned ours, also;
    } pairs[] = { { EM_X86_64, EM_386 },
                  { EM_AARCH64, EM_ARM },
                  { EM_PPC64, EM_PPC },
                  { EM_SPARCV9, EM_SPARC } };
    char head[EI_NIDENT + 4];
    unsigned ours = elf_machine(head, read_head("/proc/self/exe", head, sizeof head));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (ours == pairs[i].ours && machine == pairs[i].also)
            return true;
    return ours == EM_NONE || machine == ours || has_interpreters();
}

/* execve() refuses a file that it does not understand, and we pass it to /bin/sh, unless the file
 * is binary. */
static bool is_unsupported_binary(const char *path)
{
    char head[128];
    size_t nbytes = read_head(path, head, sizeof head);
    unsigned machine = elf_machine(head, nbytes);
    if (machine != EM_NONE)
        return !runs_here(machine);
    return nbytes > 0 && memchr(head, 0, nbytes);
}

static bool is_python(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

/* A Python script without "#!", which /bin/sh would get and could not run. */
static bool is_mute_python(const char *path)
{
    char head[4];
    size_t nbytes = read_head(path, head, sizeof head);
    return is_python(path) && nbytes >= 2 && memcmp(head, "#!", 2) != 0 &&
           !(nbytes == 4 && memcmp(head, ELFMAG, SELFMAG) == 0);
}

/* "; did you mean: python train.py", or "". A file that is only in the working directory is not in
 * PATH. */
static void suggest(char *text, size_t size, const char *name, const char *quoted)
{
    text[0] = '\0';
    if (access(name, F_OK) < 0)
        return;
    if (is_python(name))
        snprintf(text, size, "; did you mean: python %s", quoted);
    else if (!strchr(name, '/') && access(name, X_OK) == 0)
        snprintf(text, size, "; did you mean: ./%s", quoted);
}

/* Words for what check_program() has found. */
static const char *reason_of(int rc, char *text, size_t size)
{
    return rc == NOT_REGULAR ? "not a regular file" : strerror_r(rc, text, size);
}

int program_find(const char *name, const char *path, char **file, struct err *err)
{
    char quoted[QUOTED_SIZE], hint[QUOTED_SIZE + 32], reason[128];
    quote_token(quoted, sizeof quoted, name, strlen(name));
    *file = NULL;
    int rc = program_find_look_up(name, path, file);
    if (rc == 0 && is_unsupported_binary(*file))
        rc = ENOEXEC;
    bool mute = rc == 0 && is_mute_python(*file);
    if (rc == 0 && !mute)
        return 0;
    free(*file);
    *file = NULL;
    suggest(hint, sizeof hint, name, quoted);
    if (rc == ENOENT || rc == ENOTDIR) {
        fail(err, HVD_ERR_INVALID, "command not found: '%s'%s%s", quoted,
             strchr(name, '/') ? "" : " (looked for in PATH)", hint);
        return STATUS_NOT_FOUND;
    }
    fail(err, HVD_ERR_INVALID, "command cannot be executed: '%s': %s%s", quoted,
         mute ? "no #! line" : reason_of(rc, reason, sizeof reason),
         mute || is_python(name) ? hint : "");
    return STATUS_NOT_EXECUTABLE;
}
