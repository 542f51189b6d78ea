# SPDX-License-Identifier: Apache-2.0
# Where workers meet; launcher/ and rendezvous/ do not include each other.

noinst_LTLIBRARIES += rendezvous/librendezvous.la

rendezvous_librendezvous_la_SOURCES =
include rendezvous/base/local.mk
include rendezvous/store/local.mk
include rendezvous/world/local.mk
include rendezvous/http/local.mk
include rendezvous/join/local.mk
include rendezvous/api/local.mk
include rendezvous/server/local.mk
include rendezvous/tcp/local.mk
rendezvous_librendezvous_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(SODIUM_CFLAGS) $(CJSON_CFLAGS)
rendezvous_librendezvous_la_LIBADD = lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) \
	$(CJSON_LIBS)

# The status page: a file of C made from HTML.
nodist_rendezvous_librendezvous_la_SOURCES = rendezvous/api/page/status_html.c
EXTRA_DIST += rendezvous/api/page/embed.sh rendezvous/api/page/status.html
CLEANFILES += rendezvous/api/page/status_html.c
rendezvous/api/page/status_html.c: rendezvous/api/page/status.html rendezvous/api/page/embed.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SHELL) $(srcdir)/rendezvous/api/page/embed.sh $(srcdir)/rendezvous/api/page/status.html >$@.new && mv $@.new $@
