# SPDX-License-Identifier: Apache-2.0
# hvd-bandwidth and hvd-tune: what is measured first on a new cluster.
noinst_LTLIBRARIES += src/tools/libbandwidth.la
src_tools_libbandwidth_la_SOURCES = \
	src/tools/bandwidth_buffers.c src/tools/bandwidth_buffers.h \
	src/tools/bandwidth_data.c src/tools/bandwidth_data.h \
	src/tools/bandwidth_measure.c src/tools/bandwidth_measure.h \
	src/tools/bandwidth_memory.c src/tools/bandwidth_memory.h \
	src/tools/bandwidth_operations.c src/tools/bandwidth_operations.h \
	src/tools/bandwidth_options.c src/tools/bandwidth_options.h \
	src/tools/bandwidth_report.c src/tools/bandwidth_report.h
src_tools_libbandwidth_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
src_tools_libbandwidth_la_LIBADD = examples/libsupport.la -lm
if PROGRAMS
bin_PROGRAMS += hvd-bandwidth
hvd_bandwidth_SOURCES = src/tools/bandwidth.c
hvd_bandwidth_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
hvd_bandwidth_LDFLAGS = $(AM_LDFLAGS) $(LIBHVD_RPATH)
hvd_bandwidth_LDADD = src/tools/libbandwidth.la lib/libhvd.la
dist_bin_SCRIPTS += src/tools/hvd-tune
endif
