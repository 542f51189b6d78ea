# SPDX-License-Identifier: Apache-2.0
# NVIDIA GPUs: a module that libhvd loads when it is wanted. It loads the driver itself, so it needs no CUDA to be built.
noinst_LTLIBRARIES += lib/cuda/libcuda_module.la
lib_cuda_libcuda_module_la_SOURCES = \
	lib/base/boolean.c lib/base/boolean.h \
	lib/base/cuda_settings.c lib/base/cuda_settings.h \
	lib/base/encryption.c lib/base/encryption.h \
	lib/base/quiet_thread.c lib/base/quiet_thread.h \
	lib/base/status.c lib/base/status.h \
	lib/cuda/cuda_device.c lib/cuda/cuda_device.h \
	lib/cuda/cuda_memory.c \
	lib/cuda/cuda_module.c lib/cuda/cuda_module.h \
	lib/cuda/cuda_ordinal.c lib/cuda/cuda_ordinal.h \
	lib/cuda/cuda_table.c \
	lib/cuda/driver.c lib/cuda/driver.h \
	lib/cuda/driver_abi.h \
	lib/cuda/group.c \
	lib/cuda/group_agree.c \
	lib/cuda/group_collective.c \
	lib/cuda/group_host.c \
	lib/cuda/group_records.c \
	lib/cuda/group_rows.c \
	lib/cuda/group_work.c \
	lib/cuda/hierarchy.c lib/cuda/hierarchy.h \
	lib/cuda/hierarchy_agree.c \
	lib/cuda/hierarchy_impl.h \
	lib/cuda/hierarchy_plan.c lib/cuda/hierarchy_plan.h \
	lib/cuda/hierarchy_within.c \
	lib/cuda/ipc.h \
	lib/cuda/ipc_agree.c \
	lib/cuda/ipc_allreduce.c \
	lib/cuda/ipc_buffer.c \
	lib/cuda/ipc_lock.c lib/cuda/ipc_lock.h \
	lib/cuda/kernels.c lib/cuda/kernels.h \
	lib/cuda/kernels_ptx.c lib/cuda/kernels_ptx.h \
	lib/cuda/kernels_ptx_impl.h \
	lib/cuda/kernels_ptx_reduce.c \
	lib/cuda/nccl.c lib/cuda/nccl.h \
	lib/cuda/nccl_abi.h \
	lib/cuda/reducer.c lib/cuda/reducer.h \
	lib/cuda/reducer_impl.h \
	lib/cuda/ticket.c
lib_cuda_libcuda_module_la_CFLAGS = $(AM_CFLAGS)

pkglib_LTLIBRARIES += lib/cuda/hvd_cuda.la
lib_cuda_hvd_cuda_la_SOURCES =
lib_cuda_hvd_cuda_la_LIBADD = lib/cuda/libcuda_module.la -lpthread
lib_cuda_hvd_cuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^hvd_device_module$$' -no-undefined

# For hvdrun --check-build and --check-hosts
if PROGRAMS
agent_PROGRAMS += hvd-cuda-info
hvd_cuda_info_SOURCES = lib/cuda/cuda_info.c
hvd_cuda_info_CPPFLAGS = $(AM_CPPFLAGS) -DINFO_DIRECTORY='"$(agentdir)"' -DMODULE_DIRECTORY='"$(pkglibdir)"'
hvd_cuda_info_LDADD = lib/cuda/libcuda_module.la -lpthread
endif
