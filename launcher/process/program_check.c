/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a program; see program_check.h:
 *   kind and permissions of the file -> its first bytes -> the same for its interpreter or loader.
 * Fails when one of these files is missing, no regular file or not executable, is binary but not
 * for this kind of machine, or is a script in Python without a "#!" line. */
#include "launcher/process/program_check.h"

#include "launcher/process/program_image.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 5 }; /* scripts run by scripts; Linux fails with ELOOP behind that */

int program_check_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (!S_ISREG(status.st_mode))
        return PROGRAM_NOT_REGULAR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* Does not wait, even if a pipe has taken the place of the file since the check. */
static int program_open(const char *path)
{
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* The first bytes of a file, and their number. */
static size_t read_head(int fd, char *head, size_t size)
{
    ssize_t n = pread(fd, head, size, 0);
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

static unsigned own_machine(void)
{
    char head[EI_NIDENT + 4];
    int fd = program_open("/proc/self/exe");
    size_t nbytes = fd >= 0 ? read_head(fd, head, sizeof head) : 0;
    if (fd >= 0)
        close(fd);
    return elf_machine(head, nbytes);
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
    unsigned ours = own_machine();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (ours == pairs[i].ours && machine == pairs[i].also)
            return true;
    return ours == EM_NONE || machine == ours || has_interpreters();
}

/* Any bytes may follow the line, as in a zip file of Python modules. */
static bool is_script(const char *head, size_t nbytes)
{
    return nbytes >= 2 && memcmp(head, "#!", 2) == 0;
}

/* execve() refuses a file that it does not understand, and we pass it to /bin/sh, unless the file
 * is binary. */
static bool is_unsupported_binary(const char *head, size_t nbytes)
{
    unsigned machine = elf_machine(head, nbytes);
    if (machine != EM_NONE)
        return !runs_here(machine);
    return nbytes > 0 && !is_script(head, nbytes) && memchr(head, 0, nbytes);
}

bool program_is_python(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static bool is_mute_python(const char *path, const char *head, size_t nbytes)
{
    return program_is_python(path) && nbytes >= 2 && !is_script(head, nbytes) &&
           elf_machine(head, nbytes) == EM_NONE;
}

static const char interpreter[] = "interpreter", loader[] = "loader";

/* The file by which the kernel runs a program, in `by`, and its kind; NULL if there is none. An
 * emulator finds the loaders of other machines where it has them. */
static const char *find_runner(int fd, unsigned machine, char *by, size_t size)
{
    if (program_image_interpreter(fd, by, size))
        return interpreter;
    return machine == own_machine() && program_image_loader(fd, by, size) ? loader : NULL;
}

/* As program_check_bytes(), of one file without those that run it, which it finds. */
static int program_check_one(const char *path, struct program_runner *runner)
{
    char head[128];
    int rc = 0, fd = program_open(path);
    runner->kind = NULL;
    if (fd < 0)
        return 0;
    size_t nbytes = read_head(fd, head, sizeof head);
    if (is_unsupported_binary(head, nbytes))
        rc = ENOEXEC;
    else if (is_mute_python(path, head, nbytes))
        rc = PROGRAM_MUTE_PYTHON;
    else
        runner->kind =
            find_runner(fd, elf_machine(head, nbytes), runner->path, sizeof runner->path);
    close(fd);
    return rc;
}

/* As program_check_bytes(), of a program in a chain of `depth` scripts. */
static int program_check_chain(const char *path, int depth, struct program_runner *runner)
{
    struct program_runner next = { .kind = NULL };
    int rc = program_check_one(path, runner);
    if (rc != 0 || !runner->kind)
        return rc;
    bool is_too_deep = depth == SCRIPTS_MAX && runner->kind == interpreter;
    rc = is_too_deep ? ELOOP : program_check_file(runner->path);
    if (rc == 0)
        rc = program_check_chain(runner->path, depth + 1, &next);
    snprintf(runner->needs, sizeof runner->needs, "%s",
             rc == ELOOP || !next.kind ? "" : (*next.needs ? next.needs : next.path));
    return rc;
}

int program_check_bytes(const char *path, struct program_runner *runner)
{
    return program_check_chain(path, 0, runner);
}
