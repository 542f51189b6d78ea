# SPDX-License-Identifier: Apache-2.0
# A stand-in for the CUDA driver. Tests load it before the module wants libcuda.so.1, which is its soname, too.
check_LTLIBRARIES += tests/stand_in_cuda/libcuda.la
tests_stand_in_cuda_libcuda_la_SOURCES = \
	lib/cuda/driver_abi.h \
	tests/stand_in_cuda/stand_in.h \
	tests/stand_in_cuda/stand_in_context.c \
	tests/stand_in_cuda/stand_in_faults.c \
	tests/stand_in_cuda/stand_in_kernel.c \
	tests/stand_in_cuda/stand_in_memory.c \
	tests/stand_in_cuda/stand_in_ptx.c \
	tests/stand_in_cuda/stand_in_stream.c
tests_stand_in_cuda_libcuda_la_CFLAGS = $(AM_CFLAGS)
tests_stand_in_cuda_libcuda_la_LIBADD = -lpthread -lm
tests_stand_in_cuda_libcuda_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -shared -rpath /nowhere
