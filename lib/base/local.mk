# SPDX-License-Identifier: Apache-2.0
lib_base_libbase_la_SOURCES = \
	lib/base/algorithm_names.c lib/base/algorithm_names.h \
	lib/base/auth.c lib/base/auth.h \
	lib/base/boolean.c lib/base/boolean.h \
	lib/base/checksum.h \
	lib/base/clock.c lib/base/clock.h \
	lib/base/collective_kind.c lib/base/collective_kind.h \
	lib/base/cpu_pause.h \
	lib/base/cuda_settings.c lib/base/cuda_settings.h \
	lib/base/descriptor.c lib/base/descriptor.h \
	lib/base/edit_distance.c lib/base/edit_distance.h \
	lib/base/encryption.c lib/base/encryption.h \
	lib/base/env_names.h \
	lib/base/frame.c lib/base/frame.h \
	lib/base/interface_choice.c \
	lib/base/interfaces.c lib/base/interfaces.h \
	lib/base/job_id.c lib/base/job_id.h \
	lib/base/join_protocol.c lib/base/join_protocol.h \
	lib/base/key_owner.c lib/base/key_owner.h \
	lib/base/late_ranks.c lib/base/late_ranks.h \
	lib/base/log.c lib/base/log.h \
	lib/base/min.h \
	lib/base/quiet_thread.c lib/base/quiet_thread.h \
	lib/base/rank_credentials.c lib/base/rank_credentials.h \
	lib/base/rank_end.c lib/base/rank_end.h \
	lib/base/rank_end_text.c lib/base/rank_end_text.h \
	lib/base/rank_info.h \
	lib/base/rank_stats.c lib/base/rank_stats.h \
	lib/base/rank_waits.c lib/base/rank_waits.h \
	lib/base/rendezvous_stream.h \
	lib/base/settings.c lib/base/settings.h \
	lib/base/signal_block.c lib/base/signal_block.h \
	lib/base/standard_streams.c lib/base/standard_streams.h \
	lib/base/status.c lib/base/status.h \
	lib/base/tcp_attempts.c lib/base/tcp_attempts.h \
	lib/base/text.c lib/base/text.h \
	lib/base/topology.c lib/base/topology.h \
	lib/base/transport.c lib/base/transport.h \
	lib/base/unknown_variable.c lib/base/unknown_variable.h \
	lib/base/wire.c lib/base/wire.h
lib_base_libbase_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS)
lib_base_libbase_la_LIBADD = $(SODIUM_LIBS)
