# SPDX-License-Identifier: Apache-2.0
# What fuzz.sh builds, below fuzz/$(KIND) of the build directory: everything that is fuzzed, as one archive from which a target
# takes what it needs, and the targets. KIND is "search" (libFuzzer, ASan, UBSan), "fast" (libFuzzer and -O2, without
# sanitizers and without traced comparisons: more inputs in a second, of which only broken promises, assertions and signals are
# findings) or "coverage" (replays files and counts what they reach). Only what is older than its source is compiled again.
dir = fuzz/$(KIND)
vpath %.c $(srcdir)

common = -g -fno-omit-frame-pointer -DENABLED_SANITIZERS='"fuzz"' -DAGENT_DIRECTORY='"/usr/libexec/hvdrun"' -DBINARY_DIRECTORY='"/usr/bin"' -DPYTHON_DIRECTORY='"/usr/share/hvd/compat"'
search_flags = -O1 $(common) -fsanitize=address,undefined -fno-sanitize-recover=undefined
coverage_flags = -O1 $(common) -fprofile-instr-generate -fcoverage-mapping
search_compile = $(search_flags) -fsanitize=fuzzer-no-link
search_link = $(search_flags) -fsanitize=fuzzer
fast_compile = -O2 $(common) -fsanitize-coverage=inline-8bit-counters,pc-table
fast_link = -O2 $(common) -fsanitize=fuzzer
coverage_compile = $(coverage_flags)
coverage_link = $(coverage_flags)
coverage_main = $(dir)/tests/fuzz/replay.o

fuzzed = $(patsubst %.c,$(dir)/%.o,$(filter %.c,$(SOURCES)))
programs = $(TARGETS:%=$(dir)/bin/%)
objects = $(fuzzed) $(TARGETS:%=$(dir)/tests/fuzz/fuzz_%.o) $($(KIND)_main)

all: $(programs)

$(dir)/%.o: %.c
	@mkdir -p $(@D)
	@$(CLANG) $(FLAGS) $($(KIND)_compile) -MMD -MP -c $< -o $@

# thin, so that files of one name in two folders are both there
$(dir)/fuzzed.a: $(fuzzed)
	@rm -f $@ && ar rcsT $@ $^

$(programs): $(dir)/bin/%: $(dir)/tests/fuzz/fuzz_%.o $($(KIND)_main) $(dir)/fuzzed.a
	@mkdir -p $(@D)
	@$(CLANG) $($(KIND)_link) $^ -o $@ $(LIBS)

-include $(objects:.o=.d)
.SECONDARY:
