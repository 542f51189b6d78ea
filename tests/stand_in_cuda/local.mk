# SPDX-License-Identifier: Apache-2.0
# Stand-ins for the CUDA driver and NCCL. Tests load them before the module wants libcuda.so.1 and libnccl.so.2, which are
# their sonames, too.
check_LTLIBRARIES += tests/stand_in_cuda/libcuda.la tests/stand_in_cuda/libnccl.la
tests_stand_in_cuda_libcuda_la_SOURCES = \
	lib/cuda/driver_abi.h \
	tests/stand_in_cuda/stand_in.h \
	tests/stand_in_cuda/stand_in_context.c \
	tests/stand_in_cuda/stand_in_faults.c \
	tests/stand_in_cuda/stand_in_ipc.c \
	tests/stand_in_cuda/stand_in_kernel.c \
	tests/stand_in_cuda/stand_in_memory.c \
	tests/stand_in_cuda/stand_in_ptx.c \
	tests/stand_in_cuda/stand_in_stream.c
tests_stand_in_cuda_libcuda_la_CFLAGS = $(AM_CFLAGS)
tests_stand_in_cuda_libcuda_la_LIBADD = -lpthread -lm
tests_stand_in_cuda_libcuda_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -shared -rpath /nowhere
tests_stand_in_cuda_libnccl_la_SOURCES = \
	lib/cuda/nccl_abi.h \
	tests/stand_in_cuda/stand_in_nccl.c tests/stand_in_cuda/stand_in_nccl.h
tests_stand_in_cuda_libnccl_la_CFLAGS = $(AM_CFLAGS)
tests_stand_in_cuda_libnccl_la_LIBADD = tests/stand_in_cuda/libcuda.la
tests_stand_in_cuda_libnccl_la_LDFLAGS = $(AM_LDFLAGS) -version-info 2:0:0 -shared -rpath /nowhere

# For a machine with a GPU, by hand
EXTRA_DIST += tests/gpu.sh tests/gpu/collectives.c tests/gpu/torch_cases.py tests/gpu/two_hosts.sh
