# SPDX-License-Identifier: Apache-2.0
# The programs.
bin_PROGRAMS += src/hvdrun src/hvdrendezvousd
agent_PROGRAMS += src/hvdagent src/hvdrun-ssh
noinst_LTLIBRARIES += src/liboptions.la src/libhvdrun.la src/libservice.la

src_liboptions_la_SOURCES = \
	src/build_table.c src/build_table.h \
	src/completion.c src/completion.h \
	src/config_file.c src/config_file.h \
	src/config_yaml.c src/config_yaml.h \
	src/host_interfaces.c src/host_interfaces.h \
	src/hvdrun_option_table.c \
	src/hvdrun_options.c src/hvdrun_options.h \
	src/identity_file.c src/identity_file.h \
	src/interface_option.c src/interface_option.h \
	src/nearest.c src/nearest.h \
	src/option_checks.c src/option_checks.h \
	src/option_dash.c src/option_dash.h \
	src/option_find.c src/option_find.h \
	src/option_set.c src/option_set.h \
	src/options.c src/options.h \
	src/options_help.c \
	src/rank_files.c src/rank_files.h \
	src/rank_settings.c src/rank_settings.h \
	src/refused_options.c src/refused_options.h
src_liboptions_la_CPPFLAGS = $(AM_CPPFLAGS) -DENABLED_SANITIZERS='"$(ENABLED_SANITIZERS)"'

src_libhvdrun_la_SOURCES = \
	src/agent_path.c src/agent_path.h \
	src/check_hosts.c src/check_hosts.h \
	src/job_rendezvous.c src/job_rendezvous.h \
	src/job_setup.c src/job_setup.h \
	src/loop_leave.c src/loop_leave.h \
	src/report_file.c src/report_file.h \
	src/report_json.c src/report_json.h \
	src/report_path.c src/report_path.h \
	src/self_stop.c src/self_stop.h \
	src/status_port.c src/status_port.h
src_libhvdrun_la_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
src_libhvdrun_la_CPPFLAGS = $(AM_CPPFLAGS) -DAGENT_DIRECTORY='"$(agentdir)"' \
	-DBINARY_DIRECTORY='"$(bindir)"'

# Twice the same program: loading libssh2 and its libcrypto takes longer than all the rest of a small job's start,
# so hvdrun becomes hvdrun-ssh only when a host needs it.
src_hvdrun_SOURCES = src/hvdrun.c src/ssh_way.h src/ssh_way_none.c
src_hvdrun_LDADD = src/libhvdrun.la src/liboptions.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(CJSON_LIBS) $(YAML_LIBS)
src_hvdrun_ssh_SOURCES = src/hvdrun.c src/ssh_way.h src/ssh_way.c
src_hvdrun_ssh_LDADD = $(src_hvdrun_LDADD) $(SSH2_LIBS) $(CRYPTO_LIBS)

src_hvdrendezvousd_SOURCES = src/hvdrendezvousd.c
src_hvdrendezvousd_LDADD = src/libservice.la src/liboptions.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(CJSON_LIBS)
src_libservice_la_SOURCES = \
	src/daemon_log.c src/daemon_log.h \
	src/hvdrendezvousd_options.c src/hvdrendezvousd_options.h \
	src/key_file.c src/key_file.h \
	src/port_file.c src/port_file.h \
	src/readiness.c src/readiness.h

# What hosts need beside sshd: nothing, if it can be static.
src_hvdagent_SOURCES = src/hvdagent.c
if STATIC_AGENT
src_hvdagent_SOURCES += src/hvdagent_static.c
src_hvdagent_CFLAGS = $(AM_CFLAGS) $(AGENT_CFLAGS)
src_hvdagent_LDFLAGS = $(AM_LDFLAGS) $(AGENT_LDFLAGS) -Wl,--wrap=dlopen
src_hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(HWLOC_STATIC_LIBS) $(UV_STATIC_LIBS)
else
src_hvdagent_CFLAGS = $(AM_CFLAGS)
src_hvdagent_LDFLAGS = $(AM_LDFLAGS)
src_hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(HWLOC_LIBS) $(UV_LIBS)
endif

# What shells complete; made by hvdrun itself, where bash and zsh look for it.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_bashcompletion_DATA = src/completions/hvdrun
nodist_zshcompletion_DATA = src/completions/_hvdrun
CLEANFILES += $(nodist_bashcompletion_DATA) $(nodist_zshcompletion_DATA)
src/completions/hvdrun: src/hvdrun$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && src/hvdrun --completion bash >$@.new && mv $@.new $@
src/completions/_hvdrun: src/hvdrun$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && src/hvdrun --completion zsh >$@.new && mv $@.new $@

# systemd's unit of hvdrendezvousd
if SYSTEMD_UNITS
paths_install += $(systemdsystemunitdir)/hvdrendezvousd.service:src/hvdrendezvousd.service.in
endif
EXTRA_DIST += src/hvdrendezvousd.service.in
