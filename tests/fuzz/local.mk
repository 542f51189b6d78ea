# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: each takes any bytes whatever, and says in its file what it promises. "make check" replays tests/fuzz/corpus;
# "make fuzz" searches with clang's libFuzzer, below fuzz/ of the build directory.
if PROGRAMS
fuzz_targets = checkpoint frame http hub join join_client json key_value

fuzz_programs = \
	tests/fuzz/fuzz_checkpoint \
	tests/fuzz/fuzz_frame \
	tests/fuzz/fuzz_http \
	tests/fuzz/fuzz_hub \
	tests/fuzz/fuzz_join \
	tests/fuzz/fuzz_join_client \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_key_value
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)

fuzz_main = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/replay.c
fuzz_world = tests/fuzz/answers.c tests/fuzz/answers.h tests/fuzz/world.c tests/fuzz/world.h
fuzz_libs = rendezvous/librendezvous.la lib/base/libbase.la $(SODIUM_LIBS) $(UV_LIBS) $(HTTP_PARSER_LIBS) $(CJSON_LIBS)

tests_fuzz_fuzz_checkpoint_SOURCES = tests/fuzz/fuzz_checkpoint.c $(fuzz_main)
tests_fuzz_fuzz_checkpoint_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS)
tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c $(fuzz_main)
tests_fuzz_fuzz_frame_LDADD = launcher/liblauncher.la lib/base/libbase.la $(SODIUM_LIBS)
tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_http_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_hub_SOURCES = tests/fuzz/fuzz_hub.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_hub_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_join_SOURCES = tests/fuzz/fuzz_join.c $(fuzz_main)
tests_fuzz_fuzz_join_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_join_client_SOURCES = tests/fuzz/fuzz_join_client.c $(fuzz_main)
tests_fuzz_fuzz_join_client_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_json_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_key_value_SOURCES = tests/fuzz/fuzz_key_value.c $(fuzz_main)
tests_fuzz_fuzz_key_value_LDADD = $(fuzz_libs)

# What is compiled for libFuzzer.
fuzzed_sources = \
	$(lib_base_libbase_la_SOURCES) \
	$(rendezvous_librendezvous_la_SOURCES) $(nodist_rendezvous_librendezvous_la_SOURCES) \
	launcher/agent_protocol.c \
	lib/join/join_client.c lib/link/descriptor.c lib/link/socket.c \
	lib/reduce/reduce.c lib/reduce/reduce_avx2.c lib/reduce/reduce_avx512.c lib/reduce/reduce_portable.c \
	lib/training/checkpoint_layout.c lib/training/checkpoint_read.c lib/training/checkpoint_write.c \
	$(fuzz_world) tests/fuzz/fuzz.c

FUZZ_SECONDS = 60
FUZZ_TARGETS = $(fuzz_targets)
fuzz: $(nodist_rendezvous_librendezvous_la_SOURCES)
	@CLANG='$(CLANG)' srcdir='$(abs_top_srcdir)' FUZZ_SECONDS='$(FUZZ_SECONDS)' \
		FLAGS='-std=gnu11 -Wno-pass-failed $(DEFS) -I. -I$(abs_top_srcdir) $(AM_CPPFLAGS) $(CJSON_CFLAGS)' \
		LIBS='$(UV_LIBS) $(HTTP_PARSER_LIBS) $(CJSON_LIBS) $(SODIUM_LIBS)' \
		SOURCES='$(fuzzed_sources)' $(SHELL) $(srcdir)/tests/fuzz/fuzz.sh $(FUZZ_TARGETS)
endif

EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz.sh tests/fuzz/http.dict tests/fuzz/json.dict
