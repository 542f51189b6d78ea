/* SPDX-License-Identifier: Apache-2.0 */
/* The table of synthetic_benchmark's options, named like those of Horovod's synthetic benchmarks
 * where it has them. */
#include "examples/synthetic_options.h"

#include <string.h>

#define FIELD(name) offsetof(struct synthetic_options, name)

const struct option_row synthetic_option_rows[] = {
    { "--model", "NAME", OPTION_TEXT, FIELD(model_name), 0, 0,
      "resnet50, resnet101, inception3 or vgg16 (resnet50)" },
    { "--batch-size", "N", OPTION_INTEGER, FIELD(batch_size), 1, 1e6,
      "images of each rank in a batch (32)" },
    { "--num-warmup-batches", "N", OPTION_INTEGER, FIELD(warmup_batches), 0, 1e6,
      "batches that do not count (10)" },
    { "--num-batches-per-iter", "N", OPTION_INTEGER, FIELD(batches_per_iter), 1, 1e6,
      "batches for each of the numbers that are averaged (10)" },
    { "--num-iters", "N", OPTION_INTEGER, FIELD(iters), 1, 1e6, "how many of these (10)" },
    { "--fp16-allreduce", NULL, OPTION_FLAG, FIELD(fp16), 0, 0, "--compression fp16" },
    { "--compression", "NAME", OPTION_TEXT, FIELD(compression_name), 0, 0,
      "how gradients travel: none, fp16 or bf16 (none)" },
    { "--use-adasum", NULL, OPTION_FLAG, FIELD(adasum), 0, 0,
      "combine what the ranks' updates change by Adasum" },
    { "--groups", "N", OPTION_INTEGER, FIELD(groups), 1, MODEL_TENSORS_MAX,
      "reduce the gradients in N groups (each goes when it is ready)" },
    { "--compute", "KIND:MS", OPTION_TEXT, FIELD(compute_text), 0, 0,
      "milliseconds of a batch: sleep:MS or burn:MS (a V100's)" },
    { "--no-overlap", NULL, OPTION_FLAG, FIELD(no_overlap), 0, 0,
      "reduce when all gradients are ready" },
    { "--device", NULL, OPTION_FLAG, FIELD(device), 0, 0,
      "parameters and gradients are on a simulated accelerator" },
    { "--shrink", "N", OPTION_INTEGER, FIELD(shrink), 1, 1e6,
      "make tensors N times smaller, for trying out (1)" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of the first parameters (42)" },
    { "--plot", "FILE", OPTION_PATH, FIELD(plot), 0, 0, "rank 0 draws images/s there, as SVG" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};
const size_t synthetic_option_row_count =
    sizeof synthetic_option_rows / sizeof *synthetic_option_rows;

const struct synthetic_options synthetic_defaults = {
    .model_name = "resnet50",
    .batch_size = 32,
    .warmup_batches = 10,
    .batches_per_iter = 10,
    .iters = 10,
    .shrink = 1,
    .seed = 42,
};

static int choose_model(struct synthetic_options *options, struct problem *problem)
{
    if (model_make(&options->model, options->model_name))
        return 0;
    return problem_set(problem, EXIT_STATUS_USAGE, "--model wants %s, not '%.60s'", model_names(),
                       options->model_name);
}

static int choose_compression(struct synthetic_options *options, struct problem *problem)
{
    static const char *const names[] = { [HVD_COMPRESSION_NONE] = "none",
                                         [HVD_COMPRESSION_FP16] = "fp16",
                                         [HVD_COMPRESSION_BF16] = "bf16" };
    const char *wanted = options->compression_name;
    if (options->fp16 && wanted != NULL && strcmp(wanted, "fp16") != 0)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--fp16-allreduce and --compression '%.60s' exclude each other", wanted);
    if (wanted == NULL)
        wanted = options->fp16 ? "fp16" : "none";
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(wanted, names[i]) != 0)
            continue;
        options->compression = (enum hvd_compression)i;
        return 0;
    }
    return problem_set(problem, EXIT_STATUS_USAGE,
                       "--compression wants none, fp16 or bf16, not '%.60s'", wanted);
}

/* The time is that of the whole model, also when its tensors are made smaller. */
static int choose_compute(struct synthetic_options *options, struct problem *problem)
{
    if (options->compute_text != NULL)
        return compute_parse(&options->compute, options->compute_text, problem);
    options->compute = (struct compute){
        .kind = COMPUTE_SLEEP,
        .seconds = compute_seconds_of_accelerator(&options->model, options->batch_size),
    };
    return 0;
}

int synthetic_options_check(void *arg, struct problem *problem)
{
    struct synthetic_options *options = arg;
    if (choose_model(options, problem) < 0 || choose_compression(options, problem) < 0 ||
        choose_compute(options, problem) < 0)
        return -1;
    if (options->adasum && options->groups > 0)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--use-adasum and --groups exclude each other");
    if (options->device && (options->adasum || options->compression != HVD_COMPRESSION_NONE))
        return problem_set(problem, EXIT_STATUS_USAGE, "--device and %s exclude each other",
                           options->adasum ? "--use-adasum" : "--compression");
    if (options->groups > options->model.count)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--groups wants at most the %d tensors of %s, not '%ld'",
                           options->model.count, options->model.name, options->groups);
    model_shrink(&options->model, options->shrink);
    return 0;
}
