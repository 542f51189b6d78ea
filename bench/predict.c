/* SPDX-License-Identifier: Apache-2.0 */
/* How well training would scale on a cluster: a step of a network in virtual time (replay.h).
 *
 *   predict [OPTION...] MODEL RANKS[,RANKS...]
 *
 * MODEL is one of examples/models/model.h, or allreduce:BYTES for one collective. Prints a TSV line
 * for each number of ranks:
 *
 *   compute_ms   forwards and backwards, as examples/synthetic_compute.h has it, and the update
 *   step_ms      the same with everything else
 *   efficiency   compute_ms / step_ms, as that of synthetic_benchmark
 *   operations   collectives that moved data; `fused` tensors went together in some of them, and
 *                `inline` ones with the agreement
 *   host_mb      what a host sends in a step, in 10^6 bytes
 *
 * doc/scale.md tells what the model assumes, and how far it was from real runs. */
#include "bench/prediction/measured.h"
#include "bench/prediction/replay.h"
#include "examples/models/model.h"
#include "examples/synthetic_compute.h"
#include "lib/base/algorithm_names.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS_MAX = 32, RANKS_MAX = 16384 };

static const double gbit = 0.125; /* bytes per nanosecond */

/* What is assumed where nothing was measured. A 25 Gbit/s adapter carries 95 % of that in
 * payload. */
static const struct network {
    const char *name;
    double adapter;
    struct link_speed link;
} networks[] = {
    { "tcp25", 0.95 * 25 * 0.125, { .latency = 10000, .per_call = 3000, .per_byte = 0.1 } },
    { "roce25", 0.95 * 25 * 0.125, { .latency = 2000, .per_call = 500, .per_byte = 0 } },
};

struct prediction {
    struct replay_options options;
    const char *model_name, *local_times, *network_times;
    size_t allreduce_bytes; /* of one collective instead of a model, or 0 */
    struct model model;
    long batch_size, shrink;
    int steps;
    double images_per_s, compute_ms; /* 0: like the accelerator of synthetic_compute.h */
    double update_ms;
    bool no_overlap;
    int worlds[WORLDS_MAX], nworlds;
};

static const char usage_text[] =
    "usage: predict [OPTION...] MODEL RANKS[,RANKS...]\n"
    "  MODEL                  resnet50, resnet101, inception3, vgg16, or allreduce:BYTES\n"
    "  --ranks-per-host N     default 8\n"
    "  --network NAME         tcp25 (default) or roce25: what is assumed of such a network\n"
    "  --bandwidth GBIT       payload of a host's adapter, each way\n"
    "  --latency US           between hosts, one way\n"
    "  --network-times FILE   hvd-bandwidth --tsv of two ranks on two hosts, instead of these\n"
    "  --local-times FILE     hvd-bandwidth --tsv of two ranks on one host\n"
    "  --processors N         that the ranks of a host share; default: one for each\n"
    "  --batch-size N         images of each rank; default 64\n"
    "  --images-per-s X       of one rank alone; default: 300 with resnet50, others by their work\n"
    "  --compute MS           of a batch, instead\n"
    "  --update MS            of the parameters after each batch; default 0\n"
    "  --spread PERCENT       standard deviation of the ranks' compute times; default 0\n"
    "  --steps N              that are averaged; default 1\n"
    "  --shrink N             divides each gradient, as synthetic_benchmark does; default 1\n"
    "  --no-overlap           reduces when all gradients are complete\n"
    "  --algorithm NAME       as HVD_ALGORITHM; default: the table's choice\n"
    "  --fusion-threshold BYTES   as HVD_FUSION_THRESHOLD\n";

static void __attribute__((noreturn)) refuse(const char *what, const char *text)
{
    errx(2, "%s: not '%s' (predict --help)", what, text);
}

static double positive(const char *what, const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0 && value <= most))
        refuse(what, text);
    return value;
}

static long whole(const char *what, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        refuse(what, text);
    return value;
}

/* ---- options ---- */

static void choose_network(struct cluster_speed *speed, const char *name)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (strcmp(networks[i].name, name) != 0)
            continue;
        speed->network = networks[i].link;
        speed->adapter = networks[i].adapter;
        return;
    }
    refuse("--network is tcp25 or roce25", name);
}

static struct prediction defaults(void)
{
    struct prediction prediction = {
        .options = { .ranks_per_host = 8, .algorithm = -1, .fusion_threshold = 128 << 20 },
        .batch_size = 64,
        .shrink = 1,
        .steps = 1,
    };
    struct cluster_speed *speed = &prediction.options.speed;
    speed->local = (struct link_speed){ .latency = 500, .per_call = 300, .per_byte = 0.05 };
    speed->reduce = speed->copy = 0.1;
    speed->segment = 64 << 10;
    speed->buffered = 4 << 20;
    choose_network(speed, "tcp25");
    return prediction;
}

static void read_worlds(struct prediction *prediction, char *list)
{
    char *rest = NULL;
    for (char *text = strtok_r(list, ",", &rest); text; text = strtok_r(NULL, ",", &rest)) {
        if (prediction->nworlds == WORLDS_MAX)
            errx(2, "at most %d numbers of ranks", WORLDS_MAX);
        prediction->worlds[prediction->nworlds++] =
            (int)whole("RANKS is a number from 2 to 16384", text, 2, RANKS_MAX);
    }
    if (prediction->nworlds == 0)
        refuse("RANKS is a list of numbers", list);
}

static void read_model(struct prediction *prediction, const char *name)
{
    static const char one[] = "allreduce:";
    prediction->model_name = name;
    if (strncmp(name, one, sizeof one - 1) == 0)
        prediction->allreduce_bytes = (size_t)whole("BYTES is a number from 4 to 10^10",
                                                    name + sizeof one - 1, 4, 10000000000);
    else if (!model_make(&prediction->model, name))
        refuse("MODEL is resnet50, resnet101, inception3, vgg16 or allreduce:BYTES", name);
}

static void read_measured(const char *name, bool local, struct cluster_speed *speed)
{
    struct measured measured;
    struct err err;
    FILE *file = fopen(name, "re");
    if (!file)
        errx(2, "%s: %s", name, strerror(errno));
    if (measured_read(&measured, file, name, &err) < 0 ||
        measured_apply(&measured, local, speed, &err) < 0)
        errx(2, "%s", err.text);
    fclose(file);
    fprintf(stderr, "%s: latency %.1f us, %.3f GB/s, reduces %.1f GB/s\n", name,
            measured.small_ns / 1e3, local ? 0.5 / speed->local.per_byte : speed->adapter,
            1 / speed->reduce);
}

enum {
    HELP,
    RANKS_PER_HOST,
    NETWORK,
    BANDWIDTH,
    LATENCY,
    NETWORK_TIMES,
    LOCAL_TIMES,
    PROCESSORS,
    BATCH_SIZE,
    IMAGES_PER_S,
    COMPUTE,
    UPDATE,
    SPREAD,
    STEPS,
    SHRINK,
    NO_OVERLAP,
    ALGORITHM,
    FUSION_THRESHOLD
};

static const struct option rows[] = {
    [HELP] = { "help", no_argument, NULL, HELP },
    [RANKS_PER_HOST] = { "ranks-per-host", required_argument, NULL, RANKS_PER_HOST },
    [NETWORK] = { "network", required_argument, NULL, NETWORK },
    [BANDWIDTH] = { "bandwidth", required_argument, NULL, BANDWIDTH },
    [LATENCY] = { "latency", required_argument, NULL, LATENCY },
    [NETWORK_TIMES] = { "network-times", required_argument, NULL, NETWORK_TIMES },
    [LOCAL_TIMES] = { "local-times", required_argument, NULL, LOCAL_TIMES },
    [PROCESSORS] = { "processors", required_argument, NULL, PROCESSORS },
    [BATCH_SIZE] = { "batch-size", required_argument, NULL, BATCH_SIZE },
    [IMAGES_PER_S] = { "images-per-s", required_argument, NULL, IMAGES_PER_S },
    [COMPUTE] = { "compute", required_argument, NULL, COMPUTE },
    [UPDATE] = { "update", required_argument, NULL, UPDATE },
    [SPREAD] = { "spread", required_argument, NULL, SPREAD },
    [STEPS] = { "steps", required_argument, NULL, STEPS },
    [SHRINK] = { "shrink", required_argument, NULL, SHRINK },
    [NO_OVERLAP] = { "no-overlap", no_argument, NULL, NO_OVERLAP },
    [ALGORITHM] = { "algorithm", required_argument, NULL, ALGORITHM },
    [FUSION_THRESHOLD] = { "fusion-threshold", required_argument, NULL, FUSION_THRESHOLD },
    { 0 },
};

static void take_option(struct prediction *prediction, int row, const char *text)
{
    struct replay_options *options = &prediction->options;
    switch (row) {
    case RANKS_PER_HOST:
        options->ranks_per_host =
            (int)whole("--ranks-per-host is a number from 1 on", text, 1, RANKS_MAX);
        break;
    case NETWORK:
        choose_network(&options->speed, text);
        break;
    case BANDWIDTH:
        options->speed.adapter =
            gbit * positive("--bandwidth is Gbit/s from above 0 to 10000", text, 10000);
        break;
    case LATENCY:
        options->speed.network.latency =
            1e3 * positive("--latency is microseconds from above 0 to 10^6", text, 1e6);
        break;
    case NETWORK_TIMES:
        prediction->network_times = text;
        break;
    case LOCAL_TIMES:
        prediction->local_times = text;
        break;
    case PROCESSORS:
        options->speed.processors =
            (int)whole("--processors is a number from 1 on", text, 1, RANKS_MAX);
        break;
    case BATCH_SIZE:
        prediction->batch_size = whole("--batch-size is a number from 1 on", text, 1, 1000000);
        break;
    case IMAGES_PER_S:
        prediction->images_per_s =
            positive("--images-per-s is a number from above 0 to 10^6", text, 1e6);
        break;
    case COMPUTE:
        prediction->compute_ms =
            positive("--compute is milliseconds from above 0 to 10^6", text, 1e6);
        break;
    case UPDATE:
        prediction->update_ms =
            positive("--update is milliseconds from above 0 to 10^6", text, 1e6);
        break;
    case SPREAD:
        prediction->options.spread =
            positive("--spread is a percentage from above 0 to 20", text, 20) / 100;
        break;
    case STEPS:
        prediction->steps = (int)whole("--steps is a number from 1 to 1000", text, 1, 1000);
        break;
    case SHRINK:
        prediction->shrink = whole("--shrink is a number from 1 on", text, 1, 1000000);
        break;
    case NO_OVERLAP:
        prediction->no_overlap = true;
        break;
    case ALGORITHM:
        if ((options->algorithm = algorithm_parse(text)) < 0)
            refuse("--algorithm is " ALGORITHM_NAMES, text);
        break;
    case FUSION_THRESHOLD:
        options->fusion_threshold =
            (size_t)whole("--fusion-threshold is a number of bytes", text, 0, 1L << 40);
        break;
    case HELP:
        fputs(usage_text, stdout);
        exit(0);
    default:
        exit(2);
    }
}

static void read_arguments(struct prediction *prediction, int argc, char **argv)
{
    int row;
    while ((row = getopt_long(argc, argv, "", rows, NULL)) != -1)
        take_option(prediction, row, optarg);
    if (argc - optind != 2) {
        fputs(usage_text, stderr);
        exit(2);
    }
    read_model(prediction, argv[optind]);
    model_shrink(&prediction->model, prediction->shrink);
    read_worlds(prediction, argv[optind + 1]);
    if (prediction->local_times)
        read_measured(prediction->local_times, true, &prediction->options.speed);
    if (prediction->network_times)
        read_measured(prediction->network_times, false, &prediction->options.speed);
}

/* ---- predictions ---- */

static double compute_seconds(const struct prediction *prediction)
{
    if (prediction->compute_ms > 0)
        return prediction->compute_ms / 1e3;
    if (prediction->images_per_s > 0)
        return (double)prediction->batch_size / prediction->images_per_s;
    return compute_seconds_of_accelerator(&prediction->model, prediction->batch_size);
}

/* Gradients in the order in which a rank submits them: the last layer's first. */
static void make_tensors(const struct prediction *prediction, double seconds,
                         struct replay_tensor *tensors)
{
    const struct model *model = &prediction->model;
    double ready_at[MODEL_TENSORS_MAX];
    compute_schedule(model, seconds, ready_at);
    for (int i = 0; i < model->count; i++) {
        int from = model->count - 1 - i;
        tensors[i] = (struct replay_tensor){
            .name = model->tensors[from].name,
            .count = (size_t)model_tensor_elements(&model->tensors[from]),
            .ready_ns = 1e9 * (prediction->no_overlap ? seconds : ready_at[from]),
        };
    }
}

static void print_algorithms(uint64_t used)
{
    const char *comma = "";
    for (int i = 0; i < ALGORITHMS; i++) {
        if (!(used & 1u << i))
            continue;
        printf("%s%s", comma, algorithm_name((enum algorithm)i));
        comma = ",";
    }
    puts(used ? "" : "-");
}

static void predict_model(const struct prediction *prediction, struct replay *replay, int hosts)
{
    static struct replay_tensor tensors[MODEL_TENSORS_MAX];
    struct replay_step step;
    double seconds = compute_seconds(prediction);
    int ranks = prediction->options.ranks;
    double alone_ms = 1e3 * seconds + prediction->update_ms, step_ms = 0;
    make_tensors(prediction, seconds, tensors);
    replay_run(replay, tensors, prediction->model.count, 1e9 * seconds, true, &step);
    for (int i = 0; i < prediction->steps; i++) {
        replay_run(replay, tensors, prediction->model.count, 1e9 * seconds, false, &step);
        step_ms += (step.ns / 1e6 + prediction->update_ms) / prediction->steps;
    }
    printf("%s\t%d\t%d\t%.1f\t%.1f\t%.3f\t%d\t%d\t%d\t%.1f\t", prediction->model_name, ranks, hosts,
           alone_ms, step_ms, alone_ms / step_ms, step.operations, step.fused_tensors,
           step.inline_tensors, (double)step.host_bytes / hosts / 1e6);
    print_algorithms(step.used);
}

static void predict_world(struct prediction *prediction, int ranks)
{
    int each = prediction->options.ranks_per_host, hosts = (ranks + each - 1) / each;
    prediction->options.ranks = ranks;
    struct replay *replay = replay_create(&prediction->options);
    if (prediction->allreduce_bytes > 0)
        printf("%s\t%d\t%d\t%.1f\n", prediction->model_name, ranks, hosts,
               replay_allreduce_ns(replay, prediction->allreduce_bytes / sizeof(float)) / 1e3);
    else
        predict_model(prediction, replay, hosts);
    replay_destroy(replay);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct prediction prediction = defaults();
    read_arguments(&prediction, argc, argv);
    puts(prediction.allreduce_bytes > 0
             ? "operation\tranks\thosts\tus"
             : "model\tranks\thosts\tcompute_ms\tstep_ms\tefficiency\toperations\tfused\tinline\t"
               "host_mb\talgorithms");
    for (int i = 0; i < prediction.nworlds; i++)
        predict_world(&prediction, prediction.worlds[i]);
    return 0;
}
