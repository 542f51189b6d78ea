# SPDX-License-Identifier: Apache-2.0
# Jobs that are killed: a program that starts real jobs, kills one of their processes at a random moment, and judges what is left.
if PROGRAMS
check_PROGRAMS += tests/chaos/chaos tests/chaos/chaos_worker tests/chaos/soak
tests_chaos_chaos_SOURCES = \
	tests/chaos/census.c tests/chaos/census.h \
	tests/chaos/chaos.c \
	tests/chaos/faults.c tests/chaos/faults.h \
	tests/chaos/launcher.c tests/chaos/launcher.h \
	tests/chaos/leftovers.c tests/chaos/leftovers.h \
	tests/chaos/members.c tests/chaos/members.h \
	tests/chaos/options.c tests/chaos/options.h \
	tests/chaos/oracle.c tests/chaos/oracle.h \
	tests/chaos/plan.c tests/chaos/plan.h \
	tests/chaos/tally.c tests/chaos/tally.h \
	tests/chaos/testbed.c tests/chaos/testbed.h \
	tests/chaos/trial.c tests/chaos/trial.h \
	tests/chaos/trial_job.c tests/chaos/trial_job.h
tests_chaos_chaos_LDADD =
tests_chaos_chaos_worker_SOURCES = tests/chaos/worker.c tests/chaos/worker_elastic.c tests/chaos/worker_elastic.h
tests_chaos_chaos_worker_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_chaos_chaos_worker_LDADD = lib/libhvd.la lib/base/libbase.la
tests_chaos_chaos_worker_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_chaos_soak_SOURCES = tests/chaos/soak.c tests/chaos/usage.c tests/chaos/usage.h
tests_chaos_soak_LDADD =

TESTS += tests/chaos/chaos_test.sh

# TRIALS on this machine and TRIALS / 4 on three hosts, from SEED on, or from a random one; further options in CHAOS_FLAGS.
# soak: the same beside other jobs, and things that live long, for SECONDS.
TRIALS = 1000
SECONDS = 600
chaos_variables = builddir='$(abs_builddir)' srcdir='$(abs_top_srcdir)' SEED='$(SEED)' STAGE='$(stage)' \
	HVDRUN='$(stage)$(bindir)/hvdrun' HVDAGENT='$(stage)$(agentdir)/hvdagent' \
	HVDRENDEZVOUSD='$(stage)$(bindir)/hvdrendezvousd'
chaos_programs = tests/chaos/chaos tests/chaos/chaos_worker tests/chaos/soak
chaos: $(chaos_programs) $(check_DATA)
	@$(chaos_variables) TRIALS='$(TRIALS)' $(SHELL) $(srcdir)/tests/chaos/both.sh $(CHAOS_FLAGS)
soak: $(chaos_programs) $(check_DATA)
	@$(chaos_variables) SECONDS_TO_SOAK='$(SECONDS)' $(SHELL) $(srcdir)/tests/chaos/soak.sh
endif

EXTRA_DIST += tests/chaos/both.sh tests/chaos/chaos.sh tests/chaos/chaos_test.sh tests/chaos/soak.sh
