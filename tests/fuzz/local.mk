# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: each takes any bytes whatever, and says in its file what it promises. "make check" replays tests/fuzz/corpus;
# "make fuzz" searches with clang's libFuzzer, below fuzz/ of the build directory; "make fuzz-coverage" says what the corpus reaches.
# tests/fuzz/targets has a line for each.
if PROGRAMS
fuzz_targets = \
	agent \
	thresholds \
	channel \
	checkpoint \
	config \
	dial \
	elastic \
	frame \
	handshake \
	hosts \
	http \
	job_host \
	join \
	join_client \
	json \
	key_value \
	known_hosts \
	link_upgrade \
	multicast \
	negotiation \
	notice \
	options \
	output \
	pmi \
	processes \
	record \
	report \
	server \
	settings \
	shm \
	srun \
	ssh \
	stacks \
	stderr \
	tree \
	tunnels

fuzz_programs = \
	tests/fuzz/fuzz_agent \
	tests/fuzz/fuzz_thresholds \
	tests/fuzz/fuzz_channel \
	tests/fuzz/fuzz_checkpoint \
	tests/fuzz/fuzz_config \
	tests/fuzz/fuzz_dial \
	tests/fuzz/fuzz_elastic \
	tests/fuzz/fuzz_frame \
	tests/fuzz/fuzz_handshake \
	tests/fuzz/fuzz_hosts \
	tests/fuzz/fuzz_http \
	tests/fuzz/fuzz_job_host \
	tests/fuzz/fuzz_join \
	tests/fuzz/fuzz_join_client \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_key_value \
	tests/fuzz/fuzz_known_hosts \
	tests/fuzz/fuzz_link_upgrade \
	tests/fuzz/fuzz_multicast \
	tests/fuzz/fuzz_negotiation \
	tests/fuzz/fuzz_notice \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_output \
	tests/fuzz/fuzz_pmi \
	tests/fuzz/fuzz_processes \
	tests/fuzz/fuzz_record \
	tests/fuzz/fuzz_report \
	tests/fuzz/fuzz_server \
	tests/fuzz/fuzz_settings \
	tests/fuzz/fuzz_shm \
	tests/fuzz/fuzz_srun \
	tests/fuzz/fuzz_ssh \
	tests/fuzz/fuzz_stacks \
	tests/fuzz/fuzz_stderr \
	tests/fuzz/fuzz_tree \
	tests/fuzz/fuzz_tunnels
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)

fuzz_main = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/replay.c
fuzz_world = tests/fuzz/answers.c tests/fuzz/answers.h tests/fuzz/world.c tests/fuzz/world.h
fuzz_libs = rendezvous/librendezvous.la lib/base/libbase.la $(SODIUM_LIBS) $(UV_LIBS) $(CJSON_LIBS)
fuzz_library_libs = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS)
fuzz_launcher_libs = launcher/liblauncher.la lib/base/libbase.la $(SODIUM_LIBS) $(UV_LIBS) $(CRYPTO_LIBS) $(HWLOC_LIBS)
fuzz_program_libs = src/hvdrun/libhvdrun.la src/service/libservice.la src/options/liboptions.la launcher/liblauncher.la $(fuzz_libs) $(YAML_LIBS)

tests_fuzz_fuzz_agent_SOURCES = tests/fuzz/fuzz_agent.c $(fuzz_main)
tests_fuzz_fuzz_agent_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_thresholds_SOURCES = tests/fuzz/fuzz_thresholds.c $(fuzz_main)
tests_fuzz_fuzz_thresholds_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_channel_SOURCES = tests/fuzz/fuzz_channel.c $(fuzz_main)
tests_fuzz_fuzz_channel_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_checkpoint_SOURCES = tests/fuzz/fuzz_checkpoint.c $(fuzz_main)
tests_fuzz_fuzz_checkpoint_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(fuzz_main)
tests_fuzz_fuzz_config_LDADD = $(fuzz_program_libs)
tests_fuzz_fuzz_dial_SOURCES = tests/fuzz/fuzz_dial.c $(fuzz_main)
tests_fuzz_fuzz_dial_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_elastic_SOURCES = tests/fuzz/fuzz_elastic.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_elastic_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c $(fuzz_main)
tests_fuzz_fuzz_frame_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_handshake_SOURCES = tests/fuzz/fuzz_handshake.c $(fuzz_main)
tests_fuzz_fuzz_handshake_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_hosts_SOURCES = tests/fuzz/fuzz_hosts.c $(fuzz_main)
tests_fuzz_fuzz_hosts_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_http_SOURCES = tests/fuzz/fuzz_http.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_http_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_server_SOURCES = tests/fuzz/fuzz_server.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_server_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_job_host_SOURCES = tests/fuzz/fuzz_job_host.c $(fuzz_main)
tests_fuzz_fuzz_job_host_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_join_SOURCES = tests/fuzz/fuzz_join.c $(fuzz_main)
tests_fuzz_fuzz_join_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_join_client_SOURCES = tests/fuzz/fuzz_join_client.c $(fuzz_main)
tests_fuzz_fuzz_join_client_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(fuzz_main) $(fuzz_world)
tests_fuzz_fuzz_json_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_key_value_SOURCES = tests/fuzz/fuzz_key_value.c $(fuzz_main)
tests_fuzz_fuzz_key_value_LDADD = $(fuzz_libs)
tests_fuzz_fuzz_known_hosts_SOURCES = tests/fuzz/fuzz_known_hosts.c $(fuzz_main)
tests_fuzz_fuzz_known_hosts_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_link_upgrade_SOURCES = tests/fuzz/fuzz_link_upgrade.c $(fuzz_main)
tests_fuzz_fuzz_link_upgrade_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_multicast_SOURCES = tests/fuzz/fuzz_multicast.c $(fuzz_main)
tests_fuzz_fuzz_multicast_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_negotiation_SOURCES = tests/fuzz/fuzz_negotiation.c $(fuzz_main)
tests_fuzz_fuzz_negotiation_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_notice_SOURCES = tests/fuzz/fuzz_notice.c $(fuzz_main)
tests_fuzz_fuzz_notice_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_options_SOURCES = tests/fuzz/fuzz_options.c $(fuzz_main)
tests_fuzz_fuzz_options_LDADD = $(fuzz_program_libs)
tests_fuzz_fuzz_output_SOURCES = tests/fuzz/fuzz_output.c $(fuzz_main)
tests_fuzz_fuzz_output_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_pmi_SOURCES = tests/fuzz/fuzz_pmi.c $(fuzz_main)
tests_fuzz_fuzz_pmi_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_processes_SOURCES = tests/fuzz/fuzz_processes.c $(fuzz_main)
tests_fuzz_fuzz_processes_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c $(fuzz_main)
tests_fuzz_fuzz_record_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_report_SOURCES = tests/fuzz/fuzz_report.c tests/support/json.c tests/support/json.h $(fuzz_main)
tests_fuzz_fuzz_report_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
tests_fuzz_fuzz_report_LDADD = $(fuzz_program_libs)
tests_fuzz_fuzz_settings_SOURCES = tests/fuzz/fuzz_settings.c $(fuzz_main)
tests_fuzz_fuzz_settings_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_shm_SOURCES = tests/fuzz/fuzz_shm.c $(fuzz_main)
tests_fuzz_fuzz_shm_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_srun_SOURCES = tests/fuzz/fuzz_srun.c $(fuzz_main)
tests_fuzz_fuzz_srun_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_ssh_SOURCES = tests/fuzz/fuzz_ssh.c $(fuzz_main)
tests_fuzz_fuzz_ssh_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_stacks_SOURCES = tests/fuzz/fuzz_stacks.c $(fuzz_main)
tests_fuzz_fuzz_stacks_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_stderr_SOURCES = tests/fuzz/fuzz_stderr.c $(fuzz_main)
tests_fuzz_fuzz_stderr_LDADD = $(fuzz_launcher_libs)
tests_fuzz_fuzz_tree_SOURCES = tests/fuzz/fuzz_tree.c $(fuzz_main)
tests_fuzz_fuzz_tree_LDADD = $(fuzz_library_libs)
tests_fuzz_fuzz_tunnels_SOURCES = tests/fuzz/fuzz_tunnels.c $(fuzz_main)
tests_fuzz_fuzz_tunnels_LDADD = $(fuzz_launcher_libs)

if HAVE_ZLIB
fuzz_images = idx
fuzz_image_sources = $(examples_libimages_la_SOURCES) examples/support/problem.c
check_PROGRAMS += tests/fuzz/fuzz_idx
TESTS += tests/fuzz/fuzz_idx
tests_fuzz_fuzz_idx_SOURCES = tests/fuzz/fuzz_idx.c $(fuzz_main)
tests_fuzz_fuzz_idx_LDADD = examples/libimages.la examples/libsupport.la $(fuzz_library_libs) $(ZLIB_LIBS)
endif

# What is compiled with clang; each target takes of it what it needs.
fuzzed_sources = \
	$(lib_base_libbase_la_SOURCES) $(lib_libhvd_internal_la_SOURCES) \
	$(launcher_liblauncher_la_SOURCES) \
	$(rendezvous_librendezvous_la_SOURCES) $(nodist_rendezvous_librendezvous_la_SOURCES) \
	$(src_options_liboptions_la_SOURCES) $(src_hvdrun_libhvdrun_la_SOURCES) $(src_service_libservice_la_SOURCES) \
	$(fuzz_image_sources) $(fuzz_world) tests/support/json.c tests/fuzz/fuzz.c

FUZZ_SECONDS = 60
FUZZ_KIND = search
FUZZ_FLAGS =
FUZZ_TARGETS = $(fuzz_targets) $(fuzz_images)
fuzz_build = $(MAKE) -s -f $(srcdir)/tests/fuzz/fuzz.mk CLANG='$(CLANG)' srcdir='$(abs_top_srcdir)' TARGETS='$(FUZZ_TARGETS)' \
	FLAGS='-std=gnu11 -Wno-pass-failed $(DEFS) -I. -I$(abs_top_srcdir) $(AM_CPPFLAGS) $(CJSON_CFLAGS)' \
	LIBS='$(UV_LIBS) $(CJSON_LIBS) $(YAML_LIBS) $(SSH2_LIBS) $(CRYPTO_LIBS) $(HWLOC_LIBS) $(ZLIB_LIBS) $(SODIUM_LIBS)' \
	SOURCES='$(fuzzed_sources)'
fuzz_run = CLANG='$(CLANG)' srcdir='$(abs_top_srcdir)' FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_KIND='$(FUZZ_KIND)' FUZZ_FLAGS='$(FUZZ_FLAGS)' \
	$(SHELL) $(srcdir)/tests/fuzz/fuzz.sh

fuzz-clang:
	@test '$(CLANG)' != no || \
		{ echo "make fuzz needs clang, which configure has not found (Debian: apt install clang; then configure again)" >&2; exit 77; }
fuzz: fuzz-clang $(nodist_rendezvous_librendezvous_la_SOURCES)
	@case '$(FUZZ_KIND)' in search | fast) ;; \
		*) echo "make fuzz: FUZZ_KIND is '$(FUZZ_KIND)', expected search or fast" >&2; exit 2 ;; esac
	+@$(fuzz_build) KIND=$(FUZZ_KIND)
	+@$(fuzz_build) KIND=coverage
	@$(fuzz_run) search $(FUZZ_TARGETS)
fuzz-coverage: fuzz-clang $(nodist_rendezvous_librendezvous_la_SOURCES)
	+@$(fuzz_build) KIND=coverage
	@$(fuzz_run) coverage $(FUZZ_TARGETS)

# 667 files of 60 lines, of each of which ssh-keygen -F is asked about 15 hosts: 10 005 questions, 600 300 verdicts on lines.
KNOWN_HOSTS_ROUNDS = 667
known-hosts-beside-ssh: tests/unit/launcher/ssh/known_hosts_files_test
	CK_TIMEOUT_MULTIPLIER=100 KNOWN_HOSTS_ROUNDS=$(KNOWN_HOSTS_ROUNDS) tests/unit/launcher/ssh/known_hosts_files_test
endif

EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz.mk tests/fuzz/fuzz.sh tests/fuzz/targets \
	tests/fuzz/thresholds.dict \
	tests/fuzz/config.dict \
	tests/fuzz/hosts.dict \
	tests/fuzz/http.dict \
	tests/fuzz/job_host.dict \
	tests/fuzz/join.dict \
	tests/fuzz/json.dict \
	tests/fuzz/known_hosts.dict \
	tests/fuzz/multicast.dict \
	tests/fuzz/settings.dict \
	tests/fuzz/srun.dict \
	tests/fuzz/ssh.dict \
	tests/fuzz/stacks.dict \
	tests/fuzz/stderr.dict
