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
