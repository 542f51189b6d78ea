# SPDX-License-Identifier: Apache-2.0
# hvdrun: its options, and one job with its rendezvous.
bin_PROGRAMS += hvdrun
noinst_LTLIBRARIES += src/hvdrun/libhvdrun.la
src_hvdrun_libhvdrun_la_SOURCES = \
	src/hvdrun/install_path.c src/hvdrun/install_path.h \
	src/hvdrun/check_build.c src/hvdrun/check_build.h \
	src/hvdrun/check_hosts.c src/hvdrun/check_hosts.h \
	src/hvdrun/config_file.c src/hvdrun/config_file.h \
	src/hvdrun/config_yaml.c src/hvdrun/config_yaml.h \
	src/hvdrun/elastic_driver.c src/hvdrun/elastic_driver.h \
	src/hvdrun/host_interfaces.c src/hvdrun/host_interfaces.h \
	src/hvdrun/host_ports.c src/hvdrun/host_ports.h \
	src/hvdrun/hvdrun_option_table.c \
	src/hvdrun/hvdrun_options.c src/hvdrun/hvdrun_options.h \
	src/hvdrun/identity_file.c src/hvdrun/identity_file.h \
	src/hvdrun/job_rendezvous.c src/hvdrun/job_rendezvous.h \
	src/hvdrun/job_setup.c src/hvdrun/job_setup_finish.c src/hvdrun/job_setup.h \
	src/hvdrun/launcher_choice.c src/hvdrun/launcher_choice.h \
	src/hvdrun/loop_leave.c src/hvdrun/loop_leave.h \
	src/hvdrun/own_agent.c src/hvdrun/own_agent.h \
	src/hvdrun/overridden_variables.c src/hvdrun/overridden_variables.h \
	src/hvdrun/rank_files.c src/hvdrun/rank_files.h \
	src/hvdrun/rank_settings.c src/hvdrun/rank_settings.h \
	src/hvdrun/refused_options.c src/hvdrun/refused_options.h \
	src/hvdrun/report_file.c src/hvdrun/report_file.h \
	src/hvdrun/report_json.c src/hvdrun/report_json.h \
	src/hvdrun/report_path.c src/hvdrun/report_path.h \
	src/hvdrun/self_stop.c src/hvdrun/self_stop.h \
	src/hvdrun/setup_signals.c src/hvdrun/setup_signals.h \
	src/hvdrun/status_port.c src/hvdrun/status_port.h \
	src/hvdrun/worker_notifier.c src/hvdrun/worker_notifier.h
src_hvdrun_libhvdrun_la_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
src_hvdrun_libhvdrun_la_CPPFLAGS = $(AM_CPPFLAGS) -DAGENT_DIRECTORY='"$(agentdir)"' \
	-DBINARY_DIRECTORY='"$(bindir)"' -DPYTHON_DIRECTORY='"$(pkgdatadir)/compat"'

hvdrun_SOURCES = src/hvdrun/hvdrun.c
hvdrun_LDADD = src/hvdrun/libhvdrun.la src/options/liboptions.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(CJSON_LIBS) $(YAML_LIBS)

# What shells complete; made by hvdrun itself, where bash and zsh look for it.
if COMPLETIONS
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_bashcompletion_DATA = src/hvdrun/completions/hvdrun
nodist_zshcompletion_DATA = src/hvdrun/completions/_hvdrun
CLEANFILES += $(nodist_bashcompletion_DATA) $(nodist_zshcompletion_DATA)
src/hvdrun/completions/hvdrun: hvdrun$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(EMULATOR) ./hvdrun --completion bash >$@.new && mv $@.new $@
src/hvdrun/completions/_hvdrun: hvdrun$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(EMULATOR) ./hvdrun --completion zsh >$@.new && mv $@.new $@
endif
