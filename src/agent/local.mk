# SPDX-License-Identifier: Apache-2.0
# hvdagent: what hosts need beside sshd. It needs nothing else, if it can be static.
agent_PROGRAMS += hvdagent
hvdagent_SOURCES = src/agent/hvdagent.c
if STATIC_AGENT
hvdagent_SOURCES += src/agent/hvdagent_static.c
hvdagent_CFLAGS = $(AM_CFLAGS) $(AGENT_CFLAGS)
hvdagent_LDFLAGS = $(AM_LDFLAGS) $(AGENT_LDFLAGS) -Wl,--wrap=dlopen
hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(HWLOC_STATIC_LIBS) $(UV_STATIC_LIBS) \
	$(SODIUM_LIBS)
else
hvdagent_CFLAGS = $(AM_CFLAGS)
hvdagent_LDFLAGS = $(AM_LDFLAGS)
hvdagent_LDADD = launcher/liblauncher.la lib/base/libbase.la $(HWLOC_LIBS) $(UV_LIBS) $(SODIUM_LIBS)
endif
