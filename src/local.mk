bin_PROGRAMS += src/hvdrun
agent_PROGRAMS += src/hvdagent

src_hvdrun_SOURCES = \
	src/agent_path.c src/agent_path.h \
	src/hvdrun.c \
	src/hvdrun_options.c src/hvdrun_options.h \
	src/job_rendezvous.c src/job_rendezvous.h \
	src/options.c src/options.h
src_hvdrun_CPPFLAGS = $(AM_CPPFLAGS) -DAGENT_DIRECTORY='"$(agentdir)"'
src_hvdrun_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(SODIUM_CFLAGS)
src_hvdrun_LDADD = launcher/liblauncher.la rendezvous/librendezvous.la lib/base/libbase.la \
	$(UV_LIBS) $(SODIUM_LIBS) $(HTTP_PARSER_LIBS)

src_hvdagent_SOURCES = src/hvdagent.c
src_hvdagent_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS)
src_hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS)
