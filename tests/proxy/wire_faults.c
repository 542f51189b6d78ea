/* SPDX-License-Identifier: Apache-2.0 */
/* Faults at every byte of real connections; see "wire_faults --help". Each trial is a job of its
 * own, some at a time; whatever is bad is printed with the words that repeat it. Ends with status 1
 * if anything was. */
#include "tests/proxy/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "Usage: wire_faults [OPTION...]\n"
    "Runs small jobs whose connections break at a given byte: HVDRUN, HVDRENDEZVOUSD, PROXY and\n"
    "WIRE_WORKER in the environment are the programs.\n"
    "\n"
    "  --kind agent|rendezvous|data|tree    only this connection\n"
    "  --way there|back                     only this direction\n"
    "  --fault FAULT                        only this one, as proxy has them: flip=3\n"
    "  --from N, --to N                     only these offsets; the first 8192 at most\n"
    "  --no-stall                           no stalls without an end, which take long\n"
    "  --sample N                           of all trials every so many-th, about N\n"
    "  --seed S                             which of them begins (0)\n"
    "  --plain                              no faults: one job of each kind\n"
    "  --single                             one byte at a time\n"
    "  --encrypt                            links between ranks are encrypted\n"
    "  --delay MS, --jitter MS              everything comes so much later\n"
    "  --jobs N                             at a time (4)\n"
    "  --verbose                            a line for each\n";

static const char *const kind_names[TRIAL_KINDS] = { "agent", "rendezvous", "data", "tree" };
static const char *const direction_names[RELAY_WAYS] = { "there", "back" };

/* What is tried at each offset; the last one is the stall without an end. */
static const char *const faults[] = { "cut",      "reset",  "flip=0",    "flip=3",    "flip=7",
                                      "double=5", "drop=5", "garbage=5", "stall=300", "stall" };
enum { FAULTS = sizeof faults / sizeof *faults, JOBS_MAX = 32, OFFSETS_MAX = 8192 };

static struct {
    int kind, way; /* -1: each */
    const char *fault;
    unsigned long from, to, sample, seed;
    int jobs;
    bool verbose, no_stall, plain, single, encrypt;
    unsigned delay_ms, jitter_ms;
} options = { .kind = -1, .way = -1, .to = OFFSETS_MAX, .jobs = 4 };

static struct trial_programs programs;

struct slot {
    pid_t pid; /* 0: free */
    int result;
    struct trial trial;
};

static struct slot slots[JOBS_MAX];
static unsigned long tally[TRIAL_KINDS][TRIAL_BAD + 1];
static unsigned long slowest_ms[TRIAL_KINDS];

/* ---- options ---- */

static void refuse(const char *option, const char *token, const char *expected)
{
    fprintf(stderr, "wire_faults: error: %s '%s': expected %s\n", option, token, expected);
    exit(2);
}

static int find(const char *option, const char *token, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], token) == 0)
            return i;
    refuse(option, token, "one of those in --help");
    return -1;
}

static unsigned long number(const char *option, const char *token)
{
    char *end;
    unsigned long value = strtoul(token, &end, 10);
    if (token[0] < '0' || token[0] > '9' || *end)
        refuse(option, token, "a number");
    return value;
}

static const struct option long_options[] = {
    { "kind", required_argument, NULL, 'k' },
    { "way", required_argument, NULL, 'w' },
    { "fault", required_argument, NULL, 'f' },
    { "from", required_argument, NULL, 'a' },
    { "to", required_argument, NULL, 'b' },
    { "sample", required_argument, NULL, 's' },
    { "seed", required_argument, NULL, 'e' },
    { "jobs", required_argument, NULL, 'j' },
    { "no-stall", no_argument, NULL, 'n' },
    { "verbose", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, 'h' },
    { "plain", no_argument, NULL, 'p' },
    { "single", no_argument, NULL, 'i' },
    { "delay", required_argument, NULL, 'd' },
    { "jitter", required_argument, NULL, 'r' },
    { "encrypt", no_argument, NULL, 'c' },
    { 0 },
};

static void take_option(int option)
{
    switch (option) {
    case 'k':
        options.kind = find("--kind", optarg, kind_names, TRIAL_KINDS);
        break;
    case 'w':
        options.way = find("--way", optarg, direction_names, RELAY_WAYS);
        break;
    case 'f':
        options.fault = optarg;
        break;
    case 'a':
        options.from = number("--from", optarg);
        break;
    case 'b':
        options.to = number("--to", optarg);
        break;
    case 's':
        options.sample = number("--sample", optarg);
        break;
    case 'e':
        options.seed = number("--seed", optarg);
        break;
    case 'j':
        options.jobs = (int)number("--jobs", optarg);
        if (options.jobs < 1 || options.jobs > JOBS_MAX)
            refuse("--jobs", optarg, "1 to 32");
        break;
    case 'v':
        options.verbose = true;
        break;
    case 'p':
        options.plain = true;
        break;
    case 'i':
        options.single = true;
        break;
    case 'c':
        options.encrypt = true;
        break;
    case 'd':
        options.delay_ms = (unsigned)number("--delay", optarg);
        break;
    case 'r':
        options.jitter_ms = (unsigned)number("--jitter", optarg);
        break;
    case 'n':
        options.no_stall = true;
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    default:
        exit(2);
    }
}

static const char *program(const char *name)
{
    const char *path = getenv(name);
    if (!path || !*path)
        refuse("environment", name, "the path of that program");
    return path;
}

/* ---- the service ---- */

/* How long it waits for ranks: where there is no fault, nothing may be given up; with one, that is
 * the end of many trials. */
#define PATIENT "50"
#define IMPATIENT "5"

static char folder[200], key_file[220], port_file[220];
static pid_t service; /* 0: none */

static void run_and_wait(char *const words[])
{
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        execv(words[0], words);
        _exit(126);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        refuse("environment", words[0], "a program that works");
}

static void read_port(void)
{
    FILE *file = NULL;
    for (int i = 0; i < 1000 && (!file || fscanf(file, "%d", &programs.port) != 1); i++) {
        if (file)
            fclose(file);
        usleep(10000);
        file = fopen(port_file, "r");
    }
    if (file)
        fclose(file);
    if (programs.port == 0)
        refuse("environment", "HVDRENDEZVOUSD", "a service that starts");
}

/* Also when this program gives up: nothing is left of the service, nor its key. */
static void clean_up(void)
{
    if (service > 0) {
        kill(service, SIGTERM);
        waitpid(service, NULL, 0);
    }
    unlink(key_file);
    unlink(port_file);
    rmdir(folder);
}

static void make_key(void)
{
    const char *parent = getenv("TMPDIR");
    umask(077);
    snprintf(folder, sizeof folder, "%s/wire_faults.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        refuse("environment", folder, "a place for files");
    snprintf(key_file, sizeof key_file, "%s/key", folder);
    snprintf(port_file, sizeof port_file, "%s/port", folder);
    atexit(clean_up);
    run_and_wait((char *[]){ (char *)programs.rendezvousd, "--new-key", key_file, NULL });
    programs.key_file = key_file;
    programs.folder = folder;
}

static void start_service(const char *start_timeout)
{
    const char *path = programs.rendezvousd;
    programs.port = 0;
    unlink(port_file);
    service = fork();
    if (service == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execl(path, path, "--key-file", key_file, "--port-file", port_file, "--listen",
              "127.0.0.1:0", "--start-timeout", start_timeout, (char *)NULL);
        _exit(126);
    }
    read_port();
}

/* True if it has served until now and ends well. */
static bool stop_service(void)
{
    int status = -1;
    kill(service, SIGTERM);
    waitpid(service, &status, 0);
    service = 0;
    if (status != 0)
        printf("bad: hvdrendezvousd ended with wait status %d\n", status);
    return status == 0;
}

/* ---- trials ---- */

static void print_trial(const struct trial *trial, const struct trial_result *result)
{
    static const char *const ends[] = { "well", "ended", "false", "bad" };
    const char *name = wire_act_name(trial->fault.act);
    printf("%s: --kind %s --way %s --from %llu --to %llu --fault %s=%llu  %u ms  %s\n",
           ends[result->end], kind_names[trial->kind], direction_names[trial->way],
           (unsigned long long)trial->fault.offset, (unsigned long long)trial->fault.offset + 1,
           name, (unsigned long long)trial->fault.argument, result->elapsed_ms, result->said);
    fflush(stdout);
}

/* Data that is not encrypted has no sum of ours, and what comes over an agent's link is proved by
 * ssh, which is not there: nobody has promised to see other bytes of the same kind. */
static bool may_be_false(const struct trial *trial)
{
    return (trial->kind == TRIAL_DATA && !trial->encrypted) || trial->kind == TRIAL_AGENT;
}

static void finish_slot(struct slot *slot)
{
    struct trial_result result;
    ssize_t nbytes = read(slot->result, &result, sizeof result);
    int status;
    if (nbytes != (ssize_t)sizeof result) {
        result = (struct trial_result){ .end = TRIAL_BAD };
        snprintf(result.said, sizeof result.said, "the trial itself broke");
    }
    close(slot->result);
    waitpid(slot->pid, &status, 0);
    slot->pid = 0;
    if (result.end == TRIAL_FALSE && !may_be_false(&slot->trial))
        result.end = TRIAL_BAD;
    tally[slot->trial.kind][result.end]++;
    if (result.elapsed_ms > slowest_ms[slot->trial.kind])
        slowest_ms[slot->trial.kind] = result.elapsed_ms;
    if (options.verbose || result.end == TRIAL_BAD)
        print_trial(&slot->trial, &result);
}

/* Waits for one that is ready; -1 if none runs. */
static void finish_one(void)
{
    struct pollfd fds[JOBS_MAX];
    for (int i = 0; i < JOBS_MAX; i++)
        fds[i] = (struct pollfd){ .fd = slots[i].pid ? slots[i].result : -1, .events = POLLIN };
    poll(fds, JOBS_MAX, -1);
    for (int i = 0; i < JOBS_MAX; i++)
        if (fds[i].revents)
            finish_slot(&slots[i]);
}

static struct slot *free_slot(void)
{
    for (;;) {
        for (int i = 0; i < options.jobs; i++)
            if (slots[i].pid == 0)
                return &slots[i];
        finish_one();
    }
}

static bool any_runs(void)
{
    for (int i = 0; i < JOBS_MAX; i++)
        if (slots[i].pid)
            return true;
    return false;
}

static void begin(const struct trial *trial)
{
    struct slot *slot = free_slot();
    int result[2];
    if (pipe2(result, O_CLOEXEC) < 0)
        refuse("system", "pipe", "a descriptor");
    slot->trial = *trial;
    slot->result = result[0];
    fflush(stdout);
    slot->pid = fork();
    if (slot->pid == 0) {
        struct trial_result found;
        trial_run(trial, &programs, &found);
        ssize_t written = write(result[1], &found, sizeof found);
        _exit(written == (ssize_t)sizeof found ? 0 : 1);
    }
    close(result[1]);
}

/* How many bytes go each way when nothing is wrong. */
static void measure(int kind, uint64_t moved[RELAY_WAYS])
{
    struct trial trial = { .kind = (enum trial_kind)kind,
                           .single = options.single,
                           .encrypted = options.encrypt,
                           .delay_ms = options.delay_ms,
                           .jitter_ms = options.jitter_ms };
    struct trial_result result = { .end = TRIAL_BAD };
    int pipes[2], status;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        refuse("system", "pipe", "a descriptor");
    pid_t pid = fork();
    if (pid == 0) {
        trial_run(&trial, &programs, &result);
        _exit(write(pipes[1], &result, sizeof result) < 0);
    }
    close(pipes[1]);
    (void)!read(pipes[0], &result, sizeof result);
    close(pipes[0]);
    waitpid(pid, &status, 0);
    if (result.end != TRIAL_WELL) {
        printf("bad: %s: without a fault: %s\n", kind_names[kind], result.said);
        exit(1);
    }
    memcpy(moved, result.moved, sizeof result.moved);
    tally[kind][TRIAL_WELL]++;
    slowest_ms[kind] = result.elapsed_ms;
}

typedef void trial_fn(const struct trial *trial);

static unsigned long trials_seen, trial_stride = 1;

static void count_trial(const struct trial *trial)
{
    (void)trial;
    trials_seen++;
}

static void maybe_begin(const struct trial *trial)
{
    if (trials_seen++ % trial_stride == options.seed % trial_stride)
        begin(trial);
}

static void each_fault(struct trial trial, uint64_t offset, trial_fn *act)
{
    char text[64];
    int count = options.fault ? 1 : options.no_stall ? FAULTS - 1 : FAULTS;
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%llu:%s", (unsigned long long)offset,
                 options.fault ? options.fault : faults[i]);
        const char *expected = wire_fault_parse(&trial.fault, text);
        if (expected)
            refuse("--fault", options.fault, expected);
        act(&trial);
    }
}

static void each_trial(trial_fn *act, uint64_t lengths[TRIAL_KINDS][RELAY_WAYS])
{
    trials_seen = 0;
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        for (int way = 0; way < RELAY_WAYS; way++) {
            if ((options.kind >= 0 && kind != options.kind) ||
                (options.way >= 0 && way != options.way))
                continue;
            struct trial trial = { .kind = (enum trial_kind)kind,
                                   .way = way,
                                   .single = options.single,
                                   .encrypted = options.encrypt,
                                   .delay_ms = options.delay_ms,
                                   .jitter_ms = options.jitter_ms };
            for (uint64_t at = options.from; at < lengths[kind][way] && at < options.to; at++)
                each_fault(trial, at, act);
        }
}

static void find_lengths(uint64_t lengths[TRIAL_KINDS][RELAY_WAYS])
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        if (options.kind < 0 || kind == options.kind)
            measure(kind, lengths[kind]);
}

static bool print_tally(void)
{
    bool good = true;
    printf("%-12s %8s %8s %8s %8s %8s %12s\n", "connection", "trials", "well", "ended", "false",
           "bad", "longest ms");
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        const unsigned long *of = tally[kind];
        unsigned long all = of[TRIAL_WELL] + of[TRIAL_ENDED] + of[TRIAL_FALSE] + of[TRIAL_BAD];
        if (all > 0)
            printf("%-12s %8lu %8lu %8lu %8lu %8lu %12lu\n", kind_names[kind], all, of[TRIAL_WELL],
                   of[TRIAL_ENDED], of[TRIAL_FALSE], of[TRIAL_BAD], slowest_ms[kind]);
        good &= of[TRIAL_BAD] == 0;
    }
    return good;
}

int main(int argc, char **argv)
{
    uint64_t lengths[TRIAL_KINDS][RELAY_WAYS] = { { 0 } };
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
        take_option(option);
    programs = (struct trial_programs){ .hvdrun = program("HVDRUN"),
                                        .rendezvousd = program("HVDRENDEZVOUSD"),
                                        .proxy = program("PROXY"),
                                        .worker = program("WIRE_WORKER") };
    signal(SIGPIPE, SIG_IGN);
    make_key();
    start_service(PATIENT);
    find_lengths(lengths);
    if (options.plain) {
        memset(lengths, 0, sizeof lengths);
    } else {
        if (!stop_service())
            return 1;
        start_service(IMPATIENT);
    }
    each_trial(count_trial, lengths);
    if (options.sample > 0 && trials_seen > options.sample)
        trial_stride = trials_seen / options.sample;
    /* Every fault has its turn: of 10, or 9. */
    while (trial_stride > 1 &&
           (trial_stride % 2 == 0 || trial_stride % 3 == 0 || trial_stride % 5 == 0))
        trial_stride++;
    each_trial(maybe_begin, lengths);
    while (any_runs())
        finish_one();
    bool good = print_tally();
    return stop_service() && good ? 0 : 1;
}
