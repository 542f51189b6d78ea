# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/server/http_session.c rendezvous/server/http_session.h \
	rendezvous/server/rendezvous.c rendezvous/server/rendezvous.h \
	rendezvous/server/server.c rendezvous/server/server.h \
	rendezvous/server/server_admission.c rendezvous/server/server_admission.h \
	rendezvous/server/server_elastic.c \
	rendezvous/server/server_impl.h \
	rendezvous/server/server_job.c \
	rendezvous/server/server_join.c \
	rendezvous/server/server_rank_query.c \
	rendezvous/server/server_receive.c
