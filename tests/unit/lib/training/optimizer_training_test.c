/* SPDX-License-Identifier: Apache-2.0 */
/* Training a small model: n ranks do what one does with batches n times as large, whatever the
 * options, and have the same parameters to the bit.
 *
 * The model is y = w x + b, with 8 inputs and 3 outputs; its error is the mean over samples of half
 * the square of the distance. */
#include "lib/hvd_optimizer.h"

#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

enum { INPUTS = 8, OUTPUTS = 3, BATCH = 6, STEPS = 25 };

struct linear {
    double w[OUTPUTS][INPUTS], b[OUTPUTS];
};

static const double rate = 0.1;

/* Sample `number` of a step: numbers from -1 to 1, and what another model makes of them. */
static void get_sample(int step, int number, double x[INPUTS], double y[OUTPUTS])
{
    uint64_t state = (uint64_t)step * 1000 + (uint64_t)number + 1;
    for (int i = 0; i < INPUTS; i++)
        x[i] = random_number(&state);
    for (int o = 0; o < OUTPUTS; o++) {
        y[o] = o;
        for (int i = 0; i < INPUTS; i++)
            y[o] += x[i] * (i - o) / 4.;
    }
}

static void learn(const struct linear *model, struct linear *gradient, int step, int number,
                  int batch)
{
    double x[INPUTS], y[OUTPUTS];
    get_sample(step, number, x, y);
    for (int o = 0; o < OUTPUTS; o++) {
        double error = model->b[o] - y[o];
        for (int i = 0; i < INPUTS; i++)
            error += model->w[o][i] * x[i];
        for (int i = 0; i < INPUTS; i++)
            gradient->w[o][i] += error * x[i] / batch;
        gradient->b[o] += error / batch;
    }
}

static void descend(struct linear *model, const struct linear *gradient)
{
    for (int o = 0; o < OUTPUTS; o++) {
        for (int i = 0; i < INPUTS; i++)
            model->w[o][i] -= rate * gradient->w[o][i];
        model->b[o] -= rate * gradient->b[o];
    }
}

/* One rank, all samples, and no library. */
static void train_with_all(struct linear *model, int batch)
{
    *model = (struct linear){ .b = { 0 } };
    for (int step = 0; step < STEPS; step++) {
        struct linear gradient = { .b = { 0 } };
        for (int i = 0; i < batch; i++)
            learn(model, &gradient, step, i, batch);
        descend(model, &gradient);
    }
}

static struct linear trained, slope;

static int update(void *unused)
{
    (void)unused;
    descend(&trained, &slope);
    return 0;
}

static struct hvd_optimizer *create(const struct hvd_optimizer_options *options)
{
    struct hvd_optimizer *optimizer;
    const int64_t dims[] = { OUTPUTS, INPUTS };
    const struct hvd_parameter parameters[] = {
        { .name = "w",
          .data = trained.w,
          .gradient = slope.w,
          .dtype = HVD_FLOAT64,
          .ndims = 2,
          .dims = dims },
        { .name = "b",
          .data = trained.b,
          .gradient = slope.b,
          .dtype = HVD_FLOAT64,
          .ndims = 1,
          .dims = dims },
    };
    REQUIRE_STATUS(hvd_optimizer_create(parameters, 2, options, update, NULL, &optimizer), HVD_OK);
    return optimizer;
}

/* Each rank has every size-th sample, a share of them in each pass. */
static void train_with_own(struct hvd_optimizer *optimizer, int passes)
{
    int size = hvd_size();
    trained = (struct linear){ .b = { 0 } };
    for (int step = 0; step < STEPS; step++) {
        for (int pass = 0; pass < passes; pass++) {
            slope = (struct linear){ .b = { 0 } };
            for (int i = pass * BATCH / passes; i < (pass + 1) * BATCH / passes; i++)
                learn(&trained, &slope, step, i * size + hvd_rank(), BATCH / passes);
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 1), HVD_OK);
            REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 0), HVD_OK);
        }
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    }
}

/* The greatest difference of any parameter. */
static double distance(const struct linear *a, const struct linear *b)
{
    double most = fabs(a->b[0] - b->b[0]);
    for (int o = 0; o < OUTPUTS; o++) {
        most = fmax(most, fabs(a->b[o] - b->b[o]));
        for (int i = 0; i < INPUTS; i++)
            most = fmax(most, fabs(a->w[o][i] - b->w[o][i]));
    }
    return most;
}

static void require_same_bits(void)
{
    struct linear first = trained;
    REQUIRE_STATUS(hvd_broadcast("first", &first, sizeof first, HVD_UINT8, 0), HVD_OK);
    REQUIRE(memcmp(&first, &trained, sizeof first) == 0);
}

/* What comes out with compression is another model, but not by much. */
static const struct {
    struct hvd_optimizer_options options;
    double tolerance;
} trials[] = {
    { { .process_set = 0 }, 1e-12 },
    { { .equal_groups = 1 }, 1e-12 },
    { { .predivide_factor = 3 }, 1e-12 },
    { { .backward_passes = 2, .average_passes = 1 }, 1e-12 },
    { { .compression = HVD_COMPRESSION_FP16 }, 1e-2 },
    { { .compression = HVD_COMPRESSION_BF16, .equal_groups = 2 }, 5e-2 },
};
enum { TRIALS = sizeof trials / sizeof *trials };

static int train(int rank)
{
    struct linear expected;
    (void)rank;
    init_world();
    train_with_all(&expected, BATCH * hvd_size());
    for (int i = 0; i < TRIALS; i++) {
        const struct hvd_optimizer_options *options = &trials[i].options;
        struct hvd_optimizer *optimizer = create(options);
        train_with_own(optimizer, options->backward_passes > 0 ? options->backward_passes : 1);
        REQUIRE(distance(&trained, &expected) < trials[i].tolerance);
        REQUIRE(hvd_size() > 1 || distance(&trained, &expected) < 1e-12);
        require_same_bits();
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(ranks_do_together_what_one_does_with_all_samples)
{
    ranks_run(&(struct mini_options){ .size = _i }, train);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_training");
    TCase *tcase = tcase_create("optimizer_training");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, ranks_do_together_what_one_does_with_all_samples, 1, 5);
    return unit_run(suite);
}
