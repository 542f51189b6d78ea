/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring a peer; see peer.h.
 *
 * What has to be done for an item is a `work`: its buffers and a call that does it once. How many
 * calls make a sample follows from what the slowest rank needed for the first ones, so that all
 * ranks do the same number. What takes very long is done seldom: one sample of one call. */
#include "bench/support/peer.h"

#include "bench/support/sample.h"
#include "bench/support/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_CALLS = 10, PATIENCE_SAMPLES = 10, HOPELESS = 3, NAME_SIZE = 32 };

static const char *const operation_names[PEER_OPERATIONS] = {
    [PEER_ALLREDUCE] = "allreduce",         [PEER_BROADCAST] = "broadcast",
    [PEER_ALLGATHER] = "allgather",         [PEER_ALLTOALL] = "alltoall",
    [PEER_REDUCESCATTER] = "reducescatter",
};

struct work {
    struct peer *peer;
    enum peer_operation operation; /* what is checked; a gradient set is an allreduce */
    const char *name, *algorithm;
    size_t nbytes;                  /* as it was asked for */
    size_t count;                   /* elements of `input` and `output`; of a gradient set in all */
    float *input, *output;          /* the same, or two buffers; NULL for a gradient set */
    const struct gradient_set *set; /* or NULL */
    float **gradients;              /* of the set, each allocated for itself */
    float *packed;                  /* gradient sets: of `count` elements, or NULL */
    void (*call)(const struct work *work);
    double best_us; /* of the algorithms so far; 0: none yet */
};

/* What the command line says about samples. */
struct pace {
    int samples;
    double sample_us;
};

void peer_fail(const struct peer *peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: rank %d of %d: ", peer->name, peer->rank, peer->size);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- calls ---- */

static void call_operation(const struct work *work)
{
    work->peer->run(work->peer, work->operation, work->input, work->output, work->count);
}

static void call_each(const struct work *work)
{
    for (int i = 0; i < work->set->ntensors; i++)
        work->peer->run(work->peer, PEER_ALLREDUCE, work->gradients[i], work->gradients[i],
                        work->set->counts[i]);
}

static void call_packed(const struct work *work)
{
    size_t at = 0;
    for (int i = 0; i < work->set->ntensors; at += work->set->counts[i++])
        memcpy(work->packed + at, work->gradients[i], work->set->counts[i] * sizeof(float));
    work->peer->run(work->peer, PEER_ALLREDUCE, work->packed, work->packed, work->count);
    at = 0;
    for (int i = 0; i < work->set->ntensors; at += work->set->counts[i++])
        memcpy(work->gradients[i], work->packed + at, work->set->counts[i] * sizeof(float));
}

static void call_own(const struct work *work)
{
    work->peer->reduce_set(work->peer, work->set, work->gradients);
}

/* ---- measuring ---- */

/* Microseconds per call on the slowest rank. */
static double time_calls(const struct work *work, int calls)
{
    work->peer->barrier();
    double start_us = now_us();
    for (int i = 0; i < calls; i++)
        work->call(work);
    return work->peer->slowest((now_us() - start_us) / calls);
}

static void check_results(const struct work *work, const float *output, size_t count)
{
    const struct peer *peer = work->peer;
    float expected = 0;
    size_t end = verify_results(work->operation, peer->size, count);
    size_t wrong =
        verify_find_wrong(work->operation, peer->rank, peer->size, output, count, &expected);
    if (wrong < end)
        peer_fail(peer, "%s of %zu bytes (%s): element %zu of %zu is %g, not %g", work->name,
                  work->nbytes, work->algorithm, wrong, end, (double)output[wrong],
                  (double)expected);
}

/* What one call took that was checked. Leaves zeros, which stay zeros however often they are
 * summed. */
static double verify_buffers(const struct work *work)
{
    verify_fill(work->peer->rank, work->input, work->count);
    double call_us = time_calls(work, 1);
    check_results(work, work->output, work->count);
    memset(work->input, 0, work->count * sizeof(float));
    return call_us;
}

/* The same for each gradient of a set. */
static double verify_gradients(const struct work *work)
{
    const struct gradient_set *set = work->set;
    for (int i = 0; i < set->ntensors; i++)
        verify_fill(work->peer->rank, work->gradients[i], set->counts[i]);
    double call_us = time_calls(work, 1);
    for (int i = 0; i < set->ntensors; i++) {
        check_results(work, work->gradients[i], set->counts[i]);
        memset(work->gradients[i], 0, set->counts[i] * sizeof(float));
    }
    return call_us;
}

static double verify(const struct work *work)
{
    return work->set ? verify_gradients(work) : verify_buffers(work);
}

static int clamp(double value, int low, int high)
{
    return value < low ? low : value > high ? high : (int)value;
}

static void print_line(const struct work *work, double *sample_us, int samples)
{
    double middle = median(sample_us, samples); /* sorts them */
    printf("%s\t%s\t%s\t%d\t%zu\t%.3f\t%.3f\t%.3f\n", work->peer->name, work->name, work->algorithm,
           work->peer->size, work->nbytes, middle, sample_us[0], sample_us[samples - 1]);
    fflush(stdout);
}

/* The first call may have set up a lot; but what takes so long will not become fast. */
static bool is_hopeless(const struct work *work, const struct pace *pace, double call_us)
{
    return work->best_us > 0 && call_us > pace->sample_us && call_us > HOPELESS * work->best_us;
}

static void measure(struct work *work, const struct pace *pace)
{
    double sample_us[ROUNDS_MAX];
    double call_us = verify(work);
    if (is_hopeless(work, pace, call_us))
        return;
    int warm_up = clamp(pace->sample_us / call_us, 0, WARM_UP_CALLS);
    if (warm_up)
        call_us = time_calls(work, warm_up);
    int calls = clamp(pace->sample_us / call_us, 1, 1 << 20);
    int samples = call_us > PATIENCE_SAMPLES * pace->sample_us ? 1 : pace->samples;
    for (int i = 0; i < samples; i++)
        sample_us[i] = time_calls(work, calls);
    verify(work);
    if (work->peer->rank == 0)
        print_line(work, sample_us, samples);
    double us = size_min(sample_us, samples);
    work->best_us = work->best_us > 0 && work->best_us < us ? work->best_us : us;
}

/* ---- items ---- */

static float *take_memory(const struct peer *peer, size_t count)
{
    float *memory =
        peer->alloc ? peer->alloc(count * sizeof(float) + 1) : malloc(count * sizeof(float) + 1);
    if (!memory)
        peer_fail(peer, "no memory for %zu elements", count);
    memset(memory, 0, count * sizeof(float));
    return memory;
}

static void give_memory(const struct peer *peer, float *memory)
{
    if (peer->free)
        peer->free(memory);
    else
        free(memory);
}

static bool takes_two_buffers(enum peer_operation operation)
{
    return operation >= PEER_ALLGATHER;
}

/* Elements for so many bytes: all ranks have equally many where they share. */
static size_t elements(const struct peer *peer, enum peer_operation operation, size_t nbytes)
{
    size_t count = nbytes / sizeof(float), size = (size_t)peer->size;
    return takes_two_buffers(operation) ? (count + size - 1) / size * size : count;
}

static void measure_operation(struct peer *peer, enum peer_operation operation, size_t nbytes,
                              const struct pace *pace)
{
    struct work work = { .peer = peer,
                         .operation = operation,
                         .name = operation_names[operation],
                         .nbytes = nbytes,
                         .count = elements(peer, operation, nbytes),
                         .call = call_operation };
    work.input = take_memory(peer, work.count);
    work.output = takes_two_buffers(operation) ? take_memory(peer, work.count) : work.input;
    for (int i = 0; peer->algorithms[i]; i++) {
        peer->algorithm = i;
        work.algorithm = peer->algorithms[i];
        if (!peer->can || peer->can(peer, operation, work.count))
            measure(&work, pace);
    }
    if (peer->forget)
        peer->forget();
    if (work.output != work.input)
        give_memory(peer, work.output);
    give_memory(peer, work.input);
}

static void measure_method(struct work *work, const char *way,
                           void (*call)(const struct work *work), const struct pace *pace)
{
    char name[NAME_SIZE];
    const char *algorithm = work->peer->algorithms[work->peer->algorithm];
    bool only = !work->peer->algorithms[1];
    snprintf(name, sizeof name, "%s%s%s", way, only ? "" : "-", only ? "" : algorithm);
    work->algorithm = name;
    work->call = call;
    measure(work, pace);
}

/* With each algorithm that can: tensor by tensor and packed, if there is no better way. */
static void measure_set(struct peer *peer, const struct gradient_set *set, const struct pace *pace)
{
    float *gradients[GRADIENT_SET_MAX];
    struct work work = { .peer = peer,
                         .name = set->name,
                         .nbytes = set->count * sizeof(float),
                         .count = set->count,
                         .set = set,
                         .gradients = gradients };
    for (int i = 0; i < set->ntensors; i++)
        gradients[i] = take_memory(peer, set->counts[i]);
    if (peer->reduce_set)
        measure_method(&work, peer->way, call_own, pace);
    else
        work.packed = take_memory(peer, set->count);
    for (int i = 0; !peer->reduce_set && peer->algorithms[i]; i++) {
        peer->algorithm = i;
        if (!peer->can_reduce_set || peer->can_reduce_set(peer, false))
            measure_method(&work, "each", call_each, pace);
        if (!peer->can_reduce_set || peer->can_reduce_set(peer, true))
            measure_method(&work, "packed", call_packed, pace);
    }
    if (peer->forget)
        peer->forget();
    if (work.packed)
        give_memory(peer, work.packed);
    for (int i = 0; i < set->ntensors; i++)
        give_memory(peer, gradients[i]);
}

static enum peer_operation operation_parse(const char *text, size_t length)
{
    int i = 0;
    while (i < PEER_OPERATIONS &&
           (strlen(operation_names[i]) != length || memcmp(operation_names[i], text, length) != 0))
        i++;
    return (enum peer_operation)i;
}

/* False if the item is none. Measures nothing if there is no peer. */
static bool do_item(struct peer *peer, const char *item, const struct pace *pace)
{
    struct gradient_set set;
    const char *colon = strchr(item, ':');
    if (!colon) {
        bool known = gradient_set_make(&set, item);
        if (known && peer)
            measure_set(peer, &set, pace);
        return known;
    }
    enum peer_operation operation = operation_parse(item, (size_t)(colon - item));
    if (operation == PEER_OPERATIONS)
        return false;
    size_t nbytes = (size_t)number_argument("BYTES", colon + 1, 0, 1L << 32);
    if (peer)
        measure_operation(peer, operation, nbytes, pace);
    return true;
}

static struct pace pace_parse(char **argv)
{
    return (struct pace){ .samples = (int)number_argument("SAMPLES", argv[0], 1, ROUNDS_MAX),
                          .sample_us =
                              1000 * (double)number_argument("SAMPLE_MS", argv[1], 1, 60000) };
}

void peer_check_arguments(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s NAME SAMPLES SAMPLE_MS OPERATION:BYTES|MODEL...\n", argv[0]);
        exit(2);
    }
    struct pace pace = pace_parse(argv + 2);
    for (int i = 4; i < argc; i++) {
        if (do_item(NULL, argv[i], &pace))
            continue;
        fprintf(stderr, "%s: '%s' is neither OPERATION:BYTES nor a network\n", argv[0], argv[i]);
        exit(2);
    }
}

void peer_measure(struct peer *peer, int argc, char **argv)
{
    struct pace pace = pace_parse(argv);
    for (int i = 2; i < argc; i++)
        do_item(peer, argv[i], &pace);
}
