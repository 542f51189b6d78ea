# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/tcp/tcp_address.c rendezvous/tcp/tcp_address.h \
	rendezvous/tcp/tcp_connection.c rendezvous/tcp/tcp_connection.h \
	rendezvous/tcp/tcp_port.c rendezvous/tcp/tcp_port.h
