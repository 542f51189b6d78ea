/* SPDX-License-Identifier: Apache-2.0 */
/* Training that shows a lost commit; see worker_elastic.h. Step s adds s to every weight, so before
 * step s each weight is 0 + 1 + ... + (s - 1), however often the world was made anew. */
#include "tests/chaos/worker_elastic.h"

#include "lib/base/clock.h"
#include "lib/hvd_elastic.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WEIGHTS = 1000, PAUSE_US = 1000 };

static struct {
    int64_t step, weights[WEIGHTS];
} model; /* the state */

static int64_t committed; /* step of the newest commit that this process knows of */
static int64_t born_ms;   /* 0: has not been in a world */
static int64_t life_limit_ms;

static void elastic_must(int rc)
{
    if (rc == HVD_OK)
        return;
    puts("failed");
    fprintf(stderr, "chaos_worker: %s\n", hvd_last_error());
    exit(EXIT_FAILURE);
}

static void elastic_check_state(void)
{
    bool good = model.step >= committed;
    for (int i = 0; i < WEIGHTS; i++)
        good = good && model.weights[i] == model.step * (model.step - 1) / 2;
    if (!good)
        puts("wrong");
}

/* `*over`: a rank is old enough. */
static int elastic_step(bool *over)
{
    int64_t vector[WEIGHTS + 1];
    for (int i = 0; i < WEIGHTS; i++)
        vector[i] = model.step;
    vector[WEIGHTS] = life_limit_ms >= 0 && (int64_t)monotonic_ms() - born_ms >= life_limit_ms;
    int rc = hvd_allreduce("chaos", vector, vector, WEIGHTS + 1, HVD_INT64, HVD_SUM);
    if (rc != HVD_OK)
        return rc;
    for (int i = 0; i < WEIGHTS; i++)
        model.weights[i] += vector[i] / hvd_size();
    model.step++;
    *over = vector[WEIGHTS] > 0;
    return HVD_OK;
}

static int elastic_train(struct hvd_elastic_state *state, void *arg)
{
    bool over = false;
    (void)arg;
    if (born_ms == 0) {
        born_ms = (int64_t)monotonic_ms();
        puts("up");
    }
    printf("world %d rank %d\n", hvd_epoch(), hvd_rank());
    elastic_check_state();
    for (;;) {
        int rc = elastic_step(&over);
        if (rc == HVD_OK)
            rc = hvd_elastic_commit(state);
        if (rc == HVD_OK || rc == HVD_HOSTS_UPDATED)
            committed = model.step;
        if (rc != HVD_OK || over)
            return rc;
        usleep(PAUSE_US);
    }
}

void worker_elastic_act(long life_ms)
{
    struct hvd_elastic_state *state;
    life_limit_ms = life_ms;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int rc = hvd_elastic_init();
    if (rc == HVD_ERR_REMOVED)
        return;
    elastic_must(rc);
    elastic_must(hvd_elastic_create(NULL, &state));
    elastic_must(hvd_elastic_add_memory(state, "weights", model.weights, sizeof model.weights));
    elastic_must(
        hvd_elastic_add_values(state, &(struct hvd_scalar){ "step", &model.step, HVD_INT64 }, 1));
    rc = hvd_elastic_run(state, elastic_train, NULL);
    if (rc != HVD_ERR_REMOVED)
        elastic_must(rc);
    elastic_check_state();
    hvd_elastic_destroy(state);
    elastic_must(hvd_shutdown());
}
