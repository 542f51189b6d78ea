# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/join/join_session.c rendezvous/join/join_session.h
