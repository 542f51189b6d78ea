# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/link/arrivals.c lib/link/arrivals.h \
	lib/link/congestion.c lib/link/congestion.h \
	lib/link/link.h \
	lib/link/link_accept.c lib/link/link_accept.h \
	lib/link/link_connection.c lib/link/link_connection.h \
	lib/link/link_dial.c lib/link/link_dial.h \
	lib/link/link_encrypted.c lib/link/link_encrypted.h \
	lib/link/link_handshake.c lib/link/link_handshake.h \
	lib/link/link_handshake_run.c lib/link/link_handshake_run.h \
	lib/link/link_shm.c lib/link/link_shm.h lib/link/link_shm_impl.h \
	lib/link/link_shm_fill.c lib/link/link_shm_receive.c \
	lib/link/link_striped.c lib/link/link_striped.h \
	lib/link/link_tcp.c lib/link/link_tcp.h \
	lib/link/link_try.c lib/link/link_try.h \
	lib/link/link_upgrade.c lib/link/link_upgrade.h \
	lib/link/linker.c lib/link/linker.h \
	lib/link/listener.c lib/link/listener.h \
	lib/link/network.c lib/link/network.h \
	lib/link/parts.h \
	lib/link/record.c lib/link/record.h \
	lib/link/shm_costs.c lib/link/shm_costs.h \
	lib/link/shm_distance.c lib/link/shm_distance.h \
	lib/link/shm_distance_pair.c lib/link/shm_distance_pair.h \
	lib/link/shm_doorbell.c lib/link/shm_doorbell.h \
	lib/link/shm_exported.c lib/link/shm_exported.h \
	lib/link/shm_fetch.c lib/link/shm_fetch.h \
	lib/link/shm_imported.c lib/link/shm_imported.h \
	lib/link/shm_ring.c lib/link/shm_ring.h \
	lib/link/shm_run.c lib/link/shm_run.h \
	lib/link/shm_method.c lib/link/shm_method.h \
	lib/link/socket.c lib/link/socket.h \
	lib/link/tcp_unanswered.c lib/link/tcp_unanswered.h
