# SPDX-License-Identifier: Apache-2.0
# Predictions in virtual time. Reductions only count; tests/unit/bench/ has the tests.
noinst_LTLIBRARIES += bench/libprediction.la
bench_libprediction_la_SOURCES = \
	bench/prediction/cluster.c bench/prediction/cluster.h \
	bench/prediction/counted_reduce.c bench/prediction/counted_reduce.h \
	bench/prediction/event_queue.c bench/prediction/event_queue.h \
	bench/prediction/measured.c bench/prediction/measured.h \
	bench/prediction/replay.c bench/prediction/replay.h bench/prediction/replay_impl.h \
	bench/prediction/replay_agreement.c \
	bench/prediction/replay_data.c
bench_libprediction_la_CPPFLAGS = $(AM_CPPFLAGS)
bench_libprediction_la_LIBADD = examples/libsynthetic.la
prediction_ldflags = -Wl,--wrap=reduce_function,--wrap=divide_function

noinst_PROGRAMS += bench/predict
bench_predict_SOURCES = bench/predict.c
bench_predict_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_predict_LDFLAGS = $(AM_LDFLAGS) $(prediction_ldflags)
bench_predict_LDADD = bench/libprediction.la lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS) -lm -lpthread

# Measurements, which are built but neither installed nor run by the tests; not with sanitizers, which are slow.
if !SANITIZERS
noinst_PROGRAMS += bench/reduce
bench_reduce_SOURCES = bench/reduce.c
bench_reduce_LDADD = lib/libhvd_internal.la

noinst_PROGRAMS += bench/streaming
bench_streaming_SOURCES = bench/streaming.c bench/support/sample.c bench/support/sample.h
bench_streaming_LDADD = lib/libhvd_internal.la -lm -lpthread

noinst_PROGRAMS += bench/encryption
bench_encryption_SOURCES = bench/encryption.c bench/support/sample.c bench/support/sample.h
bench_encryption_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS) -lm

noinst_PROGRAMS += bench/negotiation
bench_negotiation_SOURCES = bench/negotiation.c bench/support/sample.c bench/support/sample.h
bench_negotiation_LDADD = lib/libhvd_internal.la lib/base/libbase.la -lm

# Through the public calls only.
noinst_PROGRAMS += bench/elastic_commit bench/elastic_loss bench/idle bench/init
bench_support = bench/support/sample.c bench/support/sample.h

bench_elastic_commit_SOURCES = bench/elastic_commit.c $(bench_support)
bench_elastic_commit_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_elastic_commit_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_elastic_commit_LDADD = lib/libhvd.la

bench_elastic_loss_SOURCES = bench/elastic_loss.c bench/support/instant.c bench/support/instant.h $(bench_support)
bench_elastic_loss_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_elastic_loss_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_elastic_loss_LDADD = lib/libhvd.la

bench_idle_SOURCES = bench/idle.c $(bench_support)
bench_idle_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_idle_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_idle_LDADD = lib/libhvd.la

bench_init_SOURCES = bench/init.c
bench_init_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_init_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_init_LDADD = lib/libhvd.la

# Output and the loss of a rank, for bench/output.sh and bench/loss.sh
noinst_PROGRAMS += bench/lines bench/loss
bench_lines_SOURCES = bench/lines.c $(bench_support)
bench_loss_SOURCES = bench/loss.c bench/support/instant.c bench/support/instant.h $(bench_support)
bench_loss_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_loss_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_loss_LDADD = lib/libhvd.la

# Clients of a rendezvous.
if PROGRAMS
noinst_PROGRAMS += bench/rendezvous
bench_rendezvous_SOURCES = bench/rendezvous.c bench/rendezvous.h \
	bench/rendezvous_http.c \
	bench/rendezvous_join.c \
	bench/support/crowd.c bench/support/crowd.h $(bench_support)
bench_rendezvous_LDADD = rendezvous/librendezvous.la lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(CJSON_LIBS) $(UV_LIBS) -lm
endif

EXTRA_DIST += bench/elastic.sh bench/elastic_horovod.py bench/elastic_scenarios.sh bench/elastic_torch.py bench/python_collective.py bench/hosts.sh bench/idle.sh bench/loss.sh bench/output.sh bench/predict.sh bench/rendezvous.sh bench/scale.sh bench/support/quiet.sh bench/synthetic.sh bench/unauthenticated.sh

# The comparison: libhvd through its public calls, and what the hardware and the kernel allow. Its peers (bench/peer_*) are not
# built here: bench/run does so where they are installed.
noinst_LTLIBRARIES += bench/libpeer.la
bench_libpeer_la_SOURCES = \
	bench/support/gradient_set.c bench/support/gradient_set.h \
	bench/support/peer.c bench/support/peer.h \
	bench/support/slots.c bench/support/slots.h \
	bench/support/verify.c bench/support/verify.h \
	bench/support/world.c bench/support/world.h $(bench_support)
bench_libpeer_la_CPPFLAGS = $(AM_CPPFLAGS)
bench_libpeer_la_LIBADD = examples/libmodels.la

noinst_PROGRAMS += bench/bound_line bench/bound_private bench/bound_shared bench/bound_socket \
	bench/collective bench/layers bench/wall
bench_bound_line_LDADD = bench/libpeer.la
bench_bound_private_LDADD = bench/libpeer.la lib/libhvd_internal.la
bench_bound_shared_LDADD = bench/libpeer.la lib/libhvd_internal.la
bench_bound_socket_LDADD = bench/libpeer.la lib/libhvd_internal.la
bench_layers_LDADD = bench/libpeer.la
bench_wall_LDADD = bench/libpeer.la

bench_collective_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
bench_collective_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_collective_LDADD = bench/libpeer.la lib/libhvd.la

EXTRA_DIST += bench/run bench/report bench/peer_gloo.cc bench/peer_mpi.c bench/peer_torch.py \
	bench/support/aims.awk bench/support/gloo_init.sh bench/support/once.sh bench/support/options.sh \
	bench/support/turn_state.awk bench/support/peers.sh bench/support/reno.sh bench/support/state.awk \
	bench/support/statistics.awk bench/support/table.awk bench/support/turns.sh
endif
