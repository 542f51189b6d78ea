/* SPDX-License-Identifier: Apache-2.0 */
/* A table of options; see options.h. Each takes a value but for those without its name. */
#include "tests/chaos/options.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_MAX = 100000000, JOBS_MAX = 64 };

static bool number(const char *text, int least, int most, int *value)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < least || n > most)
        return false;
    *value = (int)n;
    return true;
}

static bool take_trials(struct options *options, const char *text)
{
    return number(text, 0, NUMBER_MAX, &options->trials);
}

static bool take_seed(struct options *options, const char *text)
{
    char *end;
    errno = 0;
    options->seed = strtoull(text, &end, 10);
    options->has_seed = true;
    return !errno && end != text && !*end && *text != '-';
}

static bool take_jobs(struct options *options, const char *text)
{
    return number(text, 1, JOBS_MAX, &options->jobs);
}

static bool take_seconds(struct options *options, const char *text)
{
    return number(text, 0, NUMBER_MAX, &options->seconds);
}

static bool take_fault(struct options *options, const char *text)
{
    options->choices.fault = fault_find(text);
    return options->choices.fault >= 0;
}

static bool take_kind(struct options *options, const char *text)
{
    options->choices.kind = worker_kind_find(text);
    return options->choices.kind >= 0;
}

static bool take_phase(struct options *options, const char *text)
{
    for (int i = 0; i < PHASES; i++)
        if (strcmp(phase_name((enum phase)i), text) == 0)
            options->choices.phase = i;
    return options->choices.phase >= 0;
}

static bool take_launcher(struct options *options, const char *text)
{
    options->setting.launcher = launcher_find(text);
    return options->setting.launcher != NULL;
}

static bool take_program(struct options *options, const char *text)
{
    options->setting.program = text;
    return true;
}

static bool take_worker(struct options *options, const char *text)
{
    options->setting.worker = text;
    return access(text, X_OK) == 0;
}

static bool take_host(struct options *options, const char *text)
{
    options->choices.hosts = true;
    return testbed_add(&options->setting.testbed, text);
}

static bool take_watch(struct options *options, const char *text)
{
    leftovers_watch(&options->setting.leftovers, text);
    return true;
}

static bool take_folder(struct options *options, const char *text)
{
    options->setting.folder = text;
    return access(text, W_OK) == 0;
}

static bool take_slow(struct options *options, const char *text)
{
    (void)text;
    options->choices.slow = true;
    return true;
}

static bool take_elastic(struct options *options, const char *text)
{
    (void)text;
    options->choices.elastic = true;
    return true;
}

static bool take_uncontained(struct options *options, const char *text)
{
    (void)text;
    options->uncontained = true;
    return true;
}

static const struct {
    const char *name, *value, *help;
    bool (*take)(struct options *options, const char *text);
} table[] = {
    { "trials", "N", "so many; 0: until --seconds are over (100)", take_trials },
    { "seconds", "N", "begins no trial later", take_seconds },
    { "seed", "N", "of the first; the next has N + 1 (random)", take_seed },
    { "jobs", "N", "so many at once (8, on hosts 1)", take_jobs },
    { "fault", "NAME", "only this of the faults below", take_fault },
    { "kind", "NAME", "only this of the kinds below", take_kind },
    { "phase", "NAME", "only then: begin, running or end", take_phase },
    { "slow", NULL, "also faults that take long to be noticed", take_slow },
    { "elastic", NULL, "elastic jobs, and what is done to these", take_elastic },
    { "launcher", "NAME", "hvdrun, mpirun or mpiexec.mpich", take_launcher },
    { "program", "PATH", "of the launcher (its name)", take_program },
    { "worker", "PATH", "of chaos_worker (beside this program)", take_worker },
    { "host", "NAME=PID", "a host, by its first process; the launcher is on the first", take_host },
    { "watch", "FOLDER", "in which nothing may be left, while one trial runs", take_watch },
    { "folder", "FOLDER", "for what jobs say (a new one in TMPDIR)", take_folder },
    { "uncontained", NULL, "hides control groups (cgroup v2) from hvdrun; as root",
      take_uncontained },
};

enum { TABLE = sizeof table / sizeof *table };

static void print_help(void)
{
    puts(
        "Usage: chaos [OPTION...]\n"
        "Starts jobs, hits each with a fault at a random moment, and judges what is left of it.\n");
    for (int i = 0; i < TABLE; i++) {
        char name[40];
        snprintf(name, sizeof name, "--%s %s", table[i].name, table[i].value ? table[i].value : "");
        printf("  %-18s %s\n", name, table[i].help);
    }
    fputs("\nFaults:", stdout);
    for (int i = 0; i < fault_count; i++)
        printf(" %s", faults[i].name);
    fputs("\nKinds:", stdout);
    for (int i = 0; i < worker_kind_count; i++)
        printf(" %s", worker_kinds[i].name);
    puts("");
}

static int refuse(const char *token, const char *expected)
{
    fprintf(stderr, "chaos: error: '%s': expected %s\n", token, expected);
    return 2;
}

static int find(const char *word)
{
    for (int i = 0; i < TABLE && strncmp(word, "--", 2) == 0; i++)
        if (strcmp(word + 2, table[i].name) == 0)
            return i;
    return -1;
}

/* "chaos_worker" in the folder of this program. */
static const char *default_worker(void)
{
    static char path[4200];
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    snprintf(path, sizeof path, "%s/chaos_worker", dirname(own));
    return path;
}

static void set_defaults(struct options *options)
{
    *options =
        (struct options){ .trials = 100, .choices = { .fault = -1, .kind = -1, .phase = -1 } };
    options->setting.launcher = launcher_find("hvdrun");
}

static int complete(struct options *options)
{
    struct trial_setting *setting = &options->setting;
    const struct plan_choices *choices = &options->choices;
    if (!setting->program)
        setting->program = setting->launcher->program;
    if (!setting->worker && !take_worker(options, default_worker()))
        return refuse(setting->worker, "--worker with a program");
    if (choices->elastic && !setting->launcher->ours)
        return refuse("--elastic", "together with hvdrun");
    if ((choices->fault >= 0 && faults[choices->fault].elastic != choices->elastic) ||
        (choices->kind >= 0 && worker_kinds[choices->kind].elastic != choices->elastic))
        return refuse("--elastic",
                      "together with faults and kinds that are elastic, and no others");
    if (options->jobs == 0)
        options->jobs = choices->hosts ? 1 : 8;
    if (choices->hosts && options->jobs > 1)
        return refuse("--jobs", "1 on hosts");
    if (choices->fault >= 0 && faults[choices->fault].hosts_only && setting->testbed.nhosts < 2)
        return refuse(faults[choices->fault].name, "--host twice");
    return -1;
}

int options_parse(struct options *options, char **argv)
{
    set_defaults(options);
    while (*++argv) {
        if (strcmp(*argv, "--help") == 0) {
            print_help();
            return EXIT_SUCCESS;
        }
        int i = find(*argv);
        if (i < 0)
            return refuse(*argv, "an option of --help");
        const char *value = table[i].value ? argv[1] : "";
        if (!value || !table[i].take(options, value))
            return refuse(value ? value : *argv, table[i].help);
        argv += table[i].value != NULL;
    }
    return complete(options);
}
