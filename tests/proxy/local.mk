# SPDX-License-Identifier: Apache-2.0
# Bytes that are cut, flipped, doubled, stalled: a proxy between two of our programs, and what they do about it.
wire_relay = \
	tests/proxy/relay.c tests/proxy/relay.h \
	tests/proxy/wire_fault.c tests/proxy/wire_fault.h

check_PROGRAMS += tests/proxy/proxy
tests_proxy_proxy_SOURCES = tests/proxy/proxy.c $(wire_relay)
tests_proxy_proxy_LDADD =

# A rank's small job, and jobs like it with a fault in their connections
if PROGRAMS
check_PROGRAMS += tests/proxy/wire_faults tests/proxy/wire_worker
tests_proxy_wire_faults_SOURCES = tests/proxy/wire_faults.c $(wire_relay) \
	tests/proxy/trial.c tests/proxy/trial.h tests/proxy/trial_jobs.c \
	tests/support/mini_rendezvous.c tests/support/mini_rendezvous.h
tests_proxy_wire_faults_CFLAGS = $(AM_CFLAGS)
tests_proxy_wire_faults_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS)
tests_proxy_wire_worker_LDADD = lib/libhvd.la
tests_proxy_wire_worker_LDFLAGS = $(AM_LDFLAGS) -no-install
TESTS += tests/proxy/lossy_network_test.sh tests/proxy/wire_faults_test.sh

# Every byte and every fault takes hours; WIRE_FAULTS='--sample 2000' less.
WIRE_FAULTS = --jobs 8
wire-faults: tests/stage.stamp tests/proxy/wire_faults tests/proxy/wire_worker tests/proxy/proxy
	$(AM_TESTS_ENVIRONMENT) \
	PROXY='$(abs_builddir)/tests/proxy/proxy' WIRE_WORKER='$(abs_builddir)/tests/proxy/wire_worker' \
		tests/proxy/wire_faults $(WIRE_FAULTS)

# An hour of lost packets, for each share of them
LOSSY_NETWORK_S = 3600
LOSSY_NETWORK_PERCENTS = 1 5
lossy-network: tests/stage.stamp tests/support/world
	$(AM_TESTS_ENVIRONMENT) LOSSY_NETWORK_S=$(LOSSY_NETWORK_S) LOSSY_NETWORK_PERCENTS='$(LOSSY_NETWORK_PERCENTS)' sh $(srcdir)/tests/proxy/lossy_network_test.sh
endif

EXTRA_DIST += tests/proxy/lossy_network_test.sh tests/proxy/wire_faults_test.sh

if HAVE_CHECK
check_PROGRAMS += tests/proxy/link_wire_test tests/proxy/wire_fault_test
TESTS += tests/proxy/link_wire_test tests/proxy/wire_fault_test
tests_proxy_link_wire_test_SOURCES = tests/proxy/link_wire_test.c $(wire_relay)
tests_proxy_wire_fault_test_SOURCES = tests/proxy/wire_fault_test.c \
	tests/proxy/wire_fault.c tests/proxy/wire_fault.h
tests_proxy_wire_fault_test_LDADD = $(CHECK_LIBS)
endif
