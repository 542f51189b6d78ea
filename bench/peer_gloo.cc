/* SPDX-License-Identifier: Apache-2.0 */
/* Gloo in the comparison: its algorithms over TCP, ranks that are forked here, a file store. Not
 * part of the build; bench/run compiles it where Gloo's headers are.
 *
 *     peer_gloo RANKS STORE NAME SAMPLES SAMPLE_MS ITEM...      see support/peer.h
 *     peer_gloo RANKS STORE                                     connecting and a barrier
 *
 * STORE is an empty folder. Algorithms that end in "-poll" use connections that are polled instead
 * of waited for (Pair::setSync), which pays only where each rank has a core. "ring" and "bcube" are
 * functions, as PyTorch and Horovod call them; the others are objects made once for a buffer. */
#include "bench/support/peer.h"
#include "bench/support/world.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <exception>
#include <map>
#include <tuple>

namespace
{

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Sum = gloo::ReductionFunction<float>;

constexpr size_t CROWDED_RING_MAX = 1 << 18; /* elements */

/* The best first: what takes several times as long then has but one call (support/peer.h). */
enum Kind { HALVING_DOUBLING, RING_CHUNKED, RING, BCUBE, HALVING_DOUBLING_POLL };
const char *const waiting[] = { "halving-doubling", "ring-chunked", "ring", "bcube", nullptr };
const char *const all[] = { "halving-doubling",      "ring-chunked", "ring", "bcube",
                            "halving-doubling-poll", nullptr };

bool is_function(int kind)
{
    return kind == RING || kind == BCUBE;
}

struct world self;
Context waiter, poller; /* the second only if polling makes sense */

/* Made when first used for a buffer: all ranks do so in the same order. */
std::map<std::tuple<int, float *, size_t>, std::unique_ptr<gloo::Algorithm>> objects;

Context connect(gloo::rendezvous::Store &store, bool poll)
{
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    auto context = std::make_shared<gloo::rendezvous::Context>(self.rank, self.size);
    context->connectFullMesh(store, device);
    for (int i = 0; poll && i < self.size; i++)
        if (i != self.rank)
            context->getPair(i)->setSync(true, true);
    return context;
}

gloo::Algorithm *make_object(int kind, float *data, size_t count)
{
    std::vector<float *> ptrs{ data };
    int elements = static_cast<int>(count);
    switch (kind) {
    case HALVING_DOUBLING:
    case HALVING_DOUBLING_POLL:
        return new gloo::AllreduceHalvingDoubling<float>(kind == HALVING_DOUBLING ? waiter : poller,
                                                         ptrs, elements, Sum::sum);
    default:
        return new gloo::AllreduceRingChunked<float>(waiter, ptrs, elements, Sum::sum);
    }
}

void run_object(int kind, float *data, size_t count)
{
    auto &object = objects[std::make_tuple(kind, data, count)];
    if (!object)
        object.reset(make_object(kind, data, count));
    object->run();
}

void allreduce(int kind, float *data, size_t count)
{
    if (!is_function(kind))
        return run_object(kind, data, count);
    gloo::AllreduceOptions options(waiter);
    options.setAlgorithm(kind == RING ? gloo::AllreduceOptions::Algorithm::RING
                                      : gloo::AllreduceOptions::Algorithm::BCUBE);
    options.setOutput(data, count);
    options.setReduceFunction(
        static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
}

void broadcast(float *data, size_t count)
{
    gloo::BroadcastOptions options(waiter);
    options.setOutput(data, count);
    options.setRoot(0);
    gloo::broadcast(options);
}

void allgather(const float *input, float *output, size_t count)
{
    gloo::AllgatherOptions options(waiter);
    options.setInput(const_cast<float *>(input), count / static_cast<size_t>(self.size));
    options.setOutput(output, count);
    gloo::allgather(options);
}

void alltoall(const float *input, float *output, size_t count)
{
    gloo::AlltoallOptions options(waiter);
    options.setInput(const_cast<float *>(input), count);
    options.setOutput(output, count);
    gloo::alltoall(options);
}

/* The object works in place, so the input is copied first. */
void reduce_scatter(const float *input, float *output, size_t count)
{
    std::copy(input, input + count, output);
    auto &object = objects[std::make_tuple(-1, output, count)];
    if (!object)
        object.reset(new gloo::ReduceScatterHalvingDoubling<float>(
            waiter, std::vector<float *>{ output }, static_cast<int>(count),
            std::vector<int>(static_cast<size_t>(self.size), static_cast<int>(count) / self.size)));
    object->run();
}

void run(const struct peer *peer, enum peer_operation operation, const float *input, float *output,
         size_t count)
{
    if (operation == PEER_ALLREDUCE)
        allreduce(peer->algorithm, output, count);
    else if (operation == PEER_BROADCAST)
        broadcast(output, count);
    else if (operation == PEER_ALLGATHER)
        allgather(input, output, count);
    else if (operation == PEER_ALLTOALL)
        alltoall(input, output, count);
    else
        reduce_scatter(input, output, count);
}

/* What is not an allreduce has one algorithm, of whatever name. With more ranks than cores one call
 * of "ring" takes seconds from some MiB on. */
bool can(const struct peer *peer, enum peer_operation operation, size_t count)
{
    bool power_of_two = (self.size & (self.size - 1)) == 0;
    bool elements = count >= static_cast<size_t>(self.size);
    if (operation != PEER_ALLREDUCE)
        return peer->algorithm == HALVING_DOUBLING && elements;
    if (peer->algorithm == RING && self.crowded && count > CROWDED_RING_MAX)
        return false;
    return (peer->algorithm != BCUBE || power_of_two) && (is_function(peer->algorithm) || elements);
}

/* Functions are slow with many tensors: each call makes buffers. */
bool can_reduce_set(const struct peer *peer, bool packed)
{
    return peer->algorithm == HALVING_DOUBLING || (packed && peer->algorithm == RING);
}

void forget()
{
    objects.clear();
}

void measure(int argc, char **argv, gloo::rendezvous::Store &store)
{
    if (!self.crowded) {
        gloo::rendezvous::PrefixStore poll_store("poll", store);
        poller = connect(poll_store, true);
    }
    struct peer peer = {};
    peer.name = argv[2];
    peer.rank = self.rank;
    peer.size = self.size;
    peer.algorithms = poller ? all : waiting;
    peer.can = can;
    peer.can_reduce_set = can_reduce_set;
    peer.run = run;
    peer.barrier = world_barrier;
    peer.slowest = world_slowest;
    peer.forget = forget;
    peer_measure(&peer, argc - 3, argv + 3);
    world_barrier(); /* nobody hangs up while another one still reads */
    poller.reset();
}

} // namespace

int main(int argc, char **argv)
{
    int size = world_ranks(&argc, &argv);
    if (argc < 2)
        return std::fputs("usage: peer_gloo RANKS STORE [NAME SAMPLES SAMPLE_MS ITEM...]\n",
                          stderr),
               2;
    if (argc > 2)
        peer_check_arguments(argc - 1, argv + 1);
    world_fork(&self, size);
    try {
        gloo::rendezvous::FileStore store(argv[1]);
        waiter = connect(store, false);
        gloo::BarrierOptions options(waiter);
        gloo::barrier(options);
        if (argc > 2)
            measure(argc, argv, store);
        waiter.reset();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "peer_gloo: rank %d: %s\n", self.rank, e.what());
        return 1;
    }
    return 0;
}
