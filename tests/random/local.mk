# SPDX-License-Identifier: Apache-2.0
# Random programs of collectives. "make random" runs RANDOM_COUNT of each kind, others every time; RANDOM_SEED repeats them.
if PROGRAMS
check_PROGRAMS += tests/random/random
tests_random_random_SOURCES = tests/random/random.c \
	tests/random/carry_out.c tests/random/carry_out.h \
	tests/random/plan.c tests/random/plan.h \
	tests/support/elements.c tests/support/elements.h \
	tests/support/reduce_reference.c tests/support/reduce_reference.h
tests_random_random_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_random_random_LDADD = lib/libhvd.la -lm
tests_random_random_LDFLAGS = $(AM_LDFLAGS) -no-install

TESTS += tests/random/random_test.sh

RANDOM_COUNT = 20000
random: tests/random/random $(check_DATA)
	@$(AM_TESTS_ENVIRONMENT) RANDOM_COUNT='$(RANDOM_COUNT)' PATIENCE_S=10000 \
		RANDOM_SEED="$${RANDOM_SEED:-$$(date +%s)}" \
		$(SHELL) $(srcdir)/tests/random/random_test.sh
endif

EXTRA_DIST += tests/random/random_test.sh
