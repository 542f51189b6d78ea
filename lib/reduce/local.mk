# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/reduce/half.h \
	lib/reduce/reduce.c lib/reduce/reduce.h \
	lib/reduce/reduce_avx2.c \
	lib/reduce/reduce_avx512.c \
	lib/reduce/reduce_loops.h \
	lib/reduce/reduce_neon.c \
	lib/reduce/reduce_pairs.h \
	lib/reduce/reduce_path.h \
	lib/reduce/reduce_portable.c \
	lib/reduce/thread_pool.c lib/reduce/thread_pool.h
