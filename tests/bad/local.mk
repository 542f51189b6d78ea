# SPDX-License-Identifier: Apache-2.0
# Bad input as data, and what gives it to the programs; README.md says what is where.
if PROGRAMS
check_PROGRAMS += tests/bad/bare tests/bad/refusals
tests_bad_bare_LDADD =
tests_bad_refusals_SOURCES = tests/bad/refusals.c \
	tests/bad/attempt.c tests/bad/attempt.h \
	tests/bad/table.c tests/bad/table.h \
	tests/bad/verdict.c tests/bad/verdict.h
tests_bad_refusals_LDADD =

TESTS += tests/bad/map_test.sh
endif

EXTRA_DIST += tests/bad/README.md tests/bad/map_test.sh tests/bad/bare.tsv tests/bad/config.tsv tests/bad/http.tsv \
	tests/bad/hvd-bandwidth.tsv tests/bad/hvdrendezvousd.tsv tests/bad/hvdrun.tsv tests/bad/library.tsv tests/bad/wire.tsv
