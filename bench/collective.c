/* SPDX-License-Identifier: Apache-2.0 */
/* libhvd in the comparison, through its public calls: blocking, by name; and the gradients of a
 * network asynchronously, each by its name, in random order.
 *
 *     hvdrun -np 2 bench/collective [--alloc] [--order ORDER] NAME SAMPLES SAMPLE_MS ITEM...
 *
 * Items and what is printed: support/peer.h. --alloc takes buffers from hvd_alloc(), otherwise they
 * come from malloc(). ORDER is that of a network's gradients, another at each step: "different" on
 * each rank (the default), "same" on all, or always "backwards", as a backward pass makes them. */
#include "hvd.h"

#include "bench/support/peer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum order { DIFFERENT, SAME, BACKWARDS, ORDERS };

static const char *const order_names[ORDERS] = { "different", "same", "backwards" };
static const char *const algorithms[] = { "auto", NULL };

static enum order order;
static uint64_t random_state;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "collective: %s\n", hvd_last_error());
    exit(1);
}

static void barrier(void)
{
    must(hvd_barrier());
}

static double slowest(double mine)
{
    double result = 0;
    must(hvd_allreduce("time", &mine, &result, 1, HVD_FLOAT64, HVD_MAX));
    return result;
}

static void *alloc(size_t nbytes)
{
    return hvd_alloc(nbytes);
}

static void run(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count)
{
    struct hvd_tensor tensor = { .name = "long form",
                                 .input = input,
                                 .output = output,
                                 .output_size = count * sizeof *output,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = (int64_t[]){ (int64_t)count } };
    switch (operation) {
    case PEER_ALLREDUCE:
        return must(hvd_allreduce("data", input, output, count, HVD_FLOAT32, HVD_SUM));
    case PEER_BROADCAST:
        return must(hvd_broadcast("data", output, count, HVD_FLOAT32, 0));
    case PEER_ALLGATHER:
        return must(hvd_allgather("data", input, output, count / (size_t)peer->size, HVD_FLOAT32));
    case PEER_ALLTOALL:
        return must(hvd_alltoall(&tensor, NULL, 0, NULL, NULL));
    case PEER_REDUCESCATTER:
        return must(hvd_reducescatter(&tensor, HVD_SUM, NULL));
    case PEER_OPERATIONS:
        break;
    }
}

/* ---- gradients ---- */

/* Splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void shuffle(int *indices, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next_random() % (uint64_t)(i + 1)), swapped = indices[i];
        indices[i] = indices[j];
        indices[j] = swapped;
    }
}

static int64_t submit(const struct gradient_set *set, int index, float *data)
{
    char name[64];
    int64_t handle, dims = (int64_t)set->counts[index];
    snprintf(name, sizeof name, "%s.layer%d.gradient", set->name, index);
    struct hvd_tensor tensor = {
        .name = name, .input = data, .output = data, .dtype = HVD_FLOAT32, .ndims = 1, .dims = &dims
    };
    must(hvd_allreduce_async(&tensor, HVD_SUM, NULL, &handle));
    return handle;
}

static void reduce_set(const struct peer *peer, const struct gradient_set *set, float **gradients)
{
    int indices[GRADIENT_SET_MAX];
    int64_t handles[GRADIENT_SET_MAX];
    (void)peer;
    for (int i = 0; i < set->ntensors; i++)
        indices[i] = set->ntensors - 1 - i;
    if (order != BACKWARDS)
        shuffle(indices, set->ntensors);
    for (int i = 0; i < set->ntensors; i++)
        handles[i] = submit(set, indices[i], gradients[indices[i]]);
    for (int i = 0; i < set->ntensors; i++)
        must(hvd_wait(handles[i]));
}

/* ---- the command line ---- */

static bool takes_order(const char *text)
{
    for (int i = 0; i < ORDERS; i++) {
        if (strcmp(text, order_names[i]) != 0)
            continue;
        order = (enum order)i;
        return true;
    }
    return false;
}

/* Options, in front. Returns how many words they are. */
static int parse_options(struct peer *peer, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--alloc") == 0) {
            peer->alloc = alloc;
            peer->free = hvd_free;
        } else if (strcmp(argv[i], "--order") != 0 || i + 1 == argc || !takes_order(argv[++i])) {
            fprintf(stderr,
                    "collective: '%s': expected --alloc or --order same|different|backwards\n",
                    argv[i]);
            exit(2);
        }
    }
    return i - 1;
}

int main(int argc, char **argv)
{
    struct peer peer = { .algorithms = algorithms,
                         .run = run,
                         .reduce_set = reduce_set,
                         .way = "named",
                         .barrier = barrier,
                         .slowest = slowest };
    int options = parse_options(&peer, argc, argv);
    argc -= options;
    argv += options;
    peer_check_arguments(argc, argv);
    must(hvd_init());
    peer.name = argv[1];
    peer.rank = hvd_rank();
    peer.size = hvd_size();
    random_state = order == DIFFERENT ? (uint64_t)(peer.rank + 1) << 32 : 1;
    peer_measure(&peer, argc - 2, argv + 2);
    must(hvd_shutdown());
    return 0;
}
