#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where NVIDIA's toolkit is installed (CUDA_HOME, /usr/local/cuda, or in PATH): our declarations of the driver agree with
# cuda.h, and its assembler takes the kernels.
. "$srcdir/tests/tap.sh"

toolkit=${CUDA_HOME:-/usr/local/cuda}
ptxas=$(command -v ptxas || echo "$toolkit/bin/ptxas")

cat >"$tmp/abi.c" <<-'.'
	#include <cuda.h>
	#include <stdio.h>
	#include <string.h>
	#include "lib/cuda/driver_abi.h"
	#define SAME(ours, theirs) _Static_assert((int)ours == (int)theirs, #ours);
	SAME(CUDA_OK, CUDA_SUCCESS)
	SAME(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE)
	SAME(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)
	SAME(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED)
	SAME(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE)
	SAME(CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE)
	SAME(CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT)
	SAME(CUDA_PEER_ACCESS_UNSUPPORTED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
	SAME(CUDA_INVALID_PTX, CUDA_ERROR_INVALID_PTX)
	SAME(CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE)
	SAME(CUDA_NOT_FOUND, CUDA_ERROR_NOT_FOUND)
	SAME(CUDA_NOT_READY, CUDA_ERROR_NOT_READY)
	SAME(CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS)
	SAME(CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED)
	SAME(CUDA_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED)
	SAME(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN)
	SAME(CUDA_ATTRIBUTE_UNIFIED_ADDRESSING, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
	SAME(CUDA_ATTRIBUTE_MEMORY_POOLS, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
	SAME(CUDA_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
	SAME(CUDA_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED)
	SAME(CUDA_POINTER_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
	SAME(CUDA_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE)
	SAME(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING)
	SAME(CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING)
	SAME(CUDA_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE)
	SAME(CUDA_IPC_LAZY_PEER_ACCESS, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
	SAME(sizeof(struct cuda_ipc_handle), sizeof(CUipcMemHandle))
	SAME(sizeof(struct cuda_uuid), sizeof(CUuuid))
	SAME(sizeof(uint64_t), sizeof(CUdeviceptr))
	SAME(sizeof(int), sizeof(CUdevice))
	SAME(sizeof(int), sizeof(CUresult))
	SAME(sizeof(int), sizeof(CUdevice_attribute))
	SAME(sizeof(int), sizeof(CUjit_option))
	#define TEXT(name) #name
	#define EXPANDED(name) TEXT(name)
	#define COMPARE(member, name, suffix, parameters) \
	    printf("%s\n", strcmp(EXPANDED(name), #name suffix) == 0 ? "same" : "other: " #name suffix);
	int main(void)
	{
	    CUDA_CALLS(COMPARE)
	    return 0;
	}
.
if [ -f "$toolkit/include/cuda.h" ]; then
    # shellcheck disable=SC2086  # a command with its options
    ok "sizes and numbers are those of cuda.h" $CC -std=gnu11 -I"$srcdir" -isystem "$toolkit/include" "$tmp/abi.c" -o "$tmp/abi"
    run "$tmp/abi"
    is "and the versions of the entry points" '' "$(grep -v '^same$' "$tmp/out")"
    ok "all of which cuda.h has" [ "$(wc -l <"$tmp/out")" -gt 20 ]
else
    skip "sizes and numbers are those of cuda.h" "no $toolkit/include/cuda.h"
fi

cat >"$tmp/nccl.c" <<-'.'
	#include <nccl.h>
	#include <stddef.h>
	#include "lib/cuda/nccl_abi.h"
	#define SAME(ours, theirs) _Static_assert((long)ours == (long)theirs, #ours);
	SAME(NCCL_OK, ncclSuccess)
	SAME(NCCL_IN_PROGRESS, ncclInProgress)
	SAME(NCCL_INT8, ncclInt8)
	SAME(NCCL_UINT8, ncclUint8)
	SAME(NCCL_INT32, ncclInt32)
	SAME(NCCL_INT64, ncclInt64)
	SAME(NCCL_FLOAT16, ncclFloat16)
	SAME(NCCL_FLOAT32, ncclFloat32)
	SAME(NCCL_FLOAT64, ncclFloat64)
	SAME(NCCL_BFLOAT16, ncclBfloat16)
	SAME(NCCL_SUM, ncclSum)
	SAME(NCCL_PRODUCT, ncclProd)
	SAME(NCCL_MAX, ncclMax)
	SAME(NCCL_MIN, ncclMin)
	SAME(NCCL_AVERAGE, ncclAvg)
	SAME(sizeof(struct nccl_id), sizeof(ncclUniqueId))
	SAME(offsetof(struct nccl_config, magic), offsetof(ncclConfig_t, magic))
	SAME(offsetof(struct nccl_config, version), offsetof(ncclConfig_t, version))
	SAME(offsetof(struct nccl_config, blocking), offsetof(ncclConfig_t, blocking))
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	int main(void)
	{
	    return config.magic != NCCL_CONFIG_MAGIC;
	}
.
if [ -f "$toolkit/include/nccl.h" ]; then
    # shellcheck disable=SC2086  # a command with its options
    ok "what is declared of NCCL is that of nccl.h" \
        $CC -std=gnu11 -I"$srcdir" -isystem "$toolkit/include" "$tmp/nccl.c" -o "$tmp/nccl"
    run "$tmp/nccl"
    is "and so is the number that marks a configuration" 0 "$status"
else
    skip "what is declared of NCCL is that of nccl.h" "no $toolkit/include/nccl.h"
fi

if [ -x "$ptxas" ]; then
    "$builddir/tests/support/print_ptx" >"$tmp/kernels.ptx"
    for target in $("$ptxas" --help | grep -oE "'sm_[0-9]+'" | tr -d "'" | sort -u | grep -xE 'sm_(60|70|75|80|90|100|120)'); do
        ok "ptxas assembles the kernels for $target" "$ptxas" -arch="$target" "$tmp/kernels.ptx" -o "$tmp/kernels.cubin"
    done
    echo '.version 6.0
.target sm_60
.address_size 64
.visible .entry wrong() { add.rn.u32 %z, %x, %y; ret; }' >"$tmp/wrong.ptx"
    ok "and not just anything" not "$ptxas" -arch=sm_90 "$tmp/wrong.ptx" -o "$tmp/wrong.cubin" 2>"$tmp/wrong.err"
else
    skip "ptxas assembles the kernels" "no ptxas"
fi
finish
