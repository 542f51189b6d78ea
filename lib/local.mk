# SPDX-License-Identifier: Apache-2.0
# What runs inside a training process, and the base that every side shares.

noinst_LTLIBRARIES += lib/base/libbase.la lib/libhvd_internal.la
lib_LTLIBRARIES += lib/libhvd.la
include_HEADERS += lib/hvd.h lib/hvd_device.h lib/hvd_optimizer.h lib/hvd_training.h
paths_install += $(pkgconfigdir)/hvd.pc:lib/hvd.pc.in
EXTRA_DIST += lib/hvd.pc.in

lib_base_libbase_la_SOURCES = \
	lib/base/algorithm_names.c lib/base/algorithm_names.h \
	lib/base/auth.c lib/base/auth.h \
	lib/base/clock.c lib/base/clock.h \
	lib/base/collective_kind.c lib/base/collective_kind.h \
	lib/base/cpu_pause.h \
	lib/base/descriptor.c lib/base/descriptor.h \
	lib/base/env_names.h \
	lib/base/frame.c lib/base/frame.h \
	lib/base/hush.c lib/base/hush.h \
	lib/base/interface_choice.c \
	lib/base/interfaces.c lib/base/interfaces.h \
	lib/base/job_id.c lib/base/job_id.h \
	lib/base/join_protocol.c lib/base/join_protocol.h \
	lib/base/least.h \
	lib/base/log.c lib/base/log.h \
	lib/base/place.h \
	lib/base/quiet_thread.c lib/base/quiet_thread.h \
	lib/base/rank_end.c lib/base/rank_end.h \
	lib/base/rank_end_text.c lib/base/rank_end_text.h \
	lib/base/rank_stats.c lib/base/rank_stats.h \
	lib/base/rank_waits.c lib/base/rank_waits.h \
	lib/base/rendezvous_stream.h \
	lib/base/settings.c lib/base/settings.h \
	lib/base/standard_streams.c lib/base/standard_streams.h \
	lib/base/status.c lib/base/status.h \
	lib/base/sum.h \
	lib/base/text.c lib/base/text.h \
	lib/base/topology.c lib/base/topology.h \
	lib/base/transport.c lib/base/transport.h \
	lib/base/wire.c lib/base/wire.h
lib_base_libbase_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS)
lib_base_libbase_la_LIBADD = $(SODIUM_LIBS)

# All of libhvd with nothing hidden: what libhvd is made from and what its unit tests link.
lib_libhvd_internal_la_SOURCES = \
	lib/hvd.c lib/hvd.h \
	lib/hvd_collectives.c \
	lib/hvd_device.c \
	lib/hvd_memory.c \
	lib/hvd_process_sets.c \
	lib/process.c lib/process.h \
	lib/world.c lib/world.h \
	lib/autotune/thresholds_file.c lib/autotune/thresholds_file.h \
	lib/autotune/gaussian_process.c lib/autotune/gaussian_process.h \
	lib/autotune/step_meter.c lib/autotune/step_meter.h \
	lib/autotune/tuner.c lib/autotune/tuner.h \
	lib/autotune/tuner_log.c lib/autotune/tuner_log.h \
	lib/autotune/tuning.c lib/autotune/tuning.h \
	lib/collective/adasum.c lib/collective/adasum.h lib/collective/adasum_impl.h \
	lib/collective/adasum_math.c lib/collective/adasum_math.h \
	lib/collective/adasum_memory.c \
	lib/collective/adasum_schedule.c lib/collective/adasum_schedule.h \
	lib/collective/algorithm.c lib/collective/algorithm.h \
	lib/collective/allgather_ring.c \
	lib/collective/allreduce_ring.c \
	lib/collective/alltoall_pairwise.c lib/collective/alltoall_pairwise.h \
	lib/collective/broadcast_ring.c \
	lib/collective/broadcast_tree.c lib/collective/broadcast_tree.h \
	lib/collective/direct.c lib/collective/direct.h \
	lib/collective/direct_flow.c lib/collective/direct_flow.h \
	lib/collective/direct_schedule.c lib/collective/direct_schedule.h \
	lib/collective/doubling.c lib/collective/doubling.h \
	lib/collective/doubling_schedule.c lib/collective/doubling_schedule.h \
	lib/collective/exchange.c lib/collective/exchange.h \
	lib/collective/exchange_flow.c lib/collective/exchange_flow.h \
	lib/collective/exchange_schedule.c lib/collective/exchange_schedule.h \
	lib/collective/halving_doubling.c \
	lib/collective/operation.c lib/collective/operation.h \
	lib/collective/operation_impl.h \
	lib/collective/operation_store.c \
	lib/collective/placing.c lib/collective/placing.h \
	lib/collective/recursive_doubling.c \
	lib/collective/reduce_scatter_ring.c \
	lib/collective/ring.c lib/collective/ring.h \
	lib/collective/ring_flow.c lib/collective/ring_flow.h \
	lib/collective/ring_schedule.c lib/collective/ring_schedule.h \
	lib/collective/tree_schedule.c lib/collective/tree_schedule.h \
	lib/collective/two_level.c lib/collective/two_level.h \
	lib/collective/two_level_schedule.c lib/collective/two_level_schedule.h \
	lib/device/device.c lib/device/device.h \
	lib/device/device_calls.c \
	lib/device/device_copy.c lib/device/device_copy.h \
	lib/device/device_impl.h \
	lib/device/device_memory.c \
	lib/device/transfer.c lib/device/transfer.h \
	lib/engine/breakage.c \
	lib/engine/channel.c lib/engine/channel.h \
	lib/engine/complete.c \
	lib/engine/counters.c lib/engine/counters.h \
	lib/engine/decisions.c \
	lib/engine/directory.c lib/engine/directory.h \
	lib/engine/status_text.c \
	lib/engine/engine.c lib/engine/engine.h \
	lib/engine/engine_impl.h \
	lib/engine/in_flight.c lib/engine/in_flight.h \
	lib/engine/handles.c \
	lib/engine/inspect.c \
	lib/engine/numerics.c lib/engine/numerics.h \
	lib/engine/processors.c lib/engine/processors.h \
	lib/engine/progress.c lib/engine/progress_impl.h \
	lib/engine/progress_sleep.c \
	lib/engine/progress_thread.c \
	lib/engine/address_exchange.c lib/engine/address_exchange_impl.h \
	lib/engine/ready.c \
	lib/engine/batch.c lib/engine/batch_impl.h \
	lib/engine/batch_prepare.c \
	lib/engine/batch_queue.c \
	lib/engine/set.c lib/engine/set_impl.h \
	lib/engine/set_data.c \
	lib/engine/set_links.c \
	lib/engine/set_tree.c \
	lib/engine/sets.c \
	lib/engine/stage.c lib/engine/stage_impl.h \
	lib/engine/stage_copy.c \
	lib/engine/stage_piece.c \
	lib/engine/stage_reduce.c \
	lib/engine/submit.c \
	lib/engine/submit_offer.c \
	lib/engine/submitted.c \
	lib/engine/trace.c lib/engine/trace.h \
	lib/engine/tree_link.c lib/engine/tree_link.h \
	lib/engine/tune.c \
	lib/join/bootstrap.c lib/join/bootstrap.h \
	lib/join/environment.c lib/join/environment.h \
	lib/join/failure.c lib/join/failure.h \
	lib/join/join_client.c lib/join/join_client.h \
	lib/join/join_retry.c lib/join/join_retry.h \
	lib/join/news.c lib/join/news.h \
	lib/join/other_launcher.c lib/join/other_launcher.h \
	lib/link/arrivals.c lib/link/arrivals.h \
	lib/link/link.h \
	lib/link/link_accept.c lib/link/link_accept.h \
	lib/link/link_connection.c lib/link/link_connection.h \
	lib/link/link_dial.c lib/link/link_dial.h \
	lib/link/link_greet.c lib/link/link_greet.h \
	lib/link/link_handshake.c lib/link/link_handshake.h \
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
	lib/link/shm_doorbell.c lib/link/shm_doorbell.h \
	lib/link/shm_fetch.c lib/link/shm_fetch.h \
	lib/link/shm_imported.c lib/link/shm_imported.h \
	lib/link/shm_exported.c lib/link/shm_exported.h \
	lib/link/shm_ring.c lib/link/shm_ring.h \
	lib/link/shm_run.c lib/link/shm_run.h \
	lib/link/socket.c lib/link/socket.h \
	lib/memory/extents.c lib/memory/extents.h \
	lib/memory/segment.c lib/memory/segment.h \
	lib/memory/segment_index.c lib/memory/segment_index.h \
	lib/memory/shared_heap.c lib/memory/shared_heap.h \
	lib/memory/spans.c lib/memory/spans.h \
	lib/negotiation/apply.c \
	lib/negotiation/cache.c lib/negotiation/cache.h \
	lib/negotiation/contribution.c lib/negotiation/contribution.h \
	lib/negotiation/decide.c \
	lib/negotiation/decision_check.c \
	lib/negotiation/description.c lib/negotiation/description.h \
	lib/negotiation/fusion_plan.c lib/negotiation/fusion_plan.h \
	lib/negotiation/contribute.c \
	lib/negotiation/groups.c lib/negotiation/groups.h \
	lib/negotiation/join.c \
	lib/negotiation/list_text.c lib/negotiation/list_text.h \
	lib/negotiation/message.c lib/negotiation/message.h \
	lib/negotiation/negotiation.c lib/negotiation/negotiation.h \
	lib/negotiation/pending.c lib/negotiation/pending.h \
	lib/negotiation/pool.c lib/negotiation/pool.h \
	lib/negotiation/rank_ranges.c \
	lib/negotiation/ready.c \
	lib/negotiation/receive.c \
	lib/negotiation/report.c \
	lib/negotiation/retire.c \
	lib/negotiation/slot_book.c lib/negotiation/slot_book.h \
	lib/negotiation/state.h \
	lib/negotiation/variants.c lib/negotiation/variants.h \
	lib/negotiation/variants_check.c \
	lib/negotiation/waiting.c \
	lib/reduce/copy.c lib/reduce/copy.h \
	lib/reduce/thread_pool.c lib/reduce/thread_pool.h \
	lib/reduce/half.h \
	lib/reduce/reduce.c lib/reduce/reduce.h \
	lib/reduce/reduce_avx2.c \
	lib/reduce/reduce_avx512.c \
	lib/reduce/reduce_loops.h \
	lib/reduce/reduce_pairs.h \
	lib/reduce/reduce_path.h \
	lib/reduce/reduce_portable.c \
	lib/request/arguments.c lib/request/arguments.h \
	lib/request/request.c lib/request/request.h \
	lib/request/request_lists.c \
	lib/request/submission.h \
	lib/stall/stall.c lib/stall/stall.h \
	lib/stall/stall_message.c lib/stall/stall_message.h \
	lib/stall/stall_overdue.c lib/stall/stall_overdue.h \
	lib/stall/stall_round.c lib/stall/stall_round.h \
	lib/stall/stall_self.c lib/stall/stall_self.h \
	lib/stall/stall_text.c lib/stall/stall_text.h \
	lib/timeline/timeline.c lib/timeline/timeline.h \
	lib/timeline/timeline_file.c lib/timeline/timeline_file.h \
	lib/timeline/timeline_names.c lib/timeline/timeline_names.h \
	lib/training/call.c lib/training/call.h \
	lib/training/checkpoint.c \
	lib/training/checkpoint_blocks.c lib/training/checkpoint_blocks.h \
	lib/training/checkpoint_file.h \
	lib/training/checkpoint_layout.c lib/training/checkpoint_layout.h \
	lib/training/checkpoint_list.c lib/training/checkpoint_list.h \
	lib/training/checkpoint_match.c \
	lib/training/checkpoint_read.c \
	lib/training/checkpoint_temporary.c lib/training/checkpoint_temporary.h \
	lib/training/checkpoint_write.c \
	lib/training/agreement.c lib/training/agreement.h \
	lib/training/metrics.c \
	lib/training/names.c lib/training/names.h \
	lib/training/object.c \
	lib/training/optimizer.c lib/training/optimizer_impl.h \
	lib/training/optimizer_adasum.c \
	lib/training/optimizer_agreement.c \
	lib/training/optimizer_create.c \
	lib/training/optimizer_gradient.c \
	lib/training/optimizer_groups.c \
	lib/training/optimizer_options.c \
	lib/training/optimizer_parameters.c \
	lib/training/optimizer_reduction.c \
	lib/training/parameters.c lib/training/parameters.h \
	lib/training/rates.c \
	lib/training/sampler.c \
	lib/training/state.c
lib_libhvd_internal_la_CFLAGS = $(AM_CFLAGS) $(SODIUM_CFLAGS)
lib_libhvd_internal_la_LIBADD = lib/base/libbase.la $(SODIUM_LIBS) -lm -lpthread

# current:revision:age. Before a release, in this order: any change, revision + 1; a call or value
# added, changed or removed, current + 1 and revision 0; only added, age + 1; changed or removed,
# age 0.
lib_libhvd_la_SOURCES =
lib_libhvd_la_LIBADD = lib/libhvd_internal.la $(SODIUM_LIBS) -lm -lpthread
lib_libhvd_la_LDFLAGS = $(AM_LDFLAGS) $(LIBHVD_LDFLAGS) -version-info 0:0:0 $(LIBHVD_EXPORTS) -no-undefined
EXTRA_lib_libhvd_la_DEPENDENCIES = lib/libhvd.map
EXTRA_DIST += lib/libhvd.abi lib/libhvd.map

# Writes down the ABI that tests/program/abi_test.sh holds the library to.
accept-abi: lib/libhvd.la
	CC='$(CC)' $(SHELL) $(srcdir)/tests/support/abi.sh '$(abs_top_srcdir)/lib' lib/.libs/libhvd.so >lib/libhvd.abi.new
	mv lib/libhvd.abi.new $(srcdir)/lib/libhvd.abi
