/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fashion_mnist's options. Fails as options_parse() does, and for an optimizer that
 * does not exist. */
#include "examples/fashion_options.h"

#include <stddef.h>
#include <string.h>

#include "examples/fashion_data.h"
#include "examples/support/options.h"

#define FIELD(name) offsetof(struct fashion_options, name)

static const struct option_row rows[] = {
    { "--epochs", "N", OPTION_INTEGER, FIELD(epochs), 1, 1e6, "times through the images (1)" },
    { "--batch", "N", OPTION_INTEGER, FIELD(batch), 1, 4096, "images of each rank in a step (64)" },
    { "--data", "DIR", OPTION_TEXT, FIELD(data), 0, 0,
      "where the four IDX files are (" FASHION_DATA_DIRECTORY ")" },
    { "--limit", "N", OPTION_INTEGER, FIELD(limit), 1, 1e7, "train on the first N images (all)" },
    { "--test-limit", "N", OPTION_INTEGER, FIELD(test_limit), 1, 1e7,
      "test on the first N images (all)" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of all random numbers (42)" },
    { "--learning-rate", "X", OPTION_REAL, FIELD(learning_rate), 1e-9, 1e3,
      "used as given (0.001 x the number of ranks)" },
    { "--optimizer", "NAME", OPTION_TEXT, FIELD(optimizer_name), 0, 0, "adam or sgd (adam)" },
    { "--no-dropout", NULL, OPTION_FLAG, FIELD(no_dropout), 0, 0, "train without dropout" },
    { "--checkpoint", "FILE", OPTION_TEXT, FIELD(checkpoint), 0, 0,
      "rank 0 writes the parameters there after every epoch" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};
static const size_t row_count = sizeof rows / sizeof *rows;

static const struct fashion_options defaults = {
    .epochs = 1,
    .batch = 64,
    .seed = 42,
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

int fashion_options_parse(struct fashion_options *options, int argc, char **argv,
                          struct problem *problem)
{
    *options = defaults;
    if (options_parse(rows, row_count, options, argc, argv, problem) < 0)
        return -1;
    return choose_optimizer(options, problem);
}

void fashion_options_print_help(FILE *out)
{
    fprintf(out, "usage: fashion_mnist [options]\n"
                 "Trains a convolutional network on Fashion-MNIST, alone or under hvdrun.\n\n");
    options_print_help(rows, row_count, out);
}
