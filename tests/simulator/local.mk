# SPDX-License-Identifier: Apache-2.0
# Whole jobs of the deciding parts alone, in one thread and in virtual time, from a seed: README.md. "make check" runs the kept
# seeds, 2000 others (500 under sanitizers) and 400 (100) with a tree of agents, "make simulate" SEEDS of them from FIRST on.
if PROGRAMS
check_PROGRAMS += tests/simulator/simulate
TESTS += tests/simulator/simulate
tests_simulator_simulate_SOURCES = \
	tests/simulator/clock.c tests/simulator/clock.h \
	tests/simulator/descriptors.c \
	tests/simulator/dice.c tests/simulator/dice.h \
	tests/simulator/faults.c tests/simulator/faults.h tests/simulator/faults_impl.h \
	tests/simulator/faults_hosts.c \
	tests/simulator/faults_launcher.c \
	tests/simulator/faults_ranks.c \
	tests/simulator/faults_table.c \
	tests/simulator/host.c \
	tests/simulator/host_connect.c \
	tests/simulator/journal.c tests/simulator/journal.h \
	tests/simulator/launcher.c \
	tests/simulator/memory.c tests/simulator/memory.h \
	tests/simulator/oracles.c tests/simulator/oracles.h \
	tests/simulator/orders.c \
	tests/simulator/output.c \
	tests/simulator/pool.c tests/simulator/pool.h \
	tests/simulator/process.c tests/simulator/process.h \
	tests/simulator/rank_infos.c \
	tests/simulator/simulate.c \
	tests/simulator/stream.c tests/simulator/stream.h \
	tests/simulator/system.c tests/simulator/system.h \
	tests/simulator/uv.c tests/simulator/uv.h tests/simulator/uv_impl.h \
	tests/simulator/uv_listen.c \
	tests/simulator/uv_stream.c \
	tests/simulator/worker.c tests/simulator/worker.h \
	tests/simulator/worker_again.c \
	tests/simulator/worker_join.c \
	tests/simulator/worker_links.c \
	tests/simulator/worker_store.c \
	tests/simulator/worker_voice.c \
	tests/simulator/world.h
# Of the archives only what the simulator has not got itself comes along.
tests_simulator_simulate_LDADD = src/hvdrun/libhvdrun.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(UV_LIBS) $(CJSON_LIBS) $(HWLOC_LIBS)
simulated_memory = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=free,--wrap=strdup,--wrap=strndup
simulated_calls = -Wl,--wrap=close,--wrap=fcntl,--wrap=open,--wrap=fstat,--wrap=pipe2,--wrap=socketpair,--wrap=read,--wrap=recv \
	-Wl,--wrap=chdir,--wrap=umask,--wrap=kill \
	-Wl,--wrap=getpid,--wrap=getppid,--wrap=waitpid,--wrap=interfaces_read,--wrap=process_state,--wrap=process_is_ending \
	-Wl,--wrap=monotonic_ms,--wrap=monotonic_ns
simulated_orders = -Wl,--wrap=job_host_stop,--wrap=agent_on_stop
tests_simulator_simulate_LDFLAGS = $(AM_LDFLAGS) $(simulated_memory) $(simulated_calls) $(simulated_orders)

# The same with names of enumerators instead of the sentences of lib/base/rank_end_text.c, of which the archive's object is left out
# then; what hvdrun decides must not change.
check_PROGRAMS += tests/simulator/simulate_names
tests_simulator_simulate_names_SOURCES = $(tests_simulator_simulate_SOURCES) tests/simulator/rank_end_names.c
tests_simulator_simulate_names_LDADD = $(tests_simulator_simulate_LDADD)
tests_simulator_simulate_names_LDFLAGS = $(tests_simulator_simulate_LDFLAGS)
TESTS += tests/simulator/names_test.sh
tests/simulator/names_test.log: tests/simulator/simulate tests/simulator/simulate_names

# Elastic jobs: the policy, the agents and the rendezvous.
check_PROGRAMS += tests/simulator/simulate_elastic
TESTS += tests/simulator/simulate_elastic
tests_simulator_simulate_elastic_SOURCES = \
	tests/simulator/clock.c tests/simulator/clock.h \
	tests/simulator/descriptors.c \
	tests/simulator/dice.c tests/simulator/dice.h \
	tests/simulator/elastic_discovery.c \
	tests/simulator/elastic_events.c \
	tests/simulator/elastic_job.h \
	tests/simulator/elastic_member.c \
	tests/simulator/elastic_oracles.c \
	tests/simulator/host.c \
	tests/simulator/host_connect.c \
	tests/simulator/journal.c tests/simulator/journal.h \
	tests/simulator/memory.c tests/simulator/memory.h \
	tests/simulator/output.c \
	tests/simulator/pool.c tests/simulator/pool.h \
	tests/simulator/process.c tests/simulator/process.h \
	tests/simulator/simulate_elastic.c \
	tests/simulator/stream.c tests/simulator/stream.h \
	tests/simulator/system.c tests/simulator/system.h \
	tests/simulator/uv.c tests/simulator/uv.h tests/simulator/uv_impl.h \
	tests/simulator/uv_listen.c \
	tests/simulator/uv_stream.c \
	tests/simulator/world.h
tests_simulator_simulate_elastic_LDADD = src/hvdrun/libhvdrun.la src/options/liboptions.la launcher/liblauncher.la \
	rendezvous/librendezvous.la lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(UV_LIBS) $(CJSON_LIBS) $(HWLOC_LIBS)
tests_simulator_simulate_elastic_LDFLAGS = $(AM_LDFLAGS) $(simulated_memory) $(simulated_calls) \
	-Wl,--wrap=job_add_batch,--wrap=job_worker_removed

# The control plane of large jobs: without arguments the test of the check.
check_PROGRAMS += tests/simulator/scale
TESTS += tests/simulator/scale
tests_simulator_scale_SOURCES = \
	tests/simulator/scale.c \
	tests/simulator/scale_job.c tests/simulator/scale_job.h \
	tests/simulator/scale_net.c tests/simulator/scale_net.h \
	tests/simulator/scale_ranks.c \
	tests/simulator/scale_sizes.c tests/simulator/scale_sizes.h
tests_simulator_scale_LDADD = bench/libprediction.la $(LDADD)

SEEDS = 100000
FIRST = 1
simulate-elastic: tests/simulator/simulate_elastic
	@tests/simulator/simulate_elastic --seeds $(SEEDS) --first $(FIRST)
simulate: tests/simulator/simulate
	@tests/simulator/simulate --seeds $(SEEDS) --first $(FIRST)
endif
EXTRA_DIST += tests/simulator/README.md tests/simulator/names_test.sh tests/simulator/seeds
