# SPDX-License-Identifier: Apache-2.0
# Where workers meet; strangers to launcher/.

noinst_LTLIBRARIES += rendezvous/librendezvous.la

rendezvous_librendezvous_la_SOURCES = \
	rendezvous/http_exchange.h \
	rendezvous/http_jobs.c \
	rendezvous/http_key_value.c rendezvous/http_key_value.h \
	rendezvous/http_key_value_post.c \
	rendezvous/http_metrics.c \
	rendezvous/http_page.c \
	rendezvous/http_rank_and_size.c \
	rendezvous/http_route.c rendezvous/http_route.h \
	rendezvous/http_session.c rendezvous/http_session.h \
	rendezvous/hub.c rendezvous/hub.h \
	rendezvous/hub_impl.h \
	rendezvous/hub_meeting.c \
	rendezvous/hub_receive.c \
	rendezvous/hub_roll_call.c \
	rendezvous/metrics.c rendezvous/metrics.h \
	rendezvous/metrics_ranks.c \
	rendezvous/metrics_text.c \
	rendezvous/page/status_html.h \
	rendezvous/rendezvous.c rendezvous/rendezvous.h \
	rendezvous/status_json.c rendezvous/status_json.h \
	rendezvous/tcp_address.c rendezvous/tcp_address.h \
	rendezvous/tcp_connection.c rendezvous/tcp_connection.h \
	rendezvous/tcp_port.c rendezvous/tcp_port.h
include rendezvous/base/local.mk
include rendezvous/store/local.mk
include rendezvous/world/local.mk
include rendezvous/http/local.mk
include rendezvous/join/local.mk
rendezvous_librendezvous_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(SODIUM_CFLAGS) $(CJSON_CFLAGS)
rendezvous_librendezvous_la_LIBADD = lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) \
	$(CJSON_LIBS)

# The status page: a file of C made from HTML.
nodist_rendezvous_librendezvous_la_SOURCES = rendezvous/page/status_html.c
EXTRA_DIST += rendezvous/page/embed.sh rendezvous/page/status.html
CLEANFILES += rendezvous/page/status_html.c
rendezvous/page/status_html.c: rendezvous/page/status.html rendezvous/page/embed.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SHELL) $(srcdir)/rendezvous/page/embed.sh $(srcdir)/rendezvous/page/status.html >$@.new && mv $@.new $@
