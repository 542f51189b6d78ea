# SPDX-License-Identifier: Apache-2.0
# Measurements, which are built but neither installed nor run by the tests.
noinst_PROGRAMS += bench/reduce
bench_reduce_SOURCES = bench/reduce.c
bench_reduce_LDADD = lib/libhvd_internal.la

# Through the public calls only.
noinst_PROGRAMS += bench/allreduce bench/gradients bench/idle bench/init
bench_support = bench/support/sample.c bench/support/sample.h

bench_allreduce_SOURCES = bench/allreduce.c $(bench_support)
bench_allreduce_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_allreduce_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_allreduce_LDADD = lib/libhvd.la

bench_gradients_SOURCES = bench/gradients.c bench/support/resnet50.c bench/support/resnet50.h $(bench_support)
bench_gradients_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_gradients_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_gradients_LDADD = examples/libmodels.la lib/libhvd.la

bench_idle_SOURCES = bench/idle.c $(bench_support)
bench_idle_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_idle_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_idle_LDADD = lib/libhvd.la

bench_init_SOURCES = bench/init.c
bench_init_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_init_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_init_LDADD = lib/libhvd.la

# Clients of a rendezvous.
if PROGRAMS
noinst_PROGRAMS += bench/rendezvous
bench_rendezvous_SOURCES = bench/rendezvous.c bench/rendezvous.h \
	bench/rendezvous_http.c \
	bench/rendezvous_join.c \
	bench/support/crowd.c bench/support/crowd.h $(bench_support)
bench_rendezvous_LDADD = rendezvous/librendezvous.la lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(HTTP_PARSER_LIBS) $(CJSON_LIBS) $(UV_LIBS) -lm
endif

# bench/mpi_allreduce.c needs an MPI; bench/compare.sh compiles it where there is one.
EXTRA_DIST += bench/compare.sh bench/hosts.sh bench/idle.sh bench/rendezvous.sh bench/mpi_allreduce.c bench/strangers.sh bench/support/quiet.sh bench/synthetic.sh
