# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/engine/address_exchange.c lib/engine/address_exchange_impl.h \
	lib/engine/batch.c lib/engine/batch_impl.h \
	lib/engine/batch_prepare.c \
	lib/engine/batch_queue.c \
	lib/engine/breakage.c \
	lib/engine/channel.c lib/engine/channel.h \
	lib/engine/complete.c \
	lib/engine/counters.c lib/engine/counters.h \
	lib/engine/decision_rows.c lib/engine/decision_rows.h \
	lib/engine/decisions.c \
	lib/engine/directory.c lib/engine/directory.h \
	lib/engine/engine.c lib/engine/engine.h \
	lib/engine/engine_impl.h \
	lib/engine/fusion_limits.h \
	lib/engine/handles.c \
	lib/engine/home_processor.c lib/engine/home_processor.h \
	lib/engine/in_flight.c lib/engine/in_flight.h \
	lib/engine/inspect.c \
	lib/engine/numerics.c lib/engine/numerics.h \
	lib/engine/processors.c lib/engine/processors.h \
	lib/engine/progress.c lib/engine/progress_impl.h \
	lib/engine/progress_sleep.c \
	lib/engine/progress_thread.c \
	lib/engine/ready.c \
	lib/engine/set.c lib/engine/set_impl.h \
	lib/engine/set_data.c \
	lib/engine/set_links.c \
	lib/engine/set_steady.c lib/engine/set_steady_impl.h \
	lib/engine/set_steady_commit.c \
	lib/engine/set_steady_done.c \
	lib/engine/set_steady_kept.c \
	lib/engine/set_steady_limits.c \
	lib/engine/set_steady_rows.c \
	lib/engine/set_steady_run.c \
	lib/engine/set_steady_sent.c \
	lib/engine/set_steady_wait.c \
	lib/engine/set_tree.c \
	lib/engine/sets.c \
	lib/engine/stage.c lib/engine/stage_impl.h \
	lib/engine/stage_copy.c \
	lib/engine/stage_piece.c \
	lib/engine/stage_reduce.c \
	lib/engine/status_text.c \
	lib/engine/submit.c \
	lib/engine/submit_offer.c \
	lib/engine/submitted.c \
	lib/engine/trace.c lib/engine/trace.h \
	lib/engine/tree_link.c lib/engine/tree_link.h \
	lib/engine/tune.c
