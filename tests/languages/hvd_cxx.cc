// SPDX-License-Identifier: Apache-2.0
// Every call of hvd.hpp, on any number of ranks; tests/program/cxx_test.sh compiles and runs it.
// Prints "ok RANK" at the end, or a line that says what is wrong, and ends with 1.
#include "hvd.hpp"

#include <cstdio>
#include <cstdlib>

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    std::fprintf(stderr, "hvd_cxx: %s does not hold\n", what);
    std::exit(1);
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__)

static void reductions(const hvd::world &world)
{
    const int rank = world.rank(), size = world.size(), sum = size * (size - 1) / 2;
    std::vector<float> vector(3, static_cast<float>(rank));
    hvd::allreduce("vector", vector, HVD_SUM);
    EXPECT(vector == std::vector<float>(3, static_cast<float>(sum)));

    std::int64_t array[] = { rank, 1 };
    hvd::allreduce("", array, HVD_MAX);
    EXPECT(array[0] == size - 1 && array[1] == 1);

    double scaled = 1;
    hvd::options half;
    half.postscale = 0.5;
    hvd::allreduce("scaled", hvd::span(&scaled, 1), HVD_SUM, half);
    EXPECT(scaled == size * 0.5);

    std::vector<float, hvd::allocator<float>> shared(1000, 1);
    hvd::future first = hvd::allreduce_async("shared", shared, HVD_SUM);
    hvd::future moved = std::move(first);
    EXPECT(!first.valid() && moved.valid()); // NOLINT: that is the question
    while (!moved.wait_for(std::chrono::seconds(1)))
        ;
    EXPECT(!moved.valid() && shared[999] == static_cast<float>(size));

    hvd::float16 ones[4] = { { 0x3c00 }, { 0x3c00 }, { 0x3c00 }, { 0x3c00 } };
    hvd::allreduce("half", ones, HVD_MIN);
    EXPECT(ones[3].bits == 0x3c00);

    std::vector<double> rows(static_cast<std::size_t>(2 * size), 1), share(2);
    hvd::reducescatter("rows", rows, share, HVD_SUM, 2);
    EXPECT(share[0] == size && share[1] == size);
}

static void movements(const hvd::world &world)
{
    const int rank = world.rank(), size = world.size();
    std::vector<std::int32_t> from_last(4, rank);
    hvd::broadcast("from last", from_last, size - 1);
    EXPECT(from_last[3] == size - 1);
    hvd::future pending = hvd::broadcast_async("again", from_last, 0);
    pending.wait();

    // Rank r gives r + 1 rows of two elements.
    const std::vector<std::int32_t> mine(static_cast<std::size_t>(2 * (rank + 1)), rank);
    hvd::rows<std::int32_t> all = hvd::allgather("rows", mine, 2);
    EXPECT(all.ranks() == size && all.size() == static_cast<std::size_t>(size * (size + 1)));
    for (int i = 0; i < size; i++)
        EXPECT(all.from(i) == i + 1);
    EXPECT(all[all.size() - 1] == size - 1);

    std::vector<std::int32_t> letters(static_cast<std::size_t>(size), rank);
    hvd::rows<std::int32_t> got = hvd::alltoall("letters", letters);
    EXPECT(got.size() == static_cast<std::size_t>(size));
    int sender = 0;
    for (std::int32_t letter : got)
        EXPECT(letter == sender++);
    std::vector<std::int64_t> splits(static_cast<std::size_t>(size), 0);
    splits[0] = size;
    got = hvd::alltoall("to the first", letters, splits);
    EXPECT(got.size() == static_cast<std::size_t>(rank == 0 ? size * size : 0));
    hvd::barrier();
    hvd::join();
}

static void failures(const hvd::world &world)
{
    hvd::status status;
    float number = 0;
    hvd::broadcast("nobody", hvd::span(&number, 1), world.size(), status);
    EXPECT(!status && status.code == HVD_ERR_INVALID && !status.text.empty());
    hvd::allreduce("number", hvd::span(&number, 1), HVD_SUM, status);
    EXPECT(status && status.text.empty());

    try {
        hvd::allreduce("average of bool", std::array<bool, 1>{ true }, HVD_AVERAGE);
        EXPECT(!"an average of bool");
    } catch (const hvd::error &error) {
        EXPECT(error.code() == HVD_ERR_INVALID && !error.is_peer_failure());
        EXPECT(std::string(error.what()).find("bool") != std::string::npos);
    }

    std::vector<float> three(3);
    hvd::allgather("rows of two", three, status, 2);
    EXPECT(status.code == HVD_ERR_INVALID);
    hvd::future empty;
    empty.wait(status);
    EXPECT(status.code == HVD_ERR_INVALID && !empty.ready());

    // Ranks that do not agree all learn it, and the world goes on.
    if (world.size() > 1) {
        std::vector<float> mine(static_cast<std::size_t>(1 + world.rank() % 2));
        hvd::allreduce("mismatch", mine, HVD_SUM, status);
        EXPECT(status.code == HVD_ERR_MISMATCH);
        hvd::future dropped = hvd::allreduce_async("dropped", mine, HVD_SUM);
    }
    hvd::barrier();
}

static void sets(const hvd::world &world)
{
    std::vector<int> ranks;
    for (int rank = 0; rank < world.size(); rank += 2)
        ranks.push_back(rank);
    if (static_cast<int>(ranks.size()) == world.size())
        return; // the world itself
    hvd::process_set even(ranks);
    EXPECT(even.size() == static_cast<int>(ranks.size()));
    EXPECT(even.included() == (world.rank() % 2 == 0));
    if (even.included()) {
        hvd::options options;
        options.process_set = even.id();
        int one[1] = { 1 };
        hvd::allreduce("of the even", one, HVD_SUM, options);
        EXPECT(one[0] == even.size() && even.rank() == world.rank() / 2);
    }
    even.remove();
}

int main()
{
    hvd::status status;
    hvd::barrier(status);
    EXPECT(status.code == HVD_ERR_NOT_INITIALIZED);
    try {
        hvd::world world;
        EXPECT(world.local_rank() < world.local_size() && world.cross_rank() < world.cross_size());
        EXPECT(world.is_homogeneous());
        reductions(world);
        movements(world);
        failures(world);
        sets(world);
        std::printf("ok %d\n", world.rank());
    } catch (const hvd::error &error) {
        std::fprintf(stderr, "hvd_cxx: %s\n", error.what());
        return 1;
    }
    return 0;
}
