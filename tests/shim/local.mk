# SPDX-License-Identifier: Apache-2.0
# System calls that fail: a library to be preloaded that fails the k-th one, and the program that tries every k. "make check"
# runs a sample; "make shim" all of it (ROLE=, CALL=, FAULT= for less, SHIM_JOBS= at a time; tests/shim/shim.sh).
if PROGRAMS
check_LTLIBRARIES += tests/shim/libshim.la
tests_shim_libshim_la_SOURCES = \
	tests/shim/shim.c tests/shim/shim.h tests/shim/shim_impl.h \
	tests/shim/shim_data.c \
	tests/shim/shim_descriptors.c \
	tests/shim/shim_process.c
# It comes before any sanitizer, and is no part of what they look at.
tests_shim_libshim_la_CFLAGS = -std=gnu11 -Wall -Wextra -fvisibility=hidden
tests_shim_libshim_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

check_PROGRAMS += tests/shim/enumerate tests/shim/hvdagent tests/shim/worker
tests_shim_enumerate_SOURCES = \
	tests/shim/enumerate.c \
	tests/shim/points.c tests/shim/points.h \
	tests/shim/trial.c tests/shim/trial.h \
	tests/shim/verdict.c
tests_shim_enumerate_LDADD = launcher/liblauncher.la lib/base/libbase.la $(SODIUM_LIBS) $(UV_LIBS)
# Whatever hvdagent is, this one has shared libraries, and takes the shim's calls.
tests_shim_hvdagent_SOURCES = src/agent/hvdagent.c
tests_shim_hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(HWLOC_LIBS) $(UV_LIBS) $(SODIUM_LIBS)
tests_shim_worker_CFLAGS = $(AM_CFLAGS)
tests_shim_worker_LDADD = lib/libhvd.la
tests_shim_worker_LDFLAGS = $(AM_LDFLAGS) -no-install

TESTS += tests/shim/shim_test.sh
SHIM_JOBS = 4
shim: $(check_LTLIBRARIES) hvdrun hvdssh tests/shim/enumerate tests/shim/hvdagent tests/shim/worker
	@srcdir='$(abs_top_srcdir)' builddir='$(abs_builddir)' CC='$(CC)' SANITIZERS='$(ENABLED_SANITIZERS)' \
		SHIM_JOBS='$(SHIM_JOBS)' ROLE='$(ROLE)' CALL='$(CALL)' FAULT='$(FAULT)' JOB='$(JOB)' SAMPLE='$(SAMPLE)' \
		$(SHELL) $(srcdir)/tests/shim/shim.sh
endif
EXTRA_DIST += tests/shim/README.md tests/shim/jobs.sh tests/shim/shim.sh tests/shim/shim_test.sh
