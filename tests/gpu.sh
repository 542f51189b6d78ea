#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu.sh BUILDDIR [-np 'N...']: on a machine with a GPU of NVIDIA: runs the unit tests of lib/cuda, then collectives of tensors
# in its memory at 2 and 4 ranks on this GPU, through the host, out of the memory of other ranks and, where each rank has a GPU, with
# NCCL, also as if half of the ranks were on another host. It prints how fast the driver copies, and hvd-bandwidth's table of all collectives, and runs tests/gpu/torch_cases.py where PyTorch has CUDA. It is no
# part of "make check". CUDA_HOME has cuda.h (/usr/local/cuda), GPU_BYTES is the size of the largest tensors (67108864), PYTHON
# the interpreter.
set -eu
build=${1:?the build directory}
shift
ranks='2 4'
[ "${1-}" != -np ] || ranks=$2
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
toolkit=${CUDA_HOME:-/usr/local/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -f "$toolkit/include/cuda.h" ] || {
    echo "gpu.sh: no $toolkit/include/cuda.h: set CUDA_HOME" >&2
    exit 1
}
make -C "$build" check TESTS='tests/unit/lib/cuda/cuda_device_test tests/unit/lib/cuda/cuda_ordinal_test
    tests/unit/lib/cuda/kernels_ptx_test tests/unit/lib/cuda/nccl_test tests/unit/lib/cuda/nccl_gather_test
    tests/unit/lib/cuda/nccl_alltoall_test tests/unit/lib/cuda/nccl_failure_test
    tests/unit/lib/cuda/hierarchy_test tests/unit/lib/cuda/hierarchy_failure_test tests/unit/lib/cuda/hierarchy_plan_test
    tests/unit/lib/cuda/ipc_test tests/unit/lib/cuda/ipc_failure_test tests/unit/lib/cuda/ipc_lock_test tests/program/cuda_toolkit_test.sh'

stage=$work/stage
make -s -C "$build" install prefix="$stage" >/dev/null
libdir=$(make -s --no-print-directory -C "$build" print-directories prefix="$stage" | sed -n 's/^libdir=//p')
"${CC:-cc}" -O2 -I"$stage/include" -isystem "$toolkit/include" "$here/gpu/collectives.c" -o "$work/collectives" \
    -L"$libdir" -Wl,-rpath,"$libdir" -lhvd -L"$toolkit/lib64/stubs" -lcuda

bytes=${GPU_BYTES:-67108864}
# in_job RANKS NCCL IPC [OPTION]... COMMAND [ARGUMENT]...
in_job() { in_job_by "" "$@"; }
in_job_by() {
    by=$1
    shift
    ranks_of_job=$1 with_nccl=$2 with_ipc=$3
    shift 3
    ${by:+sh "$by" --job} "$stage/bin/hvdrun" -np "$ranks_of_job" -x HVD_CUDA_SHARE=1 -x HVD_CUDA_NCCL="$with_nccl" -x HVD_CUDA_IPC="$with_ipc" "$@"
}

python=${PYTHON:-python3} with_torch=yes
packages=$(dirname "$(find "$stage" -path '*/hvd/torch/__init__.py')")
packages=${packages%/hvd/torch}
"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || with_torch=
[ -n "$with_torch" ] || echo "gpu.sh: $python has no PyTorch with CUDA: hvd.torch is left out" >&2

nvidia-smi -L 2>/dev/null || echo "gpu.sh: no nvidia-smi: is there a GPU?" >&2
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || :)
for np in $ranks; do
    for way in '0 0' '0 1' '1 0'; do
        nccl=${way% *} ipc=${way#* }
        [ "$nccl" = 0 ] || [ "$gpus" -ge "$np" ] || continue # NCCL wants a GPU for each rank
        echo "ranks $np, HVD_CUDA_NCCL=$nccl, HVD_CUDA_IPC=$ipc"
        in_job "$np" "$nccl" "$ipc" -x HVD_DEVICE=cuda "$work/collectives" "$bytes"
        in_job "$np" "$nccl" "$ipc" "$stage/bin/hvd-bandwidth" --device cuda --operation all -b 4K -f 4 -e "$bytes"
        [ -z "$with_torch" ] || in_job "$np" "$nccl" "$ipc" -x PYTHONPATH="$packages" "$python" "$here/gpu/torch_cases.py"
    done
    [ "$gpus" -ge "$np" ] && [ "$np" -ge 3 ] || continue
    sh "$here/gpu/two_hosts.sh" --can || {
        echo "gpu.sh: no UTS namespaces here: NCCL within hosts and libhvd between them is left out" >&2
        continue
    }
    echo "ranks $np, as if on two hosts, --hierarchical-allreduce"
    two=$here/gpu/two_hosts.sh
    in_job_by "$two" "$np" 1 0 -x HVD_DEVICE=cuda --hierarchical-allreduce sh "$two" "$work/collectives" "$bytes"
    in_job_by "$two" "$np" 1 0 --hierarchical-allreduce sh "$two" "$stage/bin/hvd-bandwidth" --device cuda -b 4K -f 4 -e "$bytes"
done
