/* SPDX-License-Identifier: Apache-2.0 */
/* For tests/gpu.sh, on a machine with a GPU: allreduces of tensors in its memory, checked, and how
 * fast the driver copies, for comparison with the table of hvd-bandwidth. HVD_DEVICE=cuda chooses
 * the GPU. Rank 0 prints
 *
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
    for (run.nbytes = 4096; run.nbytes <= most; run.nbytes *= 4)
        measure(&run);
    require(hvd_shutdown() == HVD_OK, "hvd_shutdown");
    return 0;
}
