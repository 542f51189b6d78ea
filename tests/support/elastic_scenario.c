/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of tests/support/elastic_scenarios.sh, on hvd_elastic.h:
 *
 *   elastic_scenario LOG EPOCHS SIZES [FAULT...]
 *
 * Trains EPOCHS epochs of ten batches, with a commit after each batch and after each epoch. Rank 0
 * appends a line to LOG after each epoch. SIZES is "EPOCH:SIZE,..." or "-": that epoch begins when
 * the world has so many ranks. FAULT is EPOCH:BATCH:START_RANK:raise, a failure of the program, or
 * ...:kill, after the step of that batch: then all ranks hold the commit before it. Ranks that were
 * not in the first world have no fault. tests/python/elastic_scenario.py does the same. */
#include "lib/hvd_elastic.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 10, PAUSE_US = 20000, FAILED = 1 };

struct scenario {
    const char *log, *sizes;
    char **faults; /* up to NULL */
    int64_t epochs;
    int start_rank;
    bool is_first;                         /* this process has been in the first world */
    int64_t epoch, batch, commits, worlds; /* the state */
};

static const char *scenario_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL ? value : "";
}

static int scenario_fault(const struct scenario *scenario)
{
    for (char **fault = scenario->faults; *fault != NULL && scenario->is_first; fault++) {
        char now[80];
        int length = snprintf(now, sizeof now, "%lld:%lld:%d:", (long long)scenario->epoch,
                              (long long)scenario->batch, scenario->start_rank);
        if (strncmp(*fault, now, (size_t)length) != 0)
            continue;
        if (strcmp(*fault + length, "kill") == 0)
            raise(SIGKILL);
        return FAILED;
    }
    return HVD_OK;
}

/* How many ranks the epoch must begin with, or 0 for any number. */
static int scenario_size_wanted(const struct scenario *scenario)
{
    for (const char *row = scenario->sizes; row != NULL; row = strchr(row, ',')) {
        long long epoch;
        int size;
        row += *row == ',';
        if (sscanf(row, "%lld:%d", &epoch, &size) == 2 && epoch == scenario->epoch)
            return size;
    }
    return 0;
}

static int scenario_wait_for_size(struct hvd_elastic_state *state, const struct scenario *scenario)
{
    int wanted = scenario_size_wanted(scenario), rc = HVD_OK;
    while (rc == HVD_OK && wanted > 0 && wanted != hvd_size()) {
        rc = hvd_elastic_check_host_updates(state);
        if (rc == HVD_OK)
            usleep(PAUSE_US);
    }
    return rc;
}

static int scenario_batch(struct hvd_elastic_state *state, struct scenario *scenario)
{
    float ones[4] = { 1, 1, 1, 1 }, sum[4];
    int rc = hvd_allreduce("batch", ones, sum, 4, HVD_FLOAT32, HVD_SUM);
    if (rc == HVD_OK && sum[0] != (float)hvd_size())
        rc = FAILED;
    if (rc == HVD_OK)
        rc = scenario_fault(scenario);
    if (rc != HVD_OK)
        return rc;
    scenario->batch++;
    scenario->commits++;
    return hvd_elastic_commit(state);
}

static int scenario_write_log(const struct scenario *scenario)
{
    FILE *log = fopen(scenario->log, "a");
    if (log == NULL)
        return FAILED;
    fprintf(log, "%lld %lld %s %d %d %d %lld\n", (long long)scenario->epoch,
            (long long)scenario->commits, scenario_environment("HOROVOD_HOSTNAME"),
            scenario->start_rank, hvd_rank(), hvd_size(), (long long)scenario->worlds);
    return fclose(log) == 0 ? HVD_OK : FAILED;
}

static int scenario_train(struct hvd_elastic_state *state, void *arg)
{
    struct scenario *scenario = arg;
    int rc = HVD_OK;
    scenario->worlds++;
    scenario->is_first |= scenario->worlds == 1;
    while (rc == HVD_OK && scenario->epoch < scenario->epochs) {
        rc = scenario_wait_for_size(state, scenario);
        while (rc == HVD_OK && scenario->batch < BATCHES)
            rc = scenario_batch(state, scenario);
        if (rc == HVD_OK && hvd_rank() == 0)
            rc = scenario_write_log(scenario);
        if (rc != HVD_OK)
            break;
        scenario->epoch++;
        scenario->batch = 0;
        scenario->commits++;
        rc = hvd_elastic_commit(state);
    }
    return rc;
}

static int scenario_run(struct scenario *scenario)
{
    const struct hvd_scalar values[] = {
        { "epoch", &scenario->epoch, HVD_INT64 },
        { "batch", &scenario->batch, HVD_INT64 },
        { "commits", &scenario->commits, HVD_INT64 },
        { "worlds", &scenario->worlds, HVD_INT64 },
    };
    struct hvd_elastic_state *state = NULL;
    int rc = hvd_elastic_init();
    if (rc == HVD_OK)
        rc = hvd_elastic_create(NULL, &state);
    if (rc == HVD_OK)
        rc = hvd_elastic_add_values(state, values, sizeof values / sizeof *values);
    if (rc == HVD_OK)
        rc = hvd_elastic_run(state, scenario_train, scenario);
    if (rc < 0 && rc != HVD_ERR_REMOVED)
        fprintf(stderr, "elastic_scenario: %s\n", hvd_last_error());
    hvd_elastic_destroy(state);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    struct scenario scenario = {
        .log = argv[1],
        .epochs = atoi(argv[2]),
        .sizes = argv[3],
        .faults = argv + 4,
        .start_rank = atoi(scenario_environment("HOROVOD_RANK")),
    };
    int rc = scenario_run(&scenario);
    if (rc == HVD_ERR_REMOVED)
        return 0;
    if (rc != HVD_OK)
        return 1;
    return hvd_shutdown() == HVD_OK ? 0 : 1;
}
