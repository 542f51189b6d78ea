# SPDX-License-Identifier: Apache-2.0
# The table of faults and which test shows each of them. "make faults" prints it with what the tests said when they ran last.
TESTS += tests/faults/map_test.sh
if PROGRAMS
TESTS += tests/faults/clock_test.sh
endif
EXTRA_DIST += tests/faults/clock_test.sh tests/faults/README.md tests/faults/map tests/faults/map_test.sh

faults:
	@srcdir='$(abs_top_srcdir)' $(SHELL) $(srcdir)/tests/faults/map '$(abs_builddir)'
