/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fashion_mnist's options. */
#include "examples/fashion_options.h"

#include <string.h>

#include "examples/fashion_data.h"

#define FIELD(name) offsetof(struct fashion_options, name)

const struct option_row fashion_option_rows[] = {
    { "--epochs", "N", OPTION_INTEGER, FIELD(epochs), 1, 1e6, "times through the images (1)" },
    { "--batch", "N", OPTION_INTEGER, FIELD(batch), 1, 4096, "images of each rank in a step (64)" },
    { "--data", "DIR", OPTION_PATH, FIELD(data), 0, 0,
      "where the four IDX files are (" FASHION_DATA_DIRECTORY ")" },
    { "--limit", "N", OPTION_INTEGER, FIELD(limit), 1, 1e7, "train on the first N images (all)" },
    { "--test-limit", "N", OPTION_INTEGER, FIELD(test_limit), 1, 1e7,
      "test on the first N images (all)" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of all random numbers (42)" },
    { "--learning-rate", "X", OPTION_REAL, FIELD(learning_rate), 1e-9, 1e3,
      "of all ranks together (0.001 x the number of ranks)" },
    { "--warmup-epochs", "X", OPTION_REAL, FIELD(warmup_epochs), 0, 1e6,
      "in which it rises from that of one rank (0.1)" },
    { "--optimizer", "NAME", OPTION_TEXT, FIELD(optimizer_name), 0, 0, "adam or sgd (adam)" },
    { "--no-dropout", NULL, OPTION_FLAG, FIELD(no_dropout), 0, 0, "train without dropout" },
    { "--checkpoint", "FILE", OPTION_PATH, FIELD(checkpoint), 0, 0,
      "rank 0 writes all that training needs there after every epoch" },
    { "--resume", NULL, OPTION_FLAG, FIELD(resume), 0, 0, "go on from the checkpoint" },
    { "--steps", "N", OPTION_INTEGER, FIELD(steps), 1, 1e9,
      "end after N steps, with a checkpoint (when the epochs are over)" },
    { "--plot", "FILE", OPTION_PATH, FIELD(plot), 0, 0,
      "rank 0 draws loss and accuracy there, as SVG" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};
const size_t fashion_option_row_count = sizeof fashion_option_rows / sizeof *fashion_option_rows;

const struct fashion_options fashion_defaults = {
    .epochs = 1,
    .batch = 64,
    .seed = 42,
    .warmup_epochs = 0.1,
    .optimizer_name = "adam",
    .data = FASHION_DATA_DIRECTORY,
};

static int choose_optimizer(struct fashion_options *options, struct problem *problem)
{
    static const char *const names[] = { [OPTIMIZER_ADAM] = "adam", [OPTIMIZER_SGD] = "sgd" };
    for (int kind = 0; kind < (int)(sizeof names / sizeof *names); kind++) {
        if (strcmp(options->optimizer_name, names[kind]) == 0) {
            options->optimizer = (enum optimizer_kind)kind;
            return 0;
        }
    }
    return problem_set(problem, EXIT_STATUS_USAGE, "--optimizer wants adam or sgd, not '%.60s'",
                       options->optimizer_name);
}

int fashion_options_check(void *arg, struct problem *problem)
{
    struct fashion_options *options = arg;
    if (options->resume && options->checkpoint == NULL)
        return problem_set(problem, EXIT_STATUS_USAGE, "--resume wants --checkpoint FILE, too");
    return choose_optimizer(options, problem);
}
