/* SPDX-License-Identifier: Apache-2.0 */
/* hvd-cuda-info: what of CUDA this host has, in lines for people; hvdrun --check-build and
 * --check-hosts run it. A process of its own, because the driver may hang, and because hvdagent,
 * which is linked statically, cannot load it.
 *
 *     module: /usr/lib/hvdrun/hvd_cuda.so           no module: FILE: cannot open shared object file
 *     driver: CUDA 12.4                             no driver: libcuda.so.1: cannot open ...
 *     GPUs 0 to 3: NVIDIA H100 80GB HBM3            the driver finds no GPU
 *     NCCL: 2.18.3                                  no NCCL: libnccl.so.2: cannot open ...
 *
 * Ends with status 0, whatever it finds. */
#include "lib/cuda/driver.h"
#include "lib/cuda/nccl.h"
#include "lib/device/device_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GPU_NAME_SIZE = 100 };

/* ---- the module ---- */

/* MODULE_DIRECTORY is where hvd_cuda.so was configured to be, INFO_DIRECTORY where this program
 * was. When the installation was moved as a whole, or is staged, what these have in common was
 * replaced. */
static void info_module_path(char path[PATH_MAX])
{
    char own[PATH_MAX];
    const char *module = MODULE_DIRECTORY, *info = INFO_DIRECTORY;
    size_t common = 0, last = 0;
    for (; info[common] && info[common] == module[common]; common++)
        if (info[common] == '/')
            last = common;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    size_t folder = slash ? (size_t)(slash - own) : 0, tail = strlen(info + last);
    if (folder >= tail && memcmp(own + folder - tail, info + last, tail) == 0)
        snprintf(path, PATH_MAX, "%.*s%s/hvd_cuda.so", (int)(folder - tail), own, module + last);
    else
        snprintf(path, PATH_MAX, "%s/hvd_cuda.so", module);
}

static void info_module(void)
{
    char path[PATH_MAX];
    device_module_fn *get;
    info_module_path(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, DEVICE_MODULE_SYMBOL) : NULL;
    memcpy(&get, &symbol, sizeof symbol);
    if (!library)
        printf("no module: %s\n", dlerror());
    else if (!symbol || get()->version != DEVICE_MODULE_VERSION)
        printf("no module: %s belongs to another version\n", path);
    else
        printf("module: %s\n", path);
}

/* ---- driver and GPUs ---- */

static void info_gpu_name(const struct cuda_driver *driver, int ordinal, char name[GPU_NAME_SIZE])
{
    int gpu;
    struct err err;
    memset(name, 0, GPU_NAME_SIZE);
    int result = driver->device_get(&gpu, ordinal);
    if (result == CUDA_OK)
        result = driver->device_get_name(name, GPU_NAME_SIZE - 1, gpu);
    if (result == CUDA_OK)
        return;
    cuda_driver_fail(driver, result, "cuDeviceGetName", &err);
    snprintf(name, GPU_NAME_SIZE, "%.*s", GPU_NAME_SIZE - 1, err.text);
}

/* Neighbours of one name are one line. */
static void info_gpus(const struct cuda_driver *driver)
{
    char name[GPU_NAME_SIZE], next[GPU_NAME_SIZE];
    info_gpu_name(driver, 0, next);
    for (int first = 0, end = 0; first < driver->gpus; first = end) {
        memcpy(name, next, sizeof name);
        for (end = first + 1; end < driver->gpus; end++) {
            info_gpu_name(driver, end, next);
            if (strcmp(name, next) != 0)
                break;
        }
        if (end - first == 1)
            printf("GPU %d: %s\n", first, name);
        else
            printf("GPUs %d to %d: %s\n", first, end - 1, name);
    }
}

static void info_driver(void)
{
    struct err err;
    const struct cuda_driver *driver = cuda_driver_open(&err);
    if (!driver) {
        printf("%s\n", err.text);
        return;
    }
    printf("driver: CUDA %d.%d\n", driver->version / 1000, driver->version % 1000 / 10);
    info_gpus(driver);
}

static void info_nccl(void)
{
    struct err err;
    const struct nccl *nccl = nccl_open(&err);
    if (nccl)
        printf("NCCL: %d.%d.%d\n", nccl->version / 10000, nccl->version / 100 % 100,
               nccl->version % 100);
    else
        printf("%s\n", err.text);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* what is known before the driver hangs is told */
    info_module();
    info_driver();
    info_nccl();
    return 0;
}
