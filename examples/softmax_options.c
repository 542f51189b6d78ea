/* SPDX-License-Identifier: Apache-2.0 */
/* The table of softmax_regression's options, and their defaults: those of the tutorial that it
 * follows. */
#include "examples/softmax_options.h"

#include "examples/fashion_data.h"

const struct softmax_options softmax_defaults = {
    .steps = 10,
    .batches = 32,
    .learning_rate = 0.1,
    .seed = 42,
    .test_limit = 1000,
    .data = FASHION_DATA_DIRECTORY,
};

#define FIELD(name) offsetof(struct softmax_options, name)

const struct option_row softmax_option_rows[] = {
    { "--steps", "N", OPTION_INTEGER, FIELD(steps), 1, 1e6, "steps (10)" },
    { "--batches", "N", OPTION_INTEGER, FIELD(batches), 1, 4096,
      "batches of one image for each rank in a step (32)" },
    { "--learning-rate", "X", OPTION_REAL, FIELD(learning_rate), 1e-9, 1e3, "used as given (0.1)" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of all random numbers (42)" },
    { "--data", "DIR", OPTION_PATH, FIELD(data), 0, 0,
      "where the four IDX files are (" FASHION_DATA_DIRECTORY ")" },
    { "--test-limit", "N", OPTION_INTEGER, FIELD(test_limit), 1, 1e7,
      "test on the first N images (1000)" },
    { "--bandwidth", "SIZE", OPTION_SIZE, FIELD(bandwidth), 1, 1e13,
      "bytes/s between host and accelerator, e.g. 100M (as fast as it goes)" },
    { "--checkpoint", "FILE", OPTION_PATH, FIELD(checkpoint), 0, 0,
      "rank 0 writes the parameters there at the end" },
    { "--plot", "FILE", OPTION_PATH, FIELD(plot), 0, 0, "rank 0 draws the loss there, as SVG" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};
const size_t softmax_option_row_count = sizeof softmax_option_rows / sizeof *softmax_option_rows;
