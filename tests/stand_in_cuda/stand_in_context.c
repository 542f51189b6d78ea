/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, and the contexts of threads; see stand_in.h. */
#include "tests/stand_in_cuda/stand_in.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 8, STACK_MAX = 8 };

struct cuda_context {
    atomic_int retained;
};

static struct cuda_context contexts[GPUS_MAX];
static atomic_bool initialized;
static atomic_int pushed;
static _Thread_local struct cuda_context *stack[STACK_MAX];
static _Thread_local int depth;

int stand_in_enter(const char *call, bool context)
{
    if (!atomic_load(&initialized))
        return CUDA_NOT_INITIALIZED;
    int result = stand_in_fault(call);
    if (result != CUDA_OK)
        return result;
    return context && depth == 0 ? CUDA_INVALID_CONTEXT : CUDA_OK;
}

bool stand_in_has_context(void)
{
    return depth > 0;
}

/* CUDA_VISIBLE_DEVICES names some of the GPUs by number, or one MIG instance. */
static int visible_gpus(void)
{
    int all = stand_in_number("gpus", 0), count = 1;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible)
        return all;
    if (*visible == '\0' || all == 0)
        return 0;
    for (const char *at = visible; (at = strchr(at, ',')); at++)
        count++;
    return count < all ? count : all;
}

static bool is_gpu(int gpu)
{
    return gpu >= 0 && gpu < visible_gpus() && gpu < GPUS_MAX;
}

int stand_in_call_init(unsigned flags)
{
    int result = stand_in_fault("cuInit");
    if (result == CUDA_OK && (flags != 0 || visible_gpus() == 0))
        result = flags != 0 ? CUDA_INVALID_VALUE : CUDA_NO_DEVICE;
    if (result == CUDA_OK)
        atomic_store(&initialized, true);
    return result;
}

int stand_in_call_driver_get_version(int *version)
{
    *version = stand_in_number("driver", 0);
    return CUDA_OK;
}

static const struct {
    int result;
    const char *name, *text;
} results[] = {
    { CUDA_OK, "CUDA_SUCCESS", "no error" },
    { CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    { CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
    { CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { CUDA_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
      "peer access is not supported between these two devices" },
    { CUDA_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    { CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
    { CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { CUDA_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
      "an illegal memory access was encountered" },
    { CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
    { CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static const char *text_of(int result, bool name)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].result == result)
            return name ? results[i].name : results[i].text;
    return NULL;
}

int stand_in_call_get_error_name(int error, const char **text)
{
    *text = text_of(error, true);
    return *text ? CUDA_OK : CUDA_INVALID_VALUE;
}

int stand_in_call_get_error_string(int error, const char **text)
{
    *text = text_of(error, false);
    return *text ? CUDA_OK : CUDA_INVALID_VALUE;
}

int stand_in_call_device_get_count(int *count)
{
    int result = stand_in_enter("cuDeviceGetCount", false);
    if (result == CUDA_OK)
        *count = visible_gpus();
    return result;
}

int stand_in_call_device_get(int *gpu, int ordinal)
{
    int result = stand_in_enter("cuDeviceGet", false);
    if (result == CUDA_OK && !is_gpu(ordinal))
        result = CUDA_INVALID_DEVICE;
    if (result == CUDA_OK)
        *gpu = ordinal;
    return result;
}

/* Ranks that see one GPU each, see different ones. */
int stand_in_call_device_get_uuid(struct cuda_uuid *uuid, int gpu)
{
    int result = stand_in_enter("cuDeviceGetUuid", false);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (result == CUDA_OK && !is_gpu(gpu))
        result = CUDA_INVALID_DEVICE;
    if (result == CUDA_OK) {
        *uuid = (struct cuda_uuid){ { 'G', (unsigned char)gpu } };
        if (visible)
            strncpy((char *)uuid->bytes + 2, visible, sizeof uuid->bytes - 2);
    }
    return result;
}

int stand_in_call_device_get_attribute(int *value, int attribute, int gpu)
{
    int result = stand_in_enter("cuDeviceGetAttribute", false);
    if (result == CUDA_OK && !is_gpu(gpu))
        result = CUDA_INVALID_DEVICE;
    if (result == CUDA_OK)
        *value = attribute == CUDA_ATTRIBUTE_MEMORY_POOLS
                     ? stand_in_number("pools", 0)
                     : attribute == CUDA_ATTRIBUTE_UNIFIED_ADDRESSING;
    return result;
}

int stand_in_call_device_get_name(char *name, int size, int gpu)
{
    int result = stand_in_enter("cuDeviceGetName", false);
    if (result == CUDA_OK && (!is_gpu(gpu) || size < 1))
        result = is_gpu(gpu) ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
    if (result == CUDA_OK)
        snprintf(name, (size_t)size, "stand-in GPU %d", gpu);
    return result;
}

int stand_in_call_primary_retain(struct cuda_context **context, int gpu)
{
    int result = stand_in_enter("cuDevicePrimaryCtxRetain", false);
    if (result == CUDA_OK && !is_gpu(gpu))
        result = CUDA_INVALID_DEVICE;
    if (result != CUDA_OK)
        return result;
    atomic_fetch_add(&contexts[gpu].retained, 1);
    *context = &contexts[gpu];
    return CUDA_OK;
}

int stand_in_call_primary_release(int gpu)
{
    int result = stand_in_enter("cuDevicePrimaryCtxRelease", false);
    if (result == CUDA_OK && (!is_gpu(gpu) || atomic_load(&contexts[gpu].retained) == 0))
        result = CUDA_INVALID_CONTEXT;
    if (result == CUDA_OK)
        atomic_fetch_sub(&contexts[gpu].retained, 1);
    return result;
}

int stand_in_call_push(struct cuda_context *context)
{
    int result = stand_in_enter("cuCtxPushCurrent", false);
    if (result == CUDA_OK && (!context || atomic_load(&context->retained) == 0))
        result = CUDA_INVALID_CONTEXT;
    if (result != CUDA_OK)
        return result;
    if (depth == STACK_MAX)
        abort();
    stack[depth++] = context;
    atomic_fetch_add(&pushed, 1);
    return CUDA_OK;
}

/* A broken context can still be popped. */
int stand_in_call_pop(struct cuda_context **context)
{
    if (depth == 0)
        return CUDA_INVALID_CONTEXT;
    *context = stack[--depth];
    atomic_fetch_sub(&pushed, 1);
    return CUDA_OK;
}

int stand_in_current(void)
{
    return (int)(stack[depth - 1] - contexts);
}

void stand_in_count_contexts(struct stand_in_holdings *holdings)
{
    for (int i = 0; i < GPUS_MAX; i++)
        holdings->contexts += atomic_load(&contexts[i].retained);
    holdings->pushed = atomic_load(&pushed);
}
