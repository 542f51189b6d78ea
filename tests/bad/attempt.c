/* SPDX-License-Identifier: Apache-2.0 */
/* Trying a row; see attempt.h. */
#include "tests/bad/attempt.h"

#include "tests/bad/verdict.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SCRIPT_MAX = 8192, NAMES_MAX = 4096 };

/* What rows may use; and their words are there before the files are looked at. */
static const char prelude[] =
    "place='HOROVOD_RANK=0 HOROVOD_SIZE=2'\n"
    "rendezvous='HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1 HOROVOD_GLOO_RENDEZVOUS_PORT=9'\n"
    "service='HVD_RENDEZVOUS=127.0.0.1:9 HVD_JOB_ID=a HOROVOD_SIZE=2'\n"
    "key=HVD_JOB_KEY=$(printf %064d 0)\n"
    "repeat() { printf \"%$2s\" '' | tr ' ' \"$1\"; }\n"
    "host_names() { seq -s \"$2\" -f 'h%.0f' \"$1\"; }\n"
    "begin() { echo * .* >../\"$NUMBER\".files; unset NUMBER; exec \"$@\"; }\n";

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    perror(what);
    _exit(99);
}

double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

bool attempt_is_late(const struct attempt *attempt)
{
    return now_ms() - attempt->start_ms > ATTEMPT_LIMIT_MS;
}

/* "12.err" */
static const char *name_of(const struct attempt *attempt, const char *ending)
{
    static char name[64];
    snprintf(name, sizeof name, "%d%s", attempt->number, ending);
    return name;
}

static void redirect(int fd, const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(file >= 0 && dup2(file, fd) == fd, path);
}

static void write_contents(const char *path, const char *contents)
{
    char *bytes = malloc(strlen(contents) + 1);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    require(bytes && file >= 0, path);
    size_t length = contents_decode(bytes, contents);
    require(write(file, bytes, length) == (ssize_t)length, path);
    close(file);
    free(bytes);
}

static const char *script_of(const struct attempt *attempt)
{
    static char script[SCRIPT_MAX];
    const struct row *row = attempt->row;
    int length = snprintf(script, sizeof script, "%s%s begin %s%s \"$@\" %s", prelude,
                          attempt->group->template ? "cp -a \"$TEMPLATE\"/. . || exit 99\n" : "",
                          *row->variables ? "env " : "", row->variables, row->arguments);
    require(length < SCRIPT_MAX, row->id);
    return script;
}

/* In the child. */
static void become(const struct attempt *attempt)
{
    static char sh[] = "/bin/sh", option[] = "-c", script[SCRIPT_MAX];
    char *words[32] = { sh, option, script, sh };
    size_t count = 4;
    strcpy(script, script_of(attempt));
    for (char **word = attempt->group->command; *word; word++)
        words[count++] = *word;
    require(setpgid(0, 0) == 0, "setpgid");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    redirect(STDIN_FILENO, "/dev/null");
    redirect(STDOUT_FILENO, name_of(attempt, ".out"));
    redirect(STDERR_FILENO, name_of(attempt, ".err"));
    require(chdir(name_of(attempt, "")) == 0, "chdir");
    if (attempt->row->contents)
        write_contents(attempt->group->table.file, attempt->row->contents);
    setenv("NUMBER", name_of(attempt, ""), 1);
    if (attempt->group->template)
        setenv("TEMPLATE", attempt->group->template, 1);
    execv(sh, words);
    require(false, sh);
}

void attempt_start(struct attempt *attempt)
{
    require(mkdir(name_of(attempt, ""), 0700) == 0, "mkdir");
    attempt->start_ms = now_ms();
    attempt->pid = fork();
    require(attempt->pid >= 0, "fork");
    if (attempt->pid == 0)
        become(attempt);
}

static void read_text(char *text, size_t size, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    unlink(path);
}

/* The first file that was not there before, "" if there is none. */
static const char *new_file(const struct attempt *attempt)
{
    static char before[NAMES_MAX], name[256 + 2];
    before[0] = ' ';
    read_text(before + 1, sizeof before - 1, name_of(attempt, ".files"));
    before[strcspn(before, "\n")] = ' ';
    DIR *folder = opendir(name_of(attempt, ""));
    const char *found = "";
    for (struct dirent *entry; folder && !*found && (entry = readdir(folder));) {
        snprintf(name, sizeof name, " %s ", entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !strstr(before, name))
            found = name;
    }
    closedir(folder);
    return found;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void attempt_end(struct attempt *attempt, int wait_status)
{
    struct outcome outcome = { .wait_status = wait_status };
    attempt->took_ms = now_ms() - attempt->start_ms;
    attempt->pid = 0;
    read_text(outcome.out, sizeof outcome.out, name_of(attempt, ".out"));
    read_text(outcome.err, sizeof outcome.err, name_of(attempt, ".err"));
    const char *left = new_file(attempt);
    const char *why = verdict(attempt->row, attempt->group->beginning, &outcome);
    if (why)
        snprintf(attempt->complaint, sizeof attempt->complaint, "%s (%#x): %.300s", why,
                 (unsigned)wait_status, *outcome.err ? outcome.err : outcome.out);
    else if (*left && attempt->row->status != 0)
        snprintf(attempt->complaint, sizeof attempt->complaint, "left behind:%s", left);
    nftw(name_of(attempt, ""), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
