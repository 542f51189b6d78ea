/* SPDX-License-Identifier: Apache-2.0 */
/* Fails every call of a job in turn, one job for each, and counts how many of these jobs ended as
 * they must (verdict.c).
 *
 *   enumerate --preload LIBRARIES [OPTION...] COMMAND...
 *
 *   --role R --call C --fault F   only these; each may be given several times
 *   --k N                         only the N-th; 0: every one at once
 *   --jobs N       so many at a time (2)
 *   --sample N     so many of all there are, evenly spread
 *   --bound S      a job that takes longer hangs (60)
 *   --log FILE     a line for every job
 *   --list         counts only
 *   --verbose      shows what each job wrote to stderr
 *
 * A first job counts the calls that could fail; then k goes from 1 until a job does not get there
 * any more: how many calls a job makes is not always the same. Ends with 1 if some job did not end
 * as it must, and with 2 if it cannot begin. */
#include "tests/shim/points.h"
#include "tests/shim/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 16 };

/* A place in which one job runs at a time. */
struct slot {
    char path[64];
    struct shim_board *board;
    struct shim_point point;
    pid_t runner;
};

struct enumeration {
    struct trial_setup setup;
    struct points points;
    struct golden golden;
    struct slot slots[MAX_JOBS];
    int jobs, log;
    bool list, verbose;
    unsigned held, broken, missed;
};

static void fail(const char *what)
{
    fprintf(stderr, "enumerate: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void open_slot(struct slot *slot)
{
    const char *folder = getenv("TMPDIR");
    snprintf(slot->path, sizeof slot->path, "%s/hvd-shim.XXXXXX", folder ? folder : "/tmp");
    int fd = mkostemp(slot->path, O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof *slot->board) < 0)
        fail(slot->path);
    slot->board = mmap(NULL, sizeof *slot->board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (slot->board == MAP_FAILED)
        fail("mmap");
    close(fd);
}

static void close_slots(struct enumeration *all)
{
    for (int i = 0; i < all->jobs; i++)
        unlink(all->slots[i].path);
}

/* One line for the log, in one piece. */
static void log_trial(const struct enumeration *all, const struct shim_point *point,
                      const struct trial *trial, const char *complaint)
{
    char name[96], words[400], line[700];
    int status = trial->wait_status;
    int length = snprintf(line, sizeof line, "%s\t%s\t%d\t%.2f s\t%s\n",
                          point_name(point, name, sizeof name), complaint ? complaint : "held",
                          WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                          trial->seconds, trial_last_line(trial, words, sizeof words));
    ssize_t ignored = write(all->log, line, (size_t)length);
    (void)ignored;
}

/* In the runner: has it held? */
static bool judge(const struct enumeration *all, struct slot *slot)
{
    struct trial trial;
    char name[96];
    struct trial_setup setup = all->setup;
    setup.board = slot->path;
    if (!trial_run(&setup, &trial))
        fail("job");
    trial.speechless = slot->point.role == SHIM_ROLE_LAUNCHER && slot->board->fd == STDERR_FILENO;
    const char *complaint = trial_complaint(&trial, &all->golden);
    bool reached = atomic_load(&slot->board->done) > 0;
    if (all->log >= 0 && reached)
        log_trial(all, &slot->point, &trial, complaint);
    if (complaint || (all->verbose && reached))
        printf("%s: %s (status 0x%x, %.2f s)\n%s\n", point_name(&slot->point, name, sizeof name),
               complaint ? complaint : "held", (unsigned)trial.wait_status, trial.seconds,
               trial.err);
    fflush(stdout);
    trial_fini(&trial);
    return !complaint;
}

static void reset(struct slot *slot, const struct shim_point *point)
{
    memset(slot->board, 0, sizeof *slot->board);
    slot->board->point = slot->point = *point;
}

static void begin(struct enumeration *all, struct slot *slot, const struct shim_point *point)
{
    reset(slot, point);
    fflush(stdout);
    slot->runner = fork();
    if (slot->runner < 0)
        fail("fork");
    if (slot->runner == 0)
        _exit(judge(all, slot) ? 0 : 1);
}

/* Counts calls, and takes what the job wrote for what it is to write. */
static void count_calls(struct enumeration *all)
{
    static const struct shim_point none = { -1, -1, -1, 0 };
    struct slot *slot = &all->slots[0];
    reset(slot, &none);
    struct trial trial;
    struct trial_setup setup = all->setup;
    setup.board = slot->path;
    if (!trial_run(&setup, &trial) || trial.hung || trial.wait_status != 0) {
        fprintf(stderr, "enumerate: the job fails without faults: status 0x%x\n%s",
                (unsigned)trial.wait_status, trial.err);
        close_slots(all);
        exit(2);
    }
    all->golden = golden_of(&trial);
    trial_fini(&trial);
    points_count(&all->points, slot->board);
}

/* Waits for one job. */
static void end_one(struct enumeration *all)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    for (int i = 0; i < all->jobs; i++) {
        struct slot *slot = &all->slots[i];
        if (slot->runner != pid)
            continue;
        slot->runner = 0;
        bool reached = atomic_load(&slot->board->done) > 0;
        points_tried(&all->points, &slot->point, reached);
        if (status != 0)
            all->broken++;
        else if (reached)
            all->held++;
        else
            all->missed++;
    }
}

static struct slot *free_slot(struct enumeration *all)
{
    for (int i = 0; i < all->jobs; i++)
        if (all->slots[i].runner == 0)
            return &all->slots[i];
    return NULL;
}

static bool any_runs(const struct enumeration *all)
{
    for (int i = 0; i < all->jobs; i++)
        if (all->slots[i].runner)
            return true;
    return false;
}

static void try_all(struct enumeration *all)
{
    struct shim_point point;
    do {
        struct slot *slot;
        while ((slot = free_slot(all)) && points_next(&all->points, &point))
            begin(all, slot, &point);
        if (any_runs(all))
            end_one(all);
    } while (any_runs(all));
}

static void usage(void)
{
    fputs("usage: enumerate --preload LIBRARIES [OPTION...] COMMAND...; see enumerate.c\n", stderr);
    exit(2);
}

static void read_options(struct enumeration *all, int argc, char **argv)
{
    static const struct option options[] = {
        { "preload", 1, NULL, 'p' }, { "role", 1, NULL, 'r' },    { "call", 1, NULL, 'c' },
        { "fault", 1, NULL, 'f' },   { "k", 1, NULL, 'k' },       { "jobs", 1, NULL, 'j' },
        { "sample", 1, NULL, 's' },  { "bound", 1, NULL, 'b' },   { "log", 1, NULL, 'l' },
        { "list", 0, NULL, 'L' },    { "verbose", 0, NULL, 'v' }, { 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        bool known = true;
        switch (option) {
        case 'p':
            all->setup.preload = optarg;
            break;
        case 'r':
        case 'c':
        case 'f':
            known = points_choose(&all->points, option, optarg);
            break;
        case 'k':
            all->points.k = atoi(optarg);
            break;
        case 'j':
            all->jobs = atoi(optarg);
            break;
        case 's':
            all->points.sample = (unsigned)atoi(optarg);
            break;
        case 'b':
            all->setup.bound_s = atoi(optarg);
            break;
        case 'l':
            all->log = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
            break;
        case 'L':
            all->list = true;
            break;
        case 'v':
            all->verbose = true;
            break;
        default:
            known = false;
        }
        if (!known) {
            if (optarg)
                fprintf(stderr, "enumerate: error: '%s' is not known\n", optarg);
            usage();
        }
    }
    all->setup.command = argv + optind;
    if (!all->setup.preload || !argv[optind] || all->jobs < 1 || all->jobs > MAX_JOBS)
        usage();
}

int main(int argc, char **argv)
{
    static struct enumeration all = { .jobs = 2, .log = -1, .setup = { .bound_s = 60 } };
    points_init(&all.points);
    read_options(&all, argc, argv);
    for (int i = 0; i < all.jobs; i++)
        open_slot(&all.slots[i]);
    count_calls(&all);
    if (all.list)
        points_list(&all.points);
    else
        try_all(&all);
    close_slots(&all);
    if (!all.list)
        printf("%u injection points: %u held, %u did not; %u jobs did not reach theirs\n",
               all.held + all.broken, all.held, all.broken, all.missed);
    golden_fini(&all.golden);
    return all.broken ? 1 : 0;
}
