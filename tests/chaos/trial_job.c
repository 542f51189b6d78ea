/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a job and reading what it says; see trial_job.h. */
#include "tests/chaos/trial_job.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 256 * 1024, CHILD_WAIT_US = 200000 };

static void path_of(const struct trial *trial, const char *name, char path[TRIAL_FOLDER_SIZE + 20])
{
    snprintf(path, TRIAL_FOLDER_SIZE + 20, "%s/%s", trial->folder, name);
}

static bool make_folders(struct trial *trial)
{
    char tmp[TRIAL_FOLDER_SIZE + 20], run[TRIAL_FOLDER_SIZE + 20];
    snprintf(trial->folder, sizeof trial->folder, "%s/%lu", trial->setting->folder, trial->token);
    path_of(trial, "tmp", tmp);
    path_of(trial, "run", run);
    return mkdir(trial->folder, 0777) == 0 && mkdir(tmp, 0777) == 0 && mkdir(run, 0700) == 0;
}

static bool redirect(const struct trial *trial, const char *name, int to)
{
    char path[TRIAL_FOLDER_SIZE + 20];
    path_of(trial, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    return fd >= 0 && dup2(fd, to) >= 0 && close(fd) == 0;
}

static void prepare_environment(const struct trial *trial, char *token)
{
    char path[TRIAL_FOLDER_SIZE + 20];
    putenv(token);
    path_of(trial, "tmp", path);
    setenv("TMPDIR", path, 1);
    path_of(trial, "run", path);
    setenv("XDG_RUNTIME_DIR", path, 1);
}

/* What we do about signals is none of the job, nor is nohup. */
static void reset_signals(void)
{
    static const int handled[] = { SIGHUP, SIGINT, SIGTERM };
    sigset_t none;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        signal(handled[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: its streams are open before it enters another file system. */
static void run_launcher(const struct trial *trial)
{
    char token[64], life[16], *words[LAUNCHER_WORDS_MAX];
    snprintf(token, sizeof token, CHAOS_TOKEN "=%lu", trial->token);
    snprintf(life, sizeof life, "%d", plan_life_ms(&trial->plan));
    struct job_words job = {
        .program = trial->setting->program,
        .testbed = &trial->setting->testbed,
        .np = launcher_np(&trial->setting->testbed, trial->plan.fault->elastic),
        .elastic = trial->plan.fault->elastic,
        .comes_back = trial->plan.fault->comes_back,
        .remote_shell = trial->plan.remote_shell,
        .token = token,
        .worker = trial->setting->worker,
        .kind = trial->plan.kind->name,
        .life = plan_life_ms(&trial->plan) >= 0 ? life : NULL,
    };
    launcher_words(trial->setting->launcher, &job, words);
    int null = open("/dev/null", O_RDONLY);
    setsid();
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the job ends with us */
    prepare_environment(trial, token);
    if (null >= 0 && dup2(null, 0) == 0 && redirect(trial, "out", 1) && redirect(trial, "err", 2) &&
        testbed_enter(&trial->setting->testbed))
        execvp(words[0], words);
    fprintf(stderr, "chaos: cannot run '%s': %s\n", words[0], strerror(errno));
    _exit(127);
}

bool trial_job_start(struct trial *trial)
{
    if (!make_folders(trial)) {
        fprintf(stderr, "chaos: %s: %s\n", trial->folder, strerror(errno));
        return false;
    }
    sigset_t all, before;
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* until it has its own dispositions */
    trial->launcher = fork();
    if (trial->launcher == 0)
        run_launcher(trial);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (trial->launcher < 0)
        fprintf(stderr, "chaos: fork: %s\n", strerror(errno));
    return trial->launcher > 0;
}

pid_t trial_job_first_child(const struct trial *trial)
{
    char path[64];
    int child = 0;
    uint64_t until_us = trial_now_us() + CHILD_WAIT_US;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)trial->launcher,
             (int)trial->launcher);
    while (child == 0 && trial_now_us() < until_us) {
        FILE *file = fopen(path, "re");
        if (!file || fscanf(file, "%d", &child) != 1)
            child = 0;
        if (file)
            fclose(file);
        usleep(100);
    }
    return child;
}

/* What it has said on that stream, ended by a zero; to be freed. */
static char *read_said(const struct trial *trial, const char *name, size_t *length)
{
    char path[TRIAL_FOLDER_SIZE + 20], *text = calloc(1, SAID_MAX);
    path_of(trial, name, path);
    FILE *file = fopen(path, "re");
    if (!text)
        abort();
    *length = file ? fread(text, 1, SAID_MAX - 1, file) : 0;
    if (file)
        fclose(file);
    return text;
}

bool trial_job_is_up(const struct trial *trial)
{
    int count = 0;
    size_t length;
    char *text = read_said(trial, "out", &length);
    for (const char *at = text; (at = strstr(at, "up\n")); at++)
        count++;
    free(text);
    return count >= launcher_np(&trial->setting->testbed, trial->plan.fault->elastic);
}

/* True if two lines are equal from `beginning` on. */
static bool is_said_twice(const char *text, const char *beginning)
{
    for (const char *at = text; (at = strstr(at, beginning)); at++) {
        char line[80];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n") + 1, at);
        if (strstr(at + 1, line))
            return true;
    }
    return false;
}

bool trial_job_is_wrong(const struct trial *trial)
{
    size_t length;
    char *text = read_said(trial, "out", &length);
    bool others_live = trial->plan.fault->victim == MEMBER_WORKER;
    bool wrong = strstr(text, "wrong\n") || (others_live && strstr(text, "failed\n")) ||
                 is_said_twice(text, "world ");
    free(text);
    return wrong;
}

void trial_job_last_line(const struct trial *trial, char *line, size_t size)
{
    size_t length;
    char *text = read_said(trial, "err", &length);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    snprintf(line, size, "%s", newline ? newline + 1 : text);
    free(text);
}

int trial_job_things(const struct trial *trial)
{
    char tmp[TRIAL_FOLDER_SIZE + 20], run[TRIAL_FOLDER_SIZE + 20];
    path_of(trial, "tmp", tmp);
    path_of(trial, "run", run);
    return leftovers_in(tmp, stdout) + leftovers_in(run, stdout);
}

static void show_stream(const struct trial *trial, const char *name, FILE *log)
{
    size_t length;
    char *text = read_said(trial, name, &length), *rest = text;
    fprintf(log, "# %s:\n", name);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            fprintf(log, "#   %s\n", line);
    free(text);
}

void trial_job_show(const struct trial *trial, FILE *log)
{
    show_stream(trial, "out", log);
    show_stream(trial, "err", log);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

void trial_job_remove(const struct trial *trial)
{
    nftw(trial->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
