# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/http/http_access.c rendezvous/http/http_access.h \
	rendezvous/http/http_answer.c rendezvous/http/http_answer.h \
	rendezvous/http/http_credentials.c rendezvous/http/http_credentials.h \
	rendezvous/http/http_head.c rendezvous/http/http_head.h \
	rendezvous/http/http_json.c rendezvous/http/http_json.h \
	rendezvous/http/http_loopback.c rendezvous/http/http_loopback.h \
	rendezvous/http/http_request.c rendezvous/http/http_request.h \
	rendezvous/http/http_seconds.c rendezvous/http/http_seconds.h \
	rendezvous/http/http_status.c rendezvous/http/http_status.h \
	rendezvous/http/http_text.h
