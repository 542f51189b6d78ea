/* SPDX-License-Identifier: Apache-2.0 */
/* For tests/gpu.sh, on a machine with a GPU: collectives of tensors in its memory, checked, and how
 * fast the driver copies, for comparison with the table of hvd-bandwidth. That checks all
 * collectives, too, but with equal rows and without factors. HVD_DEVICE=cuda chooses the GPU. Rank
 * 0 prints
 *
 *     collectives of uneven rows are right
 *     bytes 1048576 to-host 4.56 GB/s from-host 7.89 GB/s
 *
 * Ends with status 1 at the first thing that is not as it should be. Needs cuda.h and libcuda. */
#include <cuda.h>
#include <hvd.h>
#include <hvd_device.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 10, MOST = 64 << 20 };

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "collectives: %s: %s\n", what, hvd_last_error());
    exit(1);
}

static void driver(CUresult result, const char *what)
{
    const char *text = "?";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "collectives: %s: %s\n", what, text);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct run {
    CUdeviceptr memory;
    CUstream stream;
    float *host;
    size_t nbytes;
};

static void fill(const struct run *run, float value)
{
    for (size_t i = 0; i < run->nbytes / sizeof(float); i++)
        run->host[i] = value + (float)(i % 17);
    driver(cuMemcpyHtoDAsync(run->memory, run->host, run->nbytes, run->stream), "copy to the GPU");
    driver(cuStreamSynchronize(run->stream), "synchronize");
}

static void check(const struct run *run)
{
    int size = hvd_size();
    float base = (float)(size * (size + 1)) / 2;
    driver(cuMemcpyDtoHAsync(run->host, run->memory, run->nbytes, run->stream),
           "copy from the GPU");
    driver(cuStreamSynchronize(run->stream), "synchronize");
    for (size_t i = 0; i < run->nbytes / sizeof(float); i++)
        if (run->host[i] != base + (float)(size * (int)(i % 17))) {
            fprintf(stderr, "collectives: element %zu of %zu bytes is %g\n", i, run->nbytes,
                    (double)run->host[i]);
            exit(1);
        }
}

static void reduce(const struct run *run)
{
    const int64_t count = (int64_t)(run->nbytes / sizeof(float));
    const struct hvd_tensor tensor = { .name = "gpu",
                                       .input = (void *)(uintptr_t)run->memory,
                                       .output = (void *)(uintptr_t)run->memory,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = hvd_default_device() };
    require(hvd_allreduce_tensor(&tensor, HVD_SUM, NULL) == HVD_OK, "allreduce");
}

/* ---- uneven rows, and factors ---- */

enum { COLUMNS = 257, ROOM = 1 << 20, MOST_RANKS = 16 };

/* Memory for one input and one output. */
struct room {
    CUdeviceptr input, output;
    float *host;
    CUstream stream;
};

static void room_copy(const struct room *room, CUdeviceptr memory, int to_host)
{
    driver(to_host ? cuMemcpyDtoHAsync(room->host, memory, ROOM, room->stream)
                   : cuMemcpyHtoDAsync(memory, room->host, ROOM, room->stream),
           "copy");
    driver(cuStreamSynchronize(room->stream), "synchronize");
}

/* Element i of a rank's input. */
static float element_of(int rank, size_t i)
{
    return (float)(1000 * rank + (int)(i % 997));
}

static void room_fill(const struct room *room, CUdeviceptr memory)
{
    for (size_t i = 0; i < ROOM / sizeof(float); i++)
        room->host[i] = element_of(hvd_rank(), i);
    room_copy(room, memory, 0);
}

static struct hvd_tensor room_tensor(const struct room *room, const char *name, const int64_t *dims)
{
    return (struct hvd_tensor){ .name = name,
                                .input = (void *)(uintptr_t)room->input,
                                .output = (void *)(uintptr_t)room->output,
                                .output_size = ROOM,
                                .dtype = HVD_FLOAT32,
                                .ndims = 2,
                                .dims = dims,
                                .device = hvd_default_device() };
}

static void require_element(float found, float wanted, const char *what, size_t i)
{
    if (found == wanted)
        return;
    fprintf(stderr, "collectives: %s: element %zu is %g, not %g\n", what, i, (double)found,
            (double)wanted);
    exit(1);
}

static void check_broadcast(const struct room *room)
{
    const int64_t dims[] = { 100, COLUMNS };
    struct hvd_tensor tensor = room_tensor(room, "gpu.broadcast", dims);
    int root = hvd_size() - 1;
    room_fill(room, room->output);
    require(hvd_broadcast_tensor(&tensor, root, NULL) == HVD_OK, "broadcast");
    room_copy(room, room->output, 1);
    for (size_t i = 0; i < 100 * COLUMNS; i++)
        require_element(room->host[i], element_of(root, i), "broadcast", i);
}

static void check_allgather(const struct room *room)
{
    const int64_t dims[] = { 3 + 2 * hvd_rank(), COLUMNS };
    struct hvd_tensor tensor = room_tensor(room, "gpu.allgather", dims);
    size_t at = 0;
    require(hvd_allgather_tensor(&tensor, NULL, NULL) == HVD_OK, "allgather");
    room_copy(room, room->output, 1);
    for (int rank = 0; rank < hvd_size(); rank++)
        for (size_t i = 0; i < (size_t)(3 + 2 * rank) * COLUMNS; i++, at++)
            require_element(room->host[at], element_of(rank, i), "allgather", at);
}

/* With rows of its own for each pair of ranks. */
static int64_t rows_of(int from, int to)
{
    return (from + 2 * to) % 3;
}

static void check_alltoall(const struct room *room)
{
    int64_t splits[MOST_RANKS], dims[] = { 0, COLUMNS };
    for (int rank = 0; rank < hvd_size(); rank++)
        dims[0] += splits[rank] = rows_of(hvd_rank(), rank);
    struct hvd_tensor tensor = room_tensor(room, "gpu.alltoall", dims);
    size_t at = 0;
    require(hvd_alltoall(&tensor, splits, hvd_size(), NULL, NULL) == HVD_OK, "alltoall");
    room_copy(room, room->output, 1);
    for (int from = 0; from < hvd_size(); from++) {
        size_t before = 0, rows = (size_t)rows_of(from, hvd_rank());
        for (int rank = 0; rank < hvd_rank(); rank++)
            before += (size_t)rows_of(from, rank);
        for (size_t i = 0; i < rows * COLUMNS; i++, at++)
            require_element(room->host[at], element_of(from, before * COLUMNS + i), "alltoall", at);
    }
}

static void check_reducescatter(const struct room *room)
{
    int size = hvd_size();
    const int64_t dims[] = { 2 * size + 1, COLUMNS };
    const struct hvd_options options = { .prescale = 0.5, .postscale = 4 };
    struct hvd_tensor tensor = room_tensor(room, "gpu.reducescatter", dims);
    size_t first = 0, count = (size_t)hvd_share(dims[0], size, hvd_rank()) * COLUMNS;
    for (int rank = 0; rank < hvd_rank(); rank++)
        first += (size_t)hvd_share(dims[0], size, rank) * COLUMNS;
    require(hvd_reducescatter(&tensor, HVD_SUM, &options) == HVD_OK, "reduce-scatter");
    room_copy(room, room->output, 1);
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < size; rank++)
            sum += element_of(rank, first + i);
        require_element(room->host[i], 2 * sum, "reduce-scatter", i);
    }
}

static void check_uneven(CUstream stream)
{
    void *host;
    struct room room = { .stream = stream };
    if (hvd_size() > MOST_RANKS)
        return;
    driver(cuMemAlloc(&room.input, ROOM), "cuMemAlloc");
    driver(cuMemAlloc(&room.output, ROOM), "cuMemAlloc");
    driver(cuMemHostAlloc(&host, ROOM, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    room.host = host;
    room_fill(&room, room.input);
    check_broadcast(&room);
    check_allgather(&room);
    check_alltoall(&room);
    check_reducescatter(&room);
    if (hvd_rank() == 0)
        printf("collectives of uneven rows are right\n");
}

/* ---- how fast the driver copies ---- */

/* Bytes per second of ROUNDS copies. */
static double copy(const struct run *run, int to_host)
{
    double start = seconds();
    for (int i = 0; i < ROUNDS; i++)
        driver(to_host ? cuMemcpyDtoHAsync(run->host, run->memory, run->nbytes, run->stream)
                       : cuMemcpyHtoDAsync(run->memory, run->host, run->nbytes, run->stream),
               "copy");
    driver(cuStreamSynchronize(run->stream), "synchronize");
    return ROUNDS * (double)run->nbytes / (seconds() - start);
}

static void measure(const struct run *run)
{
    fill(run, (float)(hvd_rank() + 1));
    reduce(run);
    check(run);
    require(hvd_barrier() == HVD_OK, "barrier");
    double to_host = copy(run, 1), from_host = copy(run, 0);
    if (hvd_rank() == 0)
        printf("bytes %zu to-host %.2f GB/s from-host %.2f GB/s\n", run->nbytes, to_host / 1e9,
               from_host / 1e9);
}

int main(int argc, char **argv)
{
    CUdevice gpu;
    CUcontext context;
    struct run run;
    void *host;
    size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : MOST;
    require(hvd_init() == HVD_OK, "hvd_init");
    require(hvd_default_device() > 0, "HVD_DEVICE=cuda is missing");
    int gpus = 0;
    driver(cuInit(0), "cuInit");
    driver(cuDeviceGetCount(&gpus), "cuDeviceGetCount");
    driver(cuDeviceGet(&gpu, hvd_local_rank() % gpus), "cuDeviceGet");
    driver(cuDevicePrimaryCtxRetain(&context, gpu), "cuDevicePrimaryCtxRetain");
    driver(cuCtxPushCurrent(context), "cuCtxPushCurrent");
    driver(cuStreamCreate(&run.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    driver(cuMemAlloc(&run.memory, most), "cuMemAlloc");
    driver(cuMemHostAlloc(&host, most, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
    run.host = host;
    check_uneven(run.stream);
    for (run.nbytes = 4096; run.nbytes <= most; run.nbytes *= 4)
        measure(&run);
    require(hvd_shutdown() == HVD_OK, "hvd_shutdown");
    return 0;
}
