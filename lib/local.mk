# SPDX-License-Identifier: Apache-2.0
# What runs inside a training process, and the base that every side shares.

noinst_LTLIBRARIES += lib/base/libbase.la lib/libhvd_internal.la
lib_LTLIBRARIES += lib/libhvd.la
include_HEADERS += lib/hvd.h lib/hvd.hpp lib/hvd_cuda.h lib/hvd_device.h lib/hvd_elastic.h lib/hvd_optimizer.h lib/hvd_training.h
paths_install += $(pkgconfigdir)/hvd.pc:lib/hvd.pc.in
EXTRA_DIST += lib/hvd.pc.in

include lib/base/local.mk

# All of libhvd with nothing hidden: what libhvd is made from and what its unit tests link.
lib_libhvd_internal_la_SOURCES = \
	lib/hvd.c lib/hvd.h \
	lib/hvd_collectives.c \
	lib/hvd_cuda.c \
	lib/hvd_device.c \
	lib/hvd_memory.c \
	lib/hvd_process_sets.c \
	lib/process.c lib/process.h \
	lib/vendor.c lib/vendor.h \
	lib/world.c lib/world.h

include lib/memory/local.mk
include lib/device/local.mk
include lib/reduce/local.mk
include lib/link/local.mk
include lib/collective/local.mk
include lib/request/local.mk
include lib/negotiation/local.mk
include lib/pmi/local.mk
include lib/serve/local.mk
include lib/join/local.mk
include lib/timeline/local.mk
include lib/stall/local.mk
include lib/autotune/local.mk
include lib/engine/local.mk
include lib/training/local.mk
include lib/fortran/local.mk
include lib/cuda/local.mk

lib_libhvd_internal_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS) $(PMIX_CFLAGS)
lib_libhvd_internal_la_LIBADD = lib/base/libbase.la $(SODIUM_LIBS) -lm -lpthread

# current:revision:age. Before a release, in this order: any change, revision + 1; a call or value
# added, changed or removed, current + 1 and revision 0; only added, age + 1; changed or removed,
# age 0.
lib_libhvd_la_SOURCES =
lib_libhvd_la_LIBADD = lib/libhvd_internal.la $(SODIUM_LIBS) -lm -lpthread
lib_libhvd_la_LDFLAGS = $(AM_LDFLAGS) $(LIBHVD_LDFLAGS) -version-info 0:0:0 $(LIBHVD_EXPORTS) -no-undefined
EXTRA_lib_libhvd_la_DEPENDENCIES = lib/libhvd.map
EXTRA_DIST += lib/libhvd.abi lib/libhvd.map

# Writes down the ABI that tests/program/abi_test.sh holds the library to, and the same for Debian's package.
accept-abi: lib/libhvd.la
	CC='$(CC)' $(SHELL) $(srcdir)/tests/support/abi.sh '$(abs_top_srcdir)/lib' lib/.libs/libhvd.so >lib/libhvd.abi.new
	mv lib/libhvd.abi.new $(srcdir)/lib/libhvd.abi
	$(SHELL) $(srcdir)/packaging/debian/make-symbols >lib/libhvd0.symbols
	mv lib/libhvd0.symbols $(srcdir)/packaging/debian/libhvd0.symbols
