# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/world/gloo_scopes.c rendezvous/world/gloo_scopes.h \
	rendezvous/world/job_declaration.c rendezvous/world/job_declaration.h \
	rendezvous/world/launch.c rendezvous/world/launch.h \
	rendezvous/world/lobby.c rendezvous/world/lobby.h \
	rendezvous/world/lobby_seat.c \
	rendezvous/world/lobby_text.c rendezvous/world/lobby_text.h \
	rendezvous/world/meeting.c rendezvous/world/meeting.h \
	rendezvous/world/meetings.c rendezvous/world/meetings.h \
	rendezvous/world/membership.c rendezvous/world/membership.h \
	rendezvous/world/membership_text.c rendezvous/world/membership_text.h \
	rendezvous/world/rank_states.c rendezvous/world/rank_states.h \
	rendezvous/world/roll_call.c rendezvous/world/roll_call.h \
	rendezvous/world/stalls.c rendezvous/world/stalls.h
