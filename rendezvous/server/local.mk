# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/server/http_session.c rendezvous/server/http_session.h \
	rendezvous/server/hub.c rendezvous/server/hub.h \
	rendezvous/server/hub_impl.h \
	rendezvous/server/hub_meeting.c \
	rendezvous/server/hub_receive.c \
	rendezvous/server/hub_roll_call.c \
	rendezvous/server/rendezvous.c rendezvous/server/rendezvous.h
