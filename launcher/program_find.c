/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a program; see program_find.h. Fails when no such file is found, it is not executable, or
 * it is binary but not for this kind of machine. */
#include "launcher/program_find.h"

#include "launcher/exit_status.h"
#include "launcher/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or the errno with which executing `path` would fail. */
static int check_program(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* 0 and the file, or an errno. */
static int look_up(const char *name, const char *path, char **file)
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

/* execve() hands a file that it does not understand back, and we give it to /bin/sh: not if it is
 * binary. */
static bool is_foreign_binary(const char *path)
{
    char head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* executable but not readable is fine */
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    bool elf = n >= 4 && memcmp(head, "\177ELF", 4) == 0;
    return n > 0 && !elf && memchr(head, 0, (size_t)n);
}

int program_find(const char *name, const char *path, char **file, struct err *err)
{
    char quoted[QUOTED_SIZE];
    quote_token(quoted, sizeof quoted, name, strlen(name));
    *file = NULL;
    int rc = look_up(name, path, file);
    if (rc == 0 && is_foreign_binary(*file))
        rc = ENOEXEC;
    if (rc == 0)
        return 0;
    free(*file);
    *file = NULL;
    if (rc == ENOENT || rc == ENOTDIR) {
        fail(err, HVD_ERR_INVALID, "command not found: '%s'%s", quoted,
             strchr(name, '/') ? "" : " (looked for in PATH)");
        return STATUS_NOT_FOUND;
    }
    fail_errno(err, HVD_ERR_INVALID, rc, "command cannot be executed: '%s'", quoted);
    return STATUS_NOT_EXECUTABLE;
}
