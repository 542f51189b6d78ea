/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a program; see program_find.h. Fails when no such file is found, when program_check.h
 * does not accept it, and when env(1) would not find the interpreter of a script. */
#include "launcher/process/program_find.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/program_check.h"
#include "launcher/process/program_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 0 and the file, or what program_check_file() finds wrong. */
static int program_find_look_up(const char *name, const char *path, char **file)
{
    if (!*name)
        return ENOENT;
    if (strchr(name, '/')) {
        *file = xstrdup(name);
        return program_check_file(name);
    }
    int result = ENOENT;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin";; at++) {
        size_t length = strcspn(at, ":");
        *file = length > 0 ? xasprintf("%.*s/%s", (int)length, at, name) : xstrdup(name);
        int rc = program_check_file(*file);
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

/* "; did you mean: python train.py", or "". A file that is only in the working directory is not in
 * PATH. */
static void suggest(char *text, size_t size, const char *name, const char *quoted)
{
    text[0] = '\0';
    if (access(name, F_OK) < 0)
        return;
    if (program_is_python(name))
        snprintf(text, size, "; did you mean: python %s", quoted);
    else if (!strchr(name, '/') && access(name, X_OK) == 0)
        snprintf(text, size, "; did you mean: ./%s", quoted);
}

/* Words for what a check has found. */
static const char *reason_of(int rc, char *text, size_t size)
{
    if (rc == PROGRAM_NOT_REGULAR)
        return "not a regular file";
    return rc == PROGRAM_MUTE_PYTHON ? "no #! line" : strerror_r(rc, text, size);
}

static bool ends_in_carriage_return(const char *path)
{
    return *path && path[strlen(path) - 1] == '\r';
}

static const char interpreter_of_env[] = "interpreter";

/* The interpreter or the loader of `program` cannot be executed. */
static void blame_runner(const char *program, const struct program_runner *runner,
                         const char *reason, struct err *err)
{
    struct shown by, needed;
    fail(err, HVD_ERR_INVALID, "command cannot be executed: '%s': its %s '%s'%s%s%s%s: %s%s",
         program, runner->kind, show_token(&by, runner->path, strlen(runner->path)),
         runner->kind == interpreter_of_env ? ", which env looks for in PATH" : "",
         *runner->needs ? " needs '" : "",
         show_token(&needed, runner->needs, strlen(runner->needs)), *runner->needs ? "'" : "",
         reason,
         ends_in_carriage_return(runner->path) ? " (the #! line ends in CR LF instead of LF)" : "");
}

/* Says why the file that was found for `name` cannot be executed. */
static int refuse_file(const char *name, const struct program_runner *runner, int rc,
                       struct err *err)
{
    char quoted[QUOTED_SIZE], hint[QUOTED_SIZE + 32] = "", text[128];
    const char *reason = reason_of(rc, text, sizeof text);
    quote_token(quoted, sizeof quoted, name, strlen(name));
    if (!runner->kind && program_is_python(name))
        suggest(hint, sizeof hint, name, quoted);
    if (runner->kind)
        blame_runner(quoted, runner, reason, err);
    else
        fail(err, HVD_ERR_INVALID, "command cannot be executed: '%s': %s%s", quoted, reason, hint);
    return STATUS_NOT_EXECUTABLE;
}

static int refuse_name(const char *name, struct err *err)
{
    char quoted[QUOTED_SIZE], hint[QUOTED_SIZE + 32];
    quote_token(quoted, sizeof quoted, name, strlen(name));
    suggest(hint, sizeof hint, name, quoted);
    fail(err, HVD_ERR_INVALID, "command not found: '%s'%s%s", quoted,
         strchr(name, '/') ? "" : " (looked for in PATH)", hint);
    return STATUS_NOT_FOUND;
}

/* A script may name its interpreter by env(1), which finds it as we find a command. */
static int check_env_command(const char *file, const char *path, struct program_runner *runner)
{
    char *found = NULL;
    int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool is_named = fd >= 0 && program_image_env_command(fd, runner->path, sizeof runner->path);
    if (fd >= 0)
        close(fd);
    int rc = is_named ? program_find_look_up(runner->path, path, &found) : 0;
    free(found);
    runner->kind = rc != 0 ? interpreter_of_env : NULL;
    runner->needs[0] = '\0';
    return rc;
}

int program_find(const char *name, const char *path, char **file, struct err *err)
{
    struct program_runner runner = { .kind = NULL };
    *file = NULL;
    int rc = program_find_look_up(name, path, file);
    bool is_found = rc != ENOENT && rc != ENOTDIR;
    if (rc == 0)
        rc = program_check_bytes(*file, &runner);
    if (rc == 0)
        rc = check_env_command(*file, path, &runner);
    if (rc == 0)
        return 0;
    free(*file);
    *file = NULL;
    return is_found ? refuse_file(name, &runner, rc, err) : refuse_name(name, err);
}
