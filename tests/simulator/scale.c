/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane of a large job in virtual time: how long it takes to start, to meet, to hear of
 * a death, and to end.
 *
 *   scale [--latency-ms MS] [--mbit N] [--message-us US] [--frame-us US] [--connect-ms MS]
 *         [--width W] [HOSTS RANKS_PER_HOST]...
 *
 * Prints a TSV line for each size and for each of two ways:
 *
 *   flat    hvdrun has a connection to every agent
 *   tree    an agent starts at most W others; hvdrun speaks to each through those above it, and what
 *           is the same for all goes once over each link: the description of the job, START and STOP
 *
 * In both what a host says or gets at one time is one message (scale_net.h).
 *
 * The job starts in scale_job.c; scale_ranks.c has what comes then. Decided by the real code: when
 * it starts, stops and ends (launcher/verdict/job_state.h), who is told what
 * (rendezvous/world/membership.h); lengths are those of the protocols' encoders (scale_sizes.h).
 * Links and the work of the programs are scale_net.h's. doc/scale.md has the assumptions and
 * results.
 *
 * Without sizes: the test of the check, TAP: small jobs, and how they grow. */
#include "launcher/tree/host_tree.h"
#include "tests/simulator/scale_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[MODES] = { "flat", "tree" };

/* Milliseconds. */
struct times {
    double start, join, death, agent, host, end;

    uint64_t root_messages;
};

/* ---- a job ---- */

enum scenario { DEATH, LOST_AGENT, LOST_HOST, END, SCENARIOS };

static double run_scenario(struct scale *scale, enum scenario scenario)
{
    switch (scenario) {
    case DEATH:
        return scale_run_death(scale);
    case LOST_AGENT:
        return scale_run_lost_host(scale, 0);
    case LOST_HOST:
        return scale_run_lost_host(scale, scale->settings->heartbeat_timeout_ms);
    default:
        return scale_run_end(scale);
    }
}

/* A job for each scenario: none goes on after one. */
static struct times measure(const struct scale_settings *settings, enum scale_mode mode, int nhosts,
                            int local_size)
{
    struct times times = { 0 };
    double *const of[SCENARIOS] = { &times.death, &times.agent, &times.host, &times.end };
    for (int scenario = 0; scenario < SCENARIOS; scenario++) {
        struct scale scale;
        scale_init(&scale, settings, mode, nhosts, local_size);
        times.start = scale_run_start(&scale);
        times.join = scale_run_join(&scale);
        *of[scenario] = run_scenario(&scale, (enum scenario)scenario);
        times.root_messages = scale.net.root_messages;
        scale_fini(&scale);
    }
    return times;
}

static void print_row(enum scale_mode mode, int nhosts, int local_size, const struct times *times)
{
    printf("%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%llu\n", mode_names[mode], nhosts,
           local_size, times->start, times->join, times->death, times->agent, times->host,
           times->end, (unsigned long long)times->root_messages);
    fflush(stdout);
}

/* ---- the check ---- */

static int test_number, tests_failed;

static void tell(bool fine, const char *sentence)
{
    printf("%sok %d - %s\n", fine ? "" : "not ", ++test_number, sentence);
    tests_failed += !fine;
}

/* 64 times as many hosts are two and a half times as many levels. */
static int check(const struct scale_settings *settings)
{
    static const int sizes[] = { 16, 1024 };
    struct scale_settings narrow = *settings;
    struct times times[MODES][2];
    narrow.width = 4;
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < 2; i++)
            times[mode][i] = measure(&narrow, (enum scale_mode)mode, sizes[i], 2);
    const struct times *tree = times[TREE], *flat = times[FLAT];
    tell(true, "flat and tree jobs start, meet, fail and end"); /* or scale_must() ends */
    tell(tree[1].start < 4 * tree[0].start, "the start of a tree grows with the levels");
    tell(flat[1].start > 10 * flat[0].start, "that of a flat job grows with the hosts");
    tell(tree[1].death < 4 * tree[0].death, "and so does the time until all know of a death");
    tell(flat[1].end > 10 * flat[0].end, "an end grows with the ranks");
    tell(tree[1].host >= narrow.heartbeat_timeout_ms,
         "a silent host is known after the heartbeat timeout");
    struct times one = measure(&narrow, FLAT, sizes[0], 1),
                 eight = measure(&narrow, FLAT, sizes[0], 8);
    tell(eight.root_messages <= one.root_messages + 1, /* the last rank need not wait */
         "a host takes as many messages, however many ranks it has");
    struct times again = measure(&narrow, TREE, sizes[0], 2);
    tell(memcmp(&again, &tree[0], sizeof again) == 0, "a job takes the same time each time");
    printf("1..%d\n", test_number);
    return tests_failed > 0;
}

static void __attribute__((noreturn)) usage(void)
{
    fputs("usage: scale [--latency-ms MS] [--mbit N] [--message-us US] [--frame-us US] "
          "[--connect-ms MS] [--width W] [HOSTS RANKS_PER_HOST]...\n",
          stderr);
    exit(2);
}

static double number(const char *text, double least, double most)
{
    char *end;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(value >= least && value <= most))
        usage();
    return value;
}

/* Returns the index of the first argument that is no option. */
static int read_options(struct scale_settings *settings, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--latency-ms") == 0)
            settings->latency_ms = number(argv[i + 1], 0, 1000);
        else if (strcmp(argv[i], "--mbit") == 0)
            settings->mbit = number(argv[i + 1], 1, 1e6);
        else if (strcmp(argv[i], "--message-us") == 0)
            settings->message_us = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--frame-us") == 0)
            settings->frame_us = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--connect-ms") == 0)
            settings->connect_ms = number(argv[i + 1], 0, 1e6);
        else if (strcmp(argv[i], "--width") == 0)
            settings->width = (int)number(argv[i + 1], 2, 1e6);
        else
            usage();
    }
    return i;
}

int main(int argc, char **argv)
{
    struct scale_settings settings = { .latency_ms = 1,
                                       .mbit = 100,
                                       .message_us = 10,
                                       .frame_us = 5,
                                       .connect_ms = 200,
                                       .connect_work_ms = 2,
                                       .spawn_ms = 1,
                                       .heartbeat_timeout_ms = 5000,
                                       .width = HOST_TREE_WIDTH };
    int i = read_options(&settings, argc, argv);
    if (i == argc)
        return check(&settings);
    if ((argc - i) % 2 != 0)
        usage();
    puts("way\thosts\tranks_per_host\tstart_ms\tjoin_ms\tdeath_ms\tlost_agent_ms\tlost_host_ms\t"
         "end_ms\troot_messages");
    for (; i < argc; i += 2) {
        int nhosts = (int)number(argv[i], 1, 100000), each = (int)number(argv[i + 1], 1, 1000);
        for (int mode = 0; mode < MODES; mode++) {
            struct times times = measure(&settings, (enum scale_mode)mode, nhosts, each);
            print_row((enum scale_mode)mode, nhosts, each, &times);
        }
    }
    return 0;
}
