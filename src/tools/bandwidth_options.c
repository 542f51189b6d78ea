/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hvd-bandwidth's options, and the parsers of its lists. Fails as options_parse()
 * does; for an unknown word in a list, sizes or options that exclude each other, and lists whose
 * entries do not go together. */
#include "src/tools/bandwidth_options.h"

#include <stdlib.h>
#include <string.h>

#include "hvd_cuda.h"
#include "src/tools/bandwidth_operations.h"

#define FIELD(name) offsetof(struct bandwidth_options, name)

enum { SIZE_DEFAULT = 64 << 20, LATENCY_SIZE_DEFAULT = 1 << 20, ORDINAL_DIGITS = 4 };
static const double size_limit = 0x1p40;

const struct option_row bandwidth_option_rows[] = {
    { "--operation", "LIST", OPTION_TEXT, FIELD(operation_list), 0, 0,
      "allreduce, allgather, broadcast, alltoall, reducescatter, barrier; or all (allreduce)" },
    { "-b, --minbytes", "SIZE", OPTION_SIZE, FIELD(min_size), 1, size_limit,
      "the smallest size; K, M, G are powers of 1024 (8)" },
    { "-e, --maxbytes", "SIZE", OPTION_SIZE, FIELD(max_size), 1, size_limit,
      "the largest size (64M, or 1M for latencies)" },
    { "-f, --stepfactor", "N", OPTION_INTEGER, FIELD(step_factor), 2, 1e6,
      "each size is N times the previous size (2)" },
    { "-i, --stepbytes", "SIZE", OPTION_SIZE, FIELD(step_size), 1, size_limit,
      "each size is the previous size plus SIZE" },
    { "-n, --iters", "N", OPTION_INTEGER, FIELD(iterations), 1, 1e9,
      "number of timed calls (those of 0.1 s, 5 to 1000)" },
    { "-w, --warmup_iters", "N", OPTION_INTEGER, FIELD(warm_up), 0, 1e9,
      "untimed calls before (1)" },
    { "-d, --datatype", "LIST", OPTION_TEXT, FIELD(type_list), 0, 0,
      "uint8, int8, uint16, int16, int32, int64, half, float, double, bool, bfloat16; or all "
      "(float)" },
    { "-o, --op", "LIST", OPTION_TEXT, FIELD(op_list), 0, 0,
      "sum, prod, min, max, avg, adasum; or all (sum)" },
    { "-r, --root", "RANK", OPTION_INTEGER, FIELD(root), 0, 1e6, "root of a broadcast (0)" },
    { "-c, --check", "0|1", OPTION_INTEGER, FIELD(check), 0, 1, "check every element (1)" },
    { "--device", "DEVICE", OPTION_TEXT, FIELD(device), 0, 0,
      "whose memory: host, cuda (the GPU of the local rank), cuda:0, cuda:1 and so on (host)" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "seed of the input data (42)" },
    { "--latency", NULL, OPTION_FLAG, FIELD(latency), 0, 0,
      "average, smallest and largest time of the ranks, as in OSU's benchmarks" },
    { "--tsv", NULL, OPTION_FLAG, FIELD(tsv), 0, 0, "a line with tabs for each measurement" },
    { "-q, --quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "-h, --help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this text" },
};
const size_t bandwidth_option_row_count =
    sizeof bandwidth_option_rows / sizeof *bandwidth_option_rows;

const struct bandwidth_options bandwidth_defaults = {
    .min_size = 8,
    .warm_up = 1,
    .check = 1,
    .seed = 42,
    .operation_list = "allreduce",
    .type_list = "float",
    .op_list = "sum",
    .device = "host",
};

/* A word of a list. Several words may mean the same; the first of them is printed. */
struct word {
    const char *text;
    int value;
};

static const struct word types[] = {
    { "uint8", HVD_UINT8 },     { "int8", HVD_INT8 },         { "uint16", HVD_UINT16 },
    { "int16", HVD_INT16 },     { "int32", HVD_INT32 },       { "int64", HVD_INT64 },
    { "half", HVD_FLOAT16 },    { "float16", HVD_FLOAT16 },   { "float", HVD_FLOAT32 },
    { "float32", HVD_FLOAT32 }, { "double", HVD_FLOAT64 },    { "float64", HVD_FLOAT64 },
    { "bool", HVD_BOOL },       { "bfloat16", HVD_BFLOAT16 },
};
enum { TYPE_WORDS = sizeof types / sizeof *types };

static const struct word ops[] = {
    { "sum", HVD_SUM },         { "prod", HVD_PRODUCT },  { "product", HVD_PRODUCT },
    { "min", HVD_MIN },         { "max", HVD_MAX },       { "avg", HVD_AVERAGE },
    { "average", HVD_AVERAGE }, { "adasum", HVD_ADASUM },
};
enum { OP_WORDS = sizeof ops / sizeof *ops };

static const char *word_for(const struct word *words, int count, int value)
{
    for (int i = 0; i < count; i++)
        if (words[i].value == value)
            return words[i].text;
    return "-";
}

const char *bandwidth_type_name(int dtype)
{
    return word_for(types, TYPE_WORDS, dtype);
}

const char *bandwidth_op_name(int op)
{
    return word_for(ops, OP_WORDS, op);
}

static int unknown_word(const char *option, const struct word *words, int count, const char *text,
                        int length, struct problem *problem)
{
    char known[200] = "";
    for (int i = 0; i < count; i++) {
        if (word_for(words, count, words[i].value) != words[i].text)
            continue;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", words[i].text);
    }
    return problem_set(problem, EXIT_STATUS_USAGE, "%s wants %s or all, not '%.*s'", option, known,
                       length < 60 ? length : 60, text);
}

/* Parses words with commas between them, or "all": a bit for each. */
static int bandwidth_options_read_list(const char *option, const char *list,
                                       const struct word *words, int count, unsigned *bits,
                                       struct problem *problem)
{
    bool all = strcmp(list, "all") == 0;
    *bits = 0;
    for (int i = 0; i < count && all; i++)
        *bits |= 1u << words[i].value;
    while (!all) {
        size_t length = strcspn(list, ",");
        int i = 0;
        while (i < count &&
               (strlen(words[i].text) != length || memcmp(words[i].text, list, length) != 0))
            i++;
        if (i == count)
            return unknown_word(option, words, count, list, (int)length, problem);
        *bits |= 1u << words[i].value;
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    return 0;
}

static int read_lists(struct bandwidth_options *options, struct problem *problem)
{
    struct word names[OPERATION_COUNT];
    for (int i = 0; i < OPERATION_COUNT; i++)
        names[i] = (struct word){ operations[i].name, i };
    if (bandwidth_options_read_list("--operation", options->operation_list, names, OPERATION_COUNT,
                                    &options->operations, problem) < 0 ||
        bandwidth_options_read_list("--datatype", options->type_list, types, TYPE_WORDS,
                                    &options->types, problem) < 0)
        return -1;
    return bandwidth_options_read_list("--op", options->op_list, ops, OP_WORDS, &options->ops,
                                       problem);
}

/* Is there a type and an op with which the operation can be measured? */
static bool bandwidth_options_is_possible(const struct bandwidth_options *options,
                                          const struct operation *operation)
{
    for (int type = 0; type < 32; type++)
        for (int op = 0; op < 32; op++)
            if (options->types >> type & options->ops >> op & 1 &&
                operation_can(operation, (enum hvd_dtype)type, (enum hvd_op)op))
                return true;
    return false;
}

static int check_combinations(struct bandwidth_options *options, struct problem *problem)
{
    bool all = strcmp(options->operation_list, "all") == 0;
    for (int i = 0; i < OPERATION_COUNT && !all; i++)
        if (options->operations >> i & 1 && !bandwidth_options_is_possible(options, &operations[i]))
            return problem_set(problem, EXIT_STATUS_USAGE,
                               "--op %.60s is not for %s with --datatype %.60s", options->op_list,
                               operations[i].name, options->type_list);
    return 0;
}

static int check_sizes(struct bandwidth_options *options, struct problem *problem)
{
    if (options->step_size > 0 && options->step_factor > 0)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--stepbytes and --stepfactor exclude each other");
    if (options->max_size == 0)
        options->max_size = options->latency ? LATENCY_SIZE_DEFAULT : SIZE_DEFAULT;
    if (options->step_factor == 0)
        options->step_factor = 2;
    if (options->min_size > options->max_size)
        return problem_set(problem, EXIT_STATUS_USAGE, "--minbytes %ld is more than --maxbytes %ld",
                           options->min_size, options->max_size);
    return 0;
}

static int read_device(struct bandwidth_options *options, struct problem *problem)
{
    static const char cuda[] = "cuda:";
    const char *number = options->device + strlen(cuda);
    options->ordinal = HVD_CUDA_BY_LOCAL_RANK;
    options->cuda = strcmp(options->device, "cuda") == 0;
    if (options->cuda || strcmp(options->device, "host") == 0)
        return 0;
    options->cuda = strncmp(options->device, cuda, strlen(cuda)) == 0;
    size_t digits = options->cuda ? strspn(number, "0123456789") : 0;
    if (digits == 0 || digits > ORDINAL_DIGITS || number[digits] != '\0')
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--device wants host, cuda or cuda and a number, such as cuda:0, not "
                           "'%.60s'",
                           options->device);
    options->ordinal = atoi(number);
    return 0;
}

int bandwidth_options_check(void *arg, struct problem *problem)
{
    struct bandwidth_options *options = arg;
    if (read_lists(options, problem) < 0 || check_combinations(options, problem) < 0 ||
        check_sizes(options, problem) < 0 || read_device(options, problem) < 0)
        return -1;
    if (options->latency && options->tsv)
        return problem_set(problem, EXIT_STATUS_USAGE, "--latency and --tsv exclude each other");
    return 0;
}
