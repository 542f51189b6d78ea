#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HVD_DEVICE=cuda in jobs: what comes of a driver that is missing, old or without a GPU, of more ranks than GPUs, and of a GPU
# that fails. The driver is the stand-in of tests/stand_in_cuda; nothing here runs on a GPU.
. "$srcdir/tests/tap.sh"

stand_in=$builddir/tests/stand_in_cuda/.libs
# job WORDS RANKS [OPTION]...: a job that opens the device of HVD_DEVICE=cuda, on a driver as the words say.
job() {
    words=$1 np=$2
    shift 2
    run "$HVDRUN" -np "$np" -x HVD_DEVICE=cuda -x LD_LIBRARY_PATH="$STAGE$LIBDIR:$stand_in" -x STAND_IN_CUDA="$words" \
        -x HVD_CUDA_NCCL=0 "$@" \
        sh -c 'trap "" TERM; exec "$0"' "$HELLO" # what it says is heard, also when hvdrun stops it
}

# refused SENTENCE PATTERN: the job failed, and says why.
refused() {
    ok "$1" [ "$status" -ne 0 ]
    like "... and says why" "$2" "$tmp/err"
}

job gpus=2 2
is "ranks with a GPU each run" 0 "$status"
job 'gpus=2 driver=10020' 2
refused "an old driver ends the job" 'HVD_DEVICE=cuda: the driver is that of CUDA 10\.2, at least 11\.4 is needed'
job gpus=0 1
refused "so does a driver without a GPU" 'HVD_DEVICE=cuda: the driver finds no GPU'
job gpus=2 1 -x CUDA_VISIBLE_DEVICES=
refused "and one that may show none" "the driver shows no GPU \\(CUDA_VISIBLE_DEVICES is ''\\)"
job gpus=2 3
refused "more ranks than GPUs end the job" \
    'local rank 2 of 3 has no GPU of its own, the driver shows 2; HVD_CUDA_SHARE=1 lets ranks share a GPU'
job gpus=2 3 -x HVD_CUDA_SHARE=1
is "unless they may share them" 0 "$status"
job gpus=4 2 -x CUDA_VISIBLE_DEVICES=3
is "or CUDA_VISIBLE_DEVICES names one" 0 "$status"
job 'rank=1 fail=cuDevicePrimaryCtxRetain:1:2' 2
refused "a GPU that one rank cannot use ends the job" \
    'rank 1 on .*: HVD_DEVICE=cuda: GPU 1: cuDevicePrimaryCtxRetain: out of memory \(CUDA_ERROR_OUT_OF_MEMORY\)'

# hvd-bandwidth: bandwidth WORDS RANKS [OPTION]...
bandwidth() {
    words=$1 np=$2
    shift 2
    run "$HVDRUN" -np "$np" -x LD_LIBRARY_PATH="$STAGE$LIBDIR:$stand_in" -x STAND_IN_CUDA="$words" -x HVD_CUDA_NCCL=0 \
        "$HVD_BANDWIDTH" -b 4K -e 4K -n 1 "$@"
}
bandwidth gpus=2 2 --device cuda --operation all
is "hvd-bandwidth measures in memory of GPUs" 0 "$status"
is "and names them" "0 stand-in GPU 0 1 stand-in GPU 1" \
    "$(sed -n 's/^.*#  Rank .* device  \(.*\)/\1/p' "$tmp/out" | paste -sd' ')"
like "no element is wrong" '^\[0\]<stdout>:result ranks=2 operation=all .* wrong=0$' "$tmp/out"
bandwidth gpus=2 1 --device cuda:1 -q
is "it takes the GPU that it is told" 0 "$status"
bandwidth gpus=2 2 --device cuda:2
is "one that does not exist is a mistake of the command line" 2 "$status"
like "which is said once" 'hvd-bandwidth: rank 0: --device cuda:2: open cuda device: there is no GPU 2, the driver shows 2$' "$tmp/err"
bandwidth 'gpus=2 rank=1 fail=cuMemAlloc:2:2' 2 --device cuda
is "so is a size that does not fit" 2 "$status"
like "which names the rank" 'hvd-bandwidth: rank 1: --maxbytes: allocate cuda memory: 4097 bytes: cuMemAlloc: out of memory' "$tmp/err"
bandwidth gpus=0 2 --device cuda
is "without a GPU the status is 1" 1 "$status"
like "and the driver is heard" 'hvd-bandwidth: rank 0: --device cuda: open cuda device: the driver finds no GPU$' "$tmp/err"

# Large allreduces out of the memory of other ranks
# directly WORDS RANKS [OPTION]...: what rank 0 says about it is in err.
directly() {
    words=$1 np=$2
    shift 2
    run "$HVDRUN" -np "$np" -x LD_LIBRARY_PATH="$STAGE$LIBDIR:$stand_in" -x STAND_IN_CUDA="$words" -x HVD_CUDA_NCCL=0 \
        -x HOROVOD_LOG_LEVEL=info "$@" "$HVD_BANDWIDTH" -b 256K -e 256K -n 1 --device cuda --operation allreduce
}
directly gpus=2 2
is "ranks of one host reduce a large tensor" 0 "$status"
like "in each other's memory" "process set 0: ranks read each other's GPU memory\$" "$tmp/err"
like "and no element is wrong" '^\[0\]<stdout>:result ranks=2 operation=allreduce .* wrong=0$' "$tmp/out"
directly 'gpus=2 ipc=0' 2
is "where the driver does not share memory" 0 "$status"
like "it goes through the host, and one line says so" \
    'process set 0: tensors of GPUs go through the host: rank 0 \(cuda:0\) cannot share its memory: cuIpcGetMemHandle: operation not supported' \
    "$tmp/err"
directly 'gpus=2 peers=0' 2 -x HVD_CUDA_IPC=1
refused "what is demanded and cannot be ends the job" \
    'HVD_CUDA_IPC=1: rank 0 \(cuda:0\) cannot read the memory of rank 1 \(cuda:1\): cuIpcOpenMemHandle: peer access is not supported'
directly gpus=2 2 -x HVD_CUDA_IPC=2
refused "a value that is not 0 or 1 is refused" "HVD_CUDA_IPC: '2' is not 0 or 1"

# Large allreduces through NCCL within hosts and through the library between them
if sh "$srcdir/tests/gpu/two_hosts.sh" --can 2>/dev/null; then
    # on_two_hosts [OPTION]...: four ranks, which take themselves for ranks of two hosts.
    on_two_hosts() {
        run sh "$srcdir/tests/gpu/two_hosts.sh" --job "$HVDRUN" -np 4 -x LD_LIBRARY_PATH="$STAGE$LIBDIR:$stand_in" \
            -x STAND_IN_CUDA=gpus=4 -x HVD_CUDA_NCCL=1 -x HOROVOD_LOG_LEVEL=info "$@" sh "$srcdir/tests/gpu/two_hosts.sh" "$HVD_BANDWIDTH" -b 1M -e 1M -n 1 --device cuda \
            --operation allreduce
    }
    levels='process set 0: large allreduces of GPUs go through NCCL within each of 2 hosts, and between hosts through the library, on 2 of'
    on_two_hosts --encrypt require --hierarchical-allreduce
    is "ranks on two hosts reduce a large tensor with encryption" 0 "$status"
    like "through NCCL within each host and through the library between them" "$levels" "$tmp/err"
    like "and no element is wrong" '^\[0\]<stdout>:result ranks=4 operation=allreduce .* wrong=0$' "$tmp/out"
    on_two_hosts --encrypt require
    is "they go through the host without the option" 0 "$status"
    unlike "... without a line" "$levels" "$tmp/err"
    on_two_hosts --encrypt off
    unlike "without encryption NCCL has all of it by default" "$levels" "$tmp/err"
    on_two_hosts --encrypt off --hierarchical-allreduce
    like "unless the option wants it so" "$levels" "$tmp/err"
    on_two_hosts -x HOROVOD_HIERARCHICAL_ALLREDUCE=yes
    refused "a value that is no boolean is refused" "HOROVOD_HIERARCHICAL_ALLREDUCE: 'yes' is not 0, 1, true or false"
else
    skip "ranks on two hosts reduce a large tensor with encryption" "no UTS namespaces here"
fi

# What is there
nccl='NCCL: 2\.[0-9]+\.[0-9]+'
run env LD_LIBRARY_PATH="$stand_in" STAND_IN_CUDA=gpus=2 "$HVDRUN" --check-build
is "--check-build tells what of CUDA there is" 0 "$status"
sed '1,/^CUDA on this machine:$/d' "$tmp/out" >"$tmp/cuda"
is "module, driver and GPUs" "    module: $STAGE$LIBDIR/hvdrun/hvd_cuda.so|    driver: CUDA 12.4|    GPU 0: stand-in GPU 0|    GPU 1: stand-in GPU 1" \
    "$(sed '$d' "$tmp/cuda" | paste -sd'|')"
like "and NCCL" "^    $nccl\$" "$tmp/cuda"
run env LD_LIBRARY_PATH="$stand_in" STAND_IN_CUDA=gpus=0 "$HVDRUN" --check-build
like "a driver without a GPU has its own words" '^    the driver finds no GPU$' "$tmp/out"
run "$HVDRUN" --check-hosts -H localhost -x LD_LIBRARY_PATH="$stand_in" -x STAND_IN_CUDA='gpus=1 driver=12040'
is "so does --check-hosts, in the environment of the ranks" 0 "$status"
like "in a line below the table" \
    "^CUDA on localhost: module: /.*/hvdrun/hvd_cuda\\.so; driver: CUDA 12\\.4; GPU 0: stand-in GPU 0; $nccl\$" "$tmp/out"

run "$HVDRUN" -np 1 -x HVD_DEVICE=foo "$HELLO"
refused "a device that does not exist is refused" "HVD_DEVICE: 'foo' is not cuda or none"
run "$HVDRUN" -np 1 -x HVD_DEVICE=none "$HELLO"
is "none is none" 0 "$status"
if ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
    skip "without a driver it says so" "this machine has one"
    skip "... and says why" "this machine has one"
else
    run "$HVDRUN" -np 1 -x HVD_DEVICE=cuda -x LD_LIBRARY_PATH="$STAGE$LIBDIR" "$HELLO"
    refused "without a driver it says so" 'HVD_DEVICE=cuda: no driver: libcuda\.so\.1: cannot open shared object file'
fi
run "$HVDRUN" -np 1 -x HVD_DEVICE=cuda "$HELLO"
refused "without the module it says where that was expected" 'lib/\.libs/hvdrun/hvd_cuda\.so: cannot open shared object file'
cd "$STAGE$LIBDIR" || exit
run "$HVDRUN" -np 1 -x HVD_DEVICE=cuda -x LD_LIBRARY_PATH=. "$HELLO"
refused "a path that depends on the working directory is not trusted" \
    "hvdrun/hvd_cuda\\.so is looked for beside '\\./libhvd\\.so\\.[0-9]+', whose path is not absolute"
finish
