/* SPDX-License-Identifier: Apache-2.0 */
/* chaos: starts real jobs, hits each with a fault at a random moment, and judges what is left.
 *
 *   options -> plan (drawn from a seed) -> trial -> oracle -> tally
 *
 * A line is printed for each trial; for one that fails also what it said, who was left, and how to
 * do it again. The exit status is 1 if a trial failed, 2 for bad options, 3 if nothing works. */
#include "tests/chaos/options.h"
#include "tests/chaos/tally.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <unistd.h>

/* How long to wait between looks at all processes, which take some milliseconds: with one trial at
 * a time what counts is when it is over, with several what is left of the machine. */
enum { CHECK_AGAIN_US = 1000, CHECK_LAZILY_US = 6000, JOBS_MAX = 64 };

struct campaign {
    struct options options;
    struct census census;
    struct tally tally;
    struct trial running[JOBS_MAX];
    bool busy[JOBS_MAX];
    int nrunning, nstarted;
    uint64_t began_us;
    bool broken; /* no job can be started */
};

static volatile sig_atomic_t told_to_stop;

static void on_signal(int signum)
{
    told_to_stop = signum;
}

/* Where cgroup v2 is mounted, here and from now on; others do not see it. */
static bool hide_control_groups(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    umount2("/sys/fs/cgroup/unified", MNT_DETACH);
    umount2("/sys/fs/cgroup", MNT_DETACH);
    return true;
}

static const char *make_folder(void)
{
    static char folder[200];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/chaos.XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder);
}

static bool is_over(const struct campaign *campaign)
{
    const struct options *options = &campaign->options;
    uint64_t passed_us = trial_now_us() - campaign->began_us;
    return told_to_stop || campaign->broken ||
           (options->trials > 0 && campaign->nstarted == options->trials) ||
           (options->seconds > 0 && passed_us > (uint64_t)options->seconds * 1000000);
}

static void start_one(struct campaign *campaign, int slot)
{
    struct options *options = &campaign->options;
    uint64_t seed = options->seed + (uint64_t)campaign->nstarted;
    struct plan plan = plan_draw(seed, &options->choices);
    unsigned long token = (unsigned long)getpid() * 1000000 + (unsigned long)++campaign->nstarted;
    campaign->busy[slot] = trial_start(&campaign->running[slot], &options->setting, &plan, token);
    campaign->broken = !campaign->busy[slot];
    campaign->nrunning += campaign->busy[slot];
}

static void print_trial(const struct trial *trial)
{
    char text[120], how[40] = "never ends";
    plan_text(&trial->plan, text, sizeof text);
    if (trial->outcome.ended)
        snprintf(how, sizeof how, "status %d", oracle_status(trial->outcome.wait_status));
    printf("%s seed %-12llu %s: %s, %s after %.0f ms%s%s\n", trial->good ? "ok  " : "FAIL",
           (unsigned long long)trial->plan.seed, text, how,
           trial->outcome.left ? "gave up" : "clean", trial->clean_ms,
           !trial->missed       ? ""
           : trial->outcome.hit ? "; goes on with another"
                                : "; no victim",
           trial->good ? "" : "; ");
    if (trial->good)
        return;
    printf("# %s\n# last line: %s\n# again: --seed %llu --trials 1 and the same other options\n",
           trial->why, trial->outcome.last_line, (unsigned long long)trial->plan.seed);
}

static void finish_one(struct campaign *campaign, int slot)
{
    struct trial *trial = &campaign->running[slot];
    if (trial->state == TRIAL_OVER) { /* else we were told to stop */
        print_trial(trial);
        tally_add(&campaign->tally, trial);
    }
    trial_finish(trial, &campaign->census, stdout);
    campaign->busy[slot] = false;
    campaign->nrunning--;
    fflush(stdout);
}

static void look_around(struct campaign *campaign)
{
    census_take(&campaign->census);
    for (int i = 0; i < campaign->options.jobs; i++) {
        if (!campaign->busy[i])
            continue;
        trial_step(&campaign->running[i], &campaign->census, campaign->nrunning == 1);
        if (campaign->running[i].state == TRIAL_OVER || told_to_stop)
            finish_one(campaign, i);
    }
    usleep(campaign->options.jobs == 1 ? CHECK_AGAIN_US : CHECK_LAZILY_US);
}

static void run(struct campaign *campaign)
{
    campaign->began_us = trial_now_us();
    while (!is_over(campaign) || campaign->nrunning > 0) {
        for (int i = 0; i < campaign->options.jobs && !is_over(campaign); i++)
            if (!campaign->busy[i])
                start_one(campaign, i);
        look_around(campaign);
    }
    campaign->tally.things += leftovers_look(&campaign->options.setting.leftovers, stdout);
}

static int prepare(struct options *options)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!options->has_seed && getrandom(&options->seed, 4, 0) != 4)
        options->seed = (uint64_t)getpid();
    if (options->uncontained && !hide_control_groups()) {
        fprintf(stderr, "chaos: --uncontained: %s\n", strerror(errno));
        return 3;
    }
    if (!testbed_adopt(&options->setting.testbed)) {
        fprintf(stderr, "chaos: --host: %s\n", strerror(errno));
        return 3;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct campaign campaign;
    struct options *options = &campaign.options;
    (void)argc;
    int status = options_parse(options, argv);
    if (status >= 0)
        return status;
    const char *own_folder = options->setting.folder ? NULL : make_folder();
    if (own_folder)
        options->setting.folder = own_folder;
    if (!options->setting.folder || prepare(options) != 0)
        return 3;
    census_init(&campaign.census);
    tally_init(&campaign.tally);
    run(&campaign);
    tally_print(&campaign.tally, options->setting.launcher, options->choices.hosts);
    bool good = campaign.tally.failed == 0 && campaign.tally.things == 0 && !told_to_stop;
    if (own_folder)
        rmdir(own_folder);
    tally_fini(&campaign.tally);
    census_fini(&campaign.census);
    leftovers_fini(&options->setting.leftovers);
    return campaign.broken ? 3 : !good;
}
