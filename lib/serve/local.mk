# SPDX-License-Identifier: Apache-2.0
# The rendezvous of a job that no launcher serves: the parts of rendezvous/ that need neither libuv nor HTTP are in libhvd, too.
lib_libhvd_internal_la_SOURCES += \
	lib/serve/rank_server.c lib/serve/rank_server.h \
	lib/serve/rendezvous_thread.c lib/serve/rendezvous_thread.h \
	rendezvous/base/host_groups.c \
	rendezvous/base/keyring.c \
	rendezvous/base/text_line.c \
	rendezvous/join/join_session.c \
	rendezvous/world/membership.c \
	rendezvous/world/membership_text.c \
	rendezvous/world/pending_workers.c \
	rendezvous/world/pending_workers_assign.c \
	rendezvous/world/pending_workers_text.c \
	rendezvous/world/rank_places.c
