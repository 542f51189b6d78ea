# SPDX-License-Identifier: Apache-2.0
# The programs.
bin_PROGRAMS += src/hvdrun
agent_PROGRAMS += src/hvdagent
noinst_LTLIBRARIES += src/liboptions.la

src_liboptions_la_SOURCES = \
	src/host_interfaces.c src/host_interfaces.h \
	src/hvdrun_options.c src/hvdrun_options.h \
	src/option_find.c src/option_find.h \
	src/options.c src/options.h \
	src/options_help.c

src_hvdrun_SOURCES = \
	src/agent_path.c src/agent_path.h \
	src/check_hosts.c src/check_hosts.h \
	src/hvdrun.c \
	src/job_rendezvous.c src/job_rendezvous.h \
	src/job_setup.c src/job_setup.h
src_hvdrun_CPPFLAGS = $(AM_CPPFLAGS) -DAGENT_DIRECTORY='"$(agentdir)"' \
	-DBINARY_DIRECTORY='"$(bindir)"'
src_hvdrun_LDADD = src/liboptions.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(HTTP_PARSER_LIBS) \
	$(SSH2_LIBS) $(CRYPTO_LIBS) $(YAML_LIBS)

src_hvdagent_SOURCES = src/hvdagent.c
src_hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(UV_LIBS)
