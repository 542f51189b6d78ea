# SPDX-License-Identifier: Apache-2.0
# Small random changes of the code, of which a test should see each. "make mutants" tries COUNT of
# them, chosen from SEED or at random, in a copy of the tree; MUTANTS_FLAGS='--only lib/base' for
# less. The tests do not get the variables of this make.
COUNT = 100
MUTANTS_FLAGS =
MUTANTS_JOBS = 2
mutants:
	@env -u MAKEFLAGS -u MFLAGS -u SEED $(PYTHON) -B $(srcdir)/tests/mutants/mutants.py $(srcdir) mutants \
		--count $(COUNT) --seed "$(SEED)" -j $(MUTANTS_JOBS) $(MUTANTS_FLAGS)

# What a test in sh gets, a line for each variable.
print-test-variables:
	@$(AM_TESTS_ENVIRONMENT) env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

# Its verdicts, over a tree that stands in.
TESTS += tests/mutants/mutants_test.sh

EXTRA_DIST += tests/mutants/baseline.py tests/mutants/entered.c tests/mutants/equivalent.txt tests/mutants/mutants.py \
	tests/mutants/mutants_cases.py tests/mutants/mutants_test.sh tests/mutants/places.py tests/mutants/tree.py
