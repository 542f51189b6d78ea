/* SPDX-License-Identifier: Apache-2.0 */
/* The binary interface of the CUDA driver (libcuda.so.1), as far as this folder uses it: the
 * project builds and installs without CUDA's headers.
 *
 * tests/program/cuda_toolkit_test.sh compares names, sizes and numbers with cuda.h where that is
 * installed. */
#ifndef LIB_CUDA_DRIVER_ABI_H
#define LIB_CUDA_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Results (CUresult). */
enum {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_INVALID_CONTEXT = 201,
    CUDA_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_INVALID_PTX = 218,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_FAILED = 719,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_UNKNOWN = 999
};

/* CUdevice_attribute, CUpointer_attribute, CUmemorytype, and flags. */
enum {
    CUDA_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CUDA_ATTRIBUTE_MEMORY_POOLS = 115,
    CUDA_POINTER_MEMORY_TYPE = 2,
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_ORDINAL = 9,
    CUDA_MEMORY_DEVICE = 2,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_DISABLE_TIMING = 2,
    CUDA_HOST_ALLOC_PORTABLE = 1,
    CUDA_IPC_LAZY_PEER_ACCESS = 1
};

struct cuda_context; /* CUcontext, CUstream, CUevent, CUmodule and CUfunction are pointers */
struct cuda_stream;
struct cuda_event;
struct cuda_module_image;
struct cuda_function;

struct cuda_uuid { /* CUuuid */
    unsigned char bytes[16];
};

struct cuda_ipc_handle { /* CUipcMemHandle, passed by value */
    char bytes[64];
};

/* CALL(member, name in cuda.h, suffix of the symbol, parameters): the entry points. Device memory
 * (CUdeviceptr) is a uint64_t. */
#define CUDA_CALLS(CALL)                                                                           \
    CALL(init, cuInit, "", (unsigned flags))                                                       \
    CALL(driver_get_version, cuDriverGetVersion, "", (int *version))                               \
    CALL(get_error_name, cuGetErrorName, "", (int error, const char **text))                       \
    CALL(get_error_string, cuGetErrorString, "", (int error, const char **text))                   \
    CALL(device_get_count, cuDeviceGetCount, "", (int *count))                                     \
    CALL(device_get, cuDeviceGet, "", (int *gpu, int ordinal))                                     \
    CALL(device_get_uuid, cuDeviceGetUuid, "_v2", (struct cuda_uuid * uuid, int gpu))              \
    CALL(device_get_attribute, cuDeviceGetAttribute, "", (int *value, int attribute, int gpu))     \
    CALL(device_get_name, cuDeviceGetName, "", (char *name, int size, int gpu))                    \
    CALL(primary_retain, cuDevicePrimaryCtxRetain, "", (struct cuda_context * *context, int gpu))  \
    CALL(primary_release, cuDevicePrimaryCtxRelease, "_v2", (int gpu))                             \
    CALL(push, cuCtxPushCurrent, "_v2", (struct cuda_context * context))                           \
    CALL(pop, cuCtxPopCurrent, "_v2", (struct cuda_context * *context))                            \
    CALL(host_alloc, cuMemHostAlloc, "", (void **memory, size_t nbytes, unsigned flags))           \
    CALL(host_free, cuMemFreeHost, "", (void *memory))                                             \
    CALL(copy_to_host, cuMemcpyDtoHAsync, "_v2",                                                   \
         (void *host, uint64_t memory, size_t nbytes, struct cuda_stream *stream))                 \
    CALL(copy_from_host, cuMemcpyHtoDAsync, "_v2",                                                 \
         (uint64_t memory, const void *host, size_t nbytes, struct cuda_stream *stream))           \
    CALL(mem_alloc, cuMemAlloc, "_v2", (uint64_t * memory, size_t nbytes))                         \
    CALL(mem_free, cuMemFree, "_v2", (uint64_t memory))                                            \
    CALL(mem_alloc_async, cuMemAllocAsync, "",                                                     \
         (uint64_t * memory, size_t nbytes, struct cuda_stream * stream))                          \
    CALL(mem_free_async, cuMemFreeAsync, "", (uint64_t memory, struct cuda_stream * stream))       \
    CALL(copy, cuMemcpyAsync, "",                                                                  \
         (uint64_t to, uint64_t from, size_t nbytes, struct cuda_stream * stream))                 \
    CALL(ipc_get_handle, cuIpcGetMemHandle, "",                                                    \
         (struct cuda_ipc_handle * handle, uint64_t memory))                                       \
    CALL(ipc_open, cuIpcOpenMemHandle, "_v2",                                                      \
         (uint64_t * memory, struct cuda_ipc_handle handle, unsigned flags))                       \
    CALL(ipc_close, cuIpcCloseMemHandle, "", (uint64_t memory))                                    \
    CALL(pointer_get_attribute, cuPointerGetAttribute, "",                                         \
         (void *value, int attribute, uint64_t memory))                                            \
    CALL(stream_create, cuStreamCreate, "", (struct cuda_stream * *stream, unsigned flags))        \
    CALL(stream_destroy, cuStreamDestroy, "_v2", (struct cuda_stream * stream))                    \
    CALL(stream_synchronize, cuStreamSynchronize, "", (struct cuda_stream * stream))               \
    CALL(event_create, cuEventCreate, "", (struct cuda_event * *event, unsigned flags))            \
    CALL(event_destroy, cuEventDestroy, "_v2", (struct cuda_event * event))                        \
    CALL(event_record, cuEventRecord, "",                                                          \
         (struct cuda_event * event, struct cuda_stream * stream))                                 \
    CALL(event_query, cuEventQuery, "", (struct cuda_event * event))                               \
    CALL(module_load, cuModuleLoadDataEx, "",                                                      \
         (struct cuda_module_image * *module, const void *image, unsigned count, int *options,     \
          void **values))                                                                          \
    CALL(module_unload, cuModuleUnload, "", (struct cuda_module_image * module))                   \
    CALL(module_get_function, cuModuleGetFunction, "",                                             \
         (struct cuda_function * *function, struct cuda_module_image * module, const char *name))  \
    CALL(launch, cuLaunchKernel, "",                                                               \
         (struct cuda_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,      \
          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_nbytes,            \
          struct cuda_stream *stream, void **parameters, void **extra))

#endif
