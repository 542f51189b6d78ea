# SPDX-License-Identifier: Apache-2.0
# Unit tests (Check) and whole-program tests (sh), all of them speaking TAP. The whole-program tests run what
# "make install" would install, from tests/stage.

if HAVE_CHECK
noinst_LTLIBRARIES += tests/support/libsupport.la
tests_support_libsupport_la_SOURCES = \
	tests/support/credentials.h \
	tests/support/descriptors.h \
	tests/support/elastic_plan_fixture.h \
	tests/support/elements.c tests/support/elements.h \
	tests/support/json.c tests/support/json.h \
	tests/support/layouts.c tests/support/layouts.h \
	tests/support/link_memory.c tests/support/link_memory.h \
	tests/support/linkers.c tests/support/linkers.h \
	tests/support/log_capture.h \
	tests/support/mini_rendezvous.c tests/support/mini_rendezvous.h \
	tests/support/model.c tests/support/model.h \
	tests/support/negotiation_net.c tests/support/negotiation_net.h \
	tests/support/steady_world.c tests/support/steady_world.h \
	tests/support/steady_world_impl.h \
	tests/support/steady_world_set.c \
	tests/support/steady_world_steady.c \
	tests/support/operation_net.c tests/support/operation_net.h \
	tests/support/operation_world.c tests/support/operation_world.h \
	tests/support/ranks.c tests/support/ranks.h \
	tests/support/reduce_fill.c tests/support/reduce_fill.h \
	tests/support/reduce_reference.c tests/support/reduce_reference.h \
	tests/support/shm_pair.c tests/support/shm_pair.h \
	tests/support/stall_world.c tests/support/stall_world.h \
	tests/support/unit.h

# What unit tests link unless they say otherwise: of archives, only what is used comes along.
LDADD = $(AS_NEEDED) $(unit_libs)
unit_libs = tests/support/libsupport.la $(program_archives) lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(UV_LIBS) $(CJSON_LIBS) $(SECCOMP_LIBS) \
	$(SSH2_LIBS) $(CRYPTO_LIBS) $(YAML_LIBS) $(HWLOC_LIBS) $(CHECK_LIBS)

unit_tests = \
	tests/unit/bench/prediction_test \
	tests/unit/examples/accelerator_faults_test \
	tests/unit/examples/accelerator_queues_test \
	tests/unit/examples/accelerator_test \
	tests/unit/lib/collective/adasum_math_test \
	tests/unit/lib/collective/adasum_schedule_test \
	tests/unit/lib/collective/adasum_test \
	tests/unit/lib/collective/algorithm_test \
	tests/unit/lib/base/auth_test \
	tests/unit/lib/base/rank_credentials_test \
	tests/unit/lib/training/average_metrics_test \
	tests/unit/lib/blocking_test \
	tests/unit/lib/interrupt_test \
	tests/unit/lib/collective/broadcast_linear_test \
	tests/unit/lib/engine/breakage_test \
	tests/unit/lib/engine/broadcast_shared_test \
	tests/unit/lib/collective/broadcast_tree_test \
	tests/unit/lib/collective/linear_flow_test \
	tests/unit/lib/autotune/thresholds_file_test \
	tests/unit/lib/engine/channel_test \
	tests/unit/lib/training/checkpoint_device_test \
	tests/unit/lib/training/checkpoint_fault_test \
	tests/unit/lib/training/checkpoint_file_test \
	tests/unit/lib/training/checkpoint_list_test \
	tests/unit/lib/training/checkpoint_test \
	tests/unit/lib/training/agreement_test \
	tests/unit/lib/training/elastic_history_test \
	tests/unit/lib/training/elastic_loop_test \
	tests/unit/lib/training/elastic_memory_test \
	tests/unit/lib/training/elastic_stamp_test \
	tests/unit/lib/training/elastic_test \
	tests/unit/lib/engine/counters_test \
	tests/unit/lib/memory/copy_test \
	tests/unit/lib/reduce/thread_pool_test \
	tests/unit/lib/negotiation/description_test \
	tests/unit/lib/cuda/cuda_device_test \
	tests/unit/lib/cuda/cuda_ordinal_test \
	tests/unit/lib/cuda/group_records_test \
	tests/unit/lib/cuda/group_requests_test \
	tests/unit/lib/cuda/hierarchy_failure_test \
	tests/unit/lib/cuda/hierarchy_plan_test \
	tests/unit/lib/cuda/hierarchy_test \
	tests/unit/lib/cuda/ipc_failure_test \
	tests/unit/lib/cuda/ipc_lock_test \
	tests/unit/lib/cuda/ipc_test \
	tests/unit/lib/cuda/kernels_ptx_test \
	tests/unit/lib/cuda/nccl_alltoall_test \
	tests/unit/lib/cuda/nccl_failure_test \
	tests/unit/lib/cuda/nccl_gather_test \
	tests/unit/lib/cuda/nccl_test \
	tests/unit/lib/cuda/stand_in_ipc_test \
	tests/unit/lib/device/device_copy_test \
	tests/unit/lib/device/device_ends_test \
	tests/unit/lib/device/device_load_test \
	tests/unit/lib/device/device_ready_test \
	tests/unit/lib/device/device_reduce_test \
	tests/unit/lib/device/device_test \
	tests/unit/lib/collective/direct_flow_test \
	tests/unit/lib/engine/decision_rows_test \
	tests/unit/lib/engine/set_steady_kept_test \
	tests/unit/lib/engine/set_steady_wait_test \
	tests/unit/lib/engine/directory_test \
	tests/unit/lib/collective/doubling_schedule_test \
	tests/unit/lib/engine/engine_ends_test \
	tests/unit/lib/engine/home_processor_test \
	tests/unit/lib/engine/in_flight_test \
	tests/unit/lib/engine/late_link_test \
	tests/unit/lib/engine/ready_test \
	tests/unit/lib/engine/status_text_test \
	tests/unit/lib/engine/engine_alone_test \
	tests/unit/lib/engine/engine_memory_test \
	tests/unit/lib/engine/engine_progress_test \
	tests/unit/lib/engine/engine_threads_test \
	tests/unit/lib/join/bootstrap_choice_test \
	tests/unit/lib/join/environment_test \
	tests/unit/lib/pmi/contact_test \
	tests/unit/lib/pmi/pmi_message_test \
	tests/unit/lib/pmi/process_manager_test \
	tests/unit/lib/serve/rank_server_test \
	tests/unit/lib/serve/rendezvous_thread_test \
	tests/unit/lib/collective/exchange_alone_test \
	tests/unit/lib/collective/exchange_schedule_test \
	tests/unit/lib/collective/exchange_test \
	tests/unit/lib/memory/extents_test \
	tests/unit/lib/join/failure_test \
	tests/unit/lib/base/encryption_test \
	tests/unit/lib/base/frame_test \
	tests/unit/lib/reduce/half_test \
	tests/unit/lib/base/interfaces_test \
	tests/unit/lib/base/job_id_test \
	tests/unit/lib/base/key_owner_test \
	tests/unit/lib/join/join_client_test \
	tests/unit/lib/base/join_protocol_test \
	tests/unit/lib/base/join_report_test \
	tests/unit/lib/base/join_welcome_test \
	tests/unit/lib/link/link_connect_test \
	tests/unit/lib/link/link_encrypted_test \
	tests/unit/lib/link/link_handshake_test \
	tests/unit/lib/link/link_shm_hostile_test \
	tests/unit/lib/link/link_shm_process_test \
	tests/unit/lib/link/link_shm_refusal_test \
	tests/unit/lib/link/link_shm_sleep_test \
	tests/unit/lib/link/link_shm_stress_test \
	tests/unit/lib/link/link_shm_test \
	tests/unit/lib/link/link_upgrade_test \
	tests/unit/lib/link/linker_encryption_test \
	tests/unit/lib/link/linker_failure_test \
	tests/unit/lib/link/link_striped_test \
	tests/unit/lib/link/link_tcp_test \
	tests/unit/lib/link/linker_test \
	tests/unit/lib/link/linker_transport_test \
	tests/unit/lib/link/listener_test \
	tests/unit/lib/base/late_ranks_test \
	tests/unit/lib/base/log_test \
	tests/unit/lib/negotiation/negotiation_agree_test \
	tests/unit/lib/negotiation/negotiation_algorithm_test \
	tests/unit/lib/negotiation/negotiation_cache_test \
	tests/unit/lib/negotiation/negotiation_fusion_test \
	tests/unit/lib/negotiation/negotiation_hostile_test \
	tests/unit/lib/negotiation/negotiation_join_test \
	tests/unit/lib/negotiation/negotiation_memory_test \
	tests/unit/lib/negotiation/negotiation_mismatch_test \
	tests/unit/lib/negotiation/negotiation_random_test \
	tests/unit/lib/negotiation/negotiation_reduce_test \
	tests/unit/lib/negotiation/negotiation_steady_test \
	tests/unit/lib/negotiation/negotiation_waiting_test \
	tests/unit/lib/link/network_test \
	tests/unit/lib/join/news_test \
	tests/unit/lib/engine/numerics_test \
	tests/unit/lib/training/object_test \
	tests/unit/lib/collective/operation_reduction_test \
	tests/unit/lib/collective/operation_rows_test \
	tests/unit/lib/collective/operation_store_test \
	tests/unit/lib/training/optimizer_adasum_test \
	tests/unit/lib/training/optimizer_agreement_test \
	tests/unit/lib/training/optimizer_compression_test \
	tests/unit/lib/training/optimizer_device_test \
	tests/unit/lib/training/optimizer_end_test \
	tests/unit/lib/training/optimizer_groups_test \
	tests/unit/lib/training/optimizer_memory_test \
	tests/unit/lib/training/optimizer_options_test \
	tests/unit/lib/training/optimizer_passes_test \
	tests/unit/lib/training/optimizer_test \
	tests/unit/lib/training/optimizer_training_test \
	tests/unit/lib/join/other_launcher_test \
	tests/unit/lib/training/parameters_test \
	tests/unit/lib/collective/piece_test \
	tests/unit/lib/engine/processors_test \
	tests/unit/lib/training/rates_test \
	tests/unit/lib/reduce/reduce_test \
	tests/unit/lib/base/quiet_thread_test \
	tests/unit/lib/base/rank_end_test \
	tests/unit/lib/request/request_test \
	tests/unit/lib/collective/ring_schedule_test \
	tests/unit/lib/training/sampler_test \
	tests/unit/lib/reduce/scale_test \
	tests/unit/lib/memory/segment_test \
	tests/unit/lib/base/settings_test \
	tests/unit/lib/base/signal_block_test \
	tests/unit/lib/memory/shared_heap_test \
	tests/unit/lib/link/shm_costs_test \
	tests/unit/lib/link/shm_distance_test \
	tests/unit/lib/link/shm_places_test \
	tests/unit/lib/link/shm_ring_test \
	tests/unit/lib/link/tcp_unanswered_test \
	tests/unit/lib/link/shm_method_test \
	tests/unit/lib/stall/stall_ask_test \
	tests/unit/lib/stall/stall_message_test \
	tests/unit/lib/stall/stall_self_test \
	tests/unit/lib/stall/stall_test \
	tests/unit/lib/negotiation/schedule_test \
	tests/unit/lib/negotiation/state_test \
	tests/unit/lib/negotiation/steady_round_test \
	tests/unit/lib/negotiation/steady_simulation_test \
	tests/unit/lib/negotiation/steady_test \
	tests/unit/lib/base/checksum_test \
	tests/unit/lib/base/cuda_settings_test \
	tests/unit/lib/base/tcp_attempts_test \
	tests/unit/lib/base/text_test \
	tests/unit/lib/base/unknown_variable_test \
	tests/unit/lib/timeline/timeline_test \
	tests/unit/lib/base/topology_test \
	tests/unit/lib/base/transport_test \
	tests/unit/lib/engine/tree_link_test \
	tests/unit/lib/autotune/tuner_log_test \
	tests/unit/lib/autotune/tuner_test \
	tests/unit/lib/collective/two_level_schedule_test \
	tests/unit/lib/collective/two_level_test \
	tests/unit/lib/negotiation/variants_test \
	tests/unit/lib/base/wire_test \
	tests/unit/lib/world_adasum_test \
	tests/unit/lib/world_arguments_test \
	tests/unit/lib/world_deadlock_test \
	tests/unit/lib/world_end_test \
	tests/unit/lib/world_join_test \
	tests/unit/lib/world_leave_test \
	tests/unit/lib/world_mistakes_test \
	tests/unit/lib/world_process_test \
	tests/unit/lib/world_steady_leave_test \
	tests/unit/lib/world_steady_sent_test \
	tests/unit/lib/world_steady_steps_test \
	tests/unit/lib/world_steady_test \
	tests/unit/lib/world_steady_values_test \
	tests/unit/lib/world_races_test \
	tests/unit/lib/world_service_test \
	tests/unit/lib/world_values_test

device_ranks = tests/support/device_ranks.c tests/support/device_ranks.h
tests_unit_lib_training_checkpoint_device_test_SOURCES = tests/unit/lib/training/checkpoint_device_test.c $(device_ranks)
tests_unit_lib_training_checkpoint_device_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_training_checkpoint_device_test_LDADD = examples/libsupport.la $(LDADD)
# On the stand-in of the driver, which is loaded although nothing refers to it
cuda_ranks = tests/support/cuda_ranks.c tests/support/cuda_ranks.h $(device_ranks)
cuda_libraries = examples/libsupport.la tests/stand_in_cuda/libcuda.la lib/cuda/libcuda_module.la
tests_unit_lib_cuda_cuda_device_test_SOURCES = tests/unit/lib/cuda/cuda_device_test.c $(cuda_ranks)
tests_unit_lib_cuda_cuda_device_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_cuda_device_test_LDADD = $(cuda_libraries) $(unit_libs)
tests_unit_lib_cuda_cuda_device_test_LDFLAGS = $(AM_LDFLAGS) -no-install
nccl_ranks = tests/support/nccl_ranks.h $(cuda_ranks)
nccl_libraries = tests/stand_in_cuda/libnccl.la $(cuda_libraries) $(unit_libs)
tests_unit_lib_cuda_nccl_test_SOURCES = tests/unit/lib/cuda/nccl_test.c $(nccl_ranks)
tests_unit_lib_cuda_nccl_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_nccl_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_nccl_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_nccl_alltoall_test_SOURCES = tests/unit/lib/cuda/nccl_alltoall_test.c $(nccl_ranks)
tests_unit_lib_cuda_nccl_alltoall_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_nccl_alltoall_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_nccl_alltoall_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_nccl_gather_test_SOURCES = tests/unit/lib/cuda/nccl_gather_test.c $(nccl_ranks)
tests_unit_lib_cuda_nccl_gather_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_nccl_gather_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_nccl_gather_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_nccl_failure_test_SOURCES = tests/unit/lib/cuda/nccl_failure_test.c $(nccl_ranks)
tests_unit_lib_cuda_nccl_failure_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_nccl_failure_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_nccl_failure_test_LDFLAGS = $(AM_LDFLAGS) -no-install
hierarchy_ranks = tests/support/hierarchy_ranks.h tests/support/log_capture.h $(nccl_ranks)
tests_unit_lib_cuda_hierarchy_test_SOURCES = tests/unit/lib/cuda/hierarchy_test.c $(hierarchy_ranks)
tests_unit_lib_cuda_hierarchy_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_hierarchy_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_hierarchy_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_hierarchy_failure_test_SOURCES = tests/unit/lib/cuda/hierarchy_failure_test.c $(hierarchy_ranks)
tests_unit_lib_cuda_hierarchy_failure_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_hierarchy_failure_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_hierarchy_failure_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_group_records_test_LDADD = lib/cuda/libcuda_module.la $(LDADD)
tests_unit_lib_cuda_group_requests_test_LDADD = lib/cuda/libcuda_module.la $(LDADD)
tests_unit_lib_cuda_group_requests_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_lib_cuda_hierarchy_plan_test_LDADD = lib/cuda/libcuda_module.la $(LDADD)
ipc_ranks = tests/support/ipc_ranks.h $(nccl_ranks)
tests_unit_lib_cuda_ipc_test_SOURCES = tests/unit/lib/cuda/ipc_test.c $(ipc_ranks)
tests_unit_lib_cuda_ipc_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_ipc_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_ipc_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_ipc_failure_test_SOURCES = tests/unit/lib/cuda/ipc_failure_test.c tests/support/log_capture.h $(ipc_ranks)
tests_unit_lib_cuda_ipc_failure_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_ipc_failure_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_ipc_failure_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_ipc_epoch_test_SOURCES = tests/unit/lib/cuda/ipc_epoch_test.c $(ipc_ranks)
tests_unit_lib_cuda_ipc_epoch_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_ipc_epoch_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_ipc_epoch_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_set_ids_test_SOURCES = tests/unit/lib/cuda/set_ids_test.c $(ipc_ranks)
tests_unit_lib_cuda_set_ids_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_cuda_set_ids_test_LDADD = $(nccl_libraries)
tests_unit_lib_cuda_set_ids_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_stand_in_ipc_test_LDADD = tests/stand_in_cuda/libcuda.la $(unit_libs)
tests_unit_lib_cuda_stand_in_ipc_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_cuda_ipc_lock_test_LDADD = lib/cuda/libcuda_module.la $(LDADD)
tests_unit_lib_cuda_cuda_ordinal_test_LDADD = lib/cuda/libcuda_module.la $(LDADD)
tests_unit_lib_cuda_kernels_ptx_test_LDADD = tests/stand_in_cuda/libcuda.la lib/cuda/libcuda_module.la $(unit_libs)
tests_unit_lib_cuda_kernels_ptx_test_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_unit_lib_device_device_copy_test_SOURCES = tests/unit/lib/device/device_copy_test.c $(device_ranks)
tests_unit_lib_device_device_copy_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_device_device_copy_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_lib_device_device_ends_test_SOURCES = tests/unit/lib/device/device_ends_test.c $(device_ranks)
tests_unit_lib_device_device_ends_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_device_device_ends_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_lib_device_device_ready_test_SOURCES = tests/unit/lib/device/device_ready_test.c $(device_ranks)
tests_unit_lib_device_device_ready_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_device_device_ready_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_lib_device_device_reduce_test_SOURCES = tests/unit/lib/device/device_reduce_test.c $(device_ranks)
tests_unit_lib_device_device_reduce_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_device_device_reduce_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_lib_device_device_test_SOURCES = tests/unit/lib/device/device_test.c $(device_ranks)
tests_unit_lib_device_device_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_device_device_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_lib_training_optimizer_device_test_SOURCES = tests/unit/lib/training/optimizer_device_test.c $(device_ranks)
tests_unit_lib_training_optimizer_device_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_lib_training_optimizer_device_test_LDADD = examples/libsupport.la $(LDADD)

accelerator_fixture = tests/support/accelerator_fixture.c tests/support/accelerator_fixture.h
tests_unit_bench_prediction_test_LDFLAGS = $(AM_LDFLAGS) $(prediction_ldflags)
tests_unit_bench_prediction_test_LDADD = bench/libprediction.la $(LDADD) -lm
tests_unit_examples_accelerator_faults_test_SOURCES = tests/unit/examples/accelerator_faults_test.c $(accelerator_fixture)
tests_unit_examples_accelerator_faults_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_accelerator_faults_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_examples_accelerator_queues_test_SOURCES = tests/unit/examples/accelerator_queues_test.c $(accelerator_fixture)
tests_unit_examples_accelerator_queues_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_accelerator_queues_test_LDADD = examples/libsupport.la $(LDADD)
tests_unit_examples_accelerator_test_SOURCES = tests/unit/examples/accelerator_test.c $(accelerator_fixture)
tests_unit_examples_accelerator_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_accelerator_test_LDADD = examples/libsupport.la $(LDADD)

# Every allocation fails in turn.
tests_unit_lib_link_linker_failure_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

tests_unit_lib_collective_broadcast_linear_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=operation_alloc
tests_unit_lib_base_interfaces_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=getifaddrs
tests_unit_lib_timeline_timeline_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pwrite,--wrap=clock_gettime
tests_unit_lib_engine_home_processor_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sched_setaffinity
tests_unit_lib_engine_broadcast_shared_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=broadcast_linear_start,--wrap=shared_heap_alloc,--wrap=shared_heap_free
tests_unit_lib_engine_breakage_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=set_check_links,--wrap=set_end
tests_unit_lib_memory_segment_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=madvise,--wrap=fallocate
tests_unit_lib_engine_in_flight_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc,--wrap=reallocarray
tests_unit_lib_engine_late_link_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=set_receive_from_parent,--wrap=linker_move,--wrap=set_want_data,--wrap=set_end

# Somebody is another user; the kernel refuses.
tests_unit_lib_link_linker_transport_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=geteuid
tests_unit_lib_link_link_shm_hostile_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=shared_heap_find
tests_unit_lib_link_link_shm_process_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=shared_heap_find
tests_unit_lib_link_link_shm_refusal_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=shared_heap_find,--wrap=mmap,--wrap=process_vm_readv
tests_unit_lib_link_link_shm_sleep_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=shared_heap_find,--wrap=send
tests_unit_lib_link_link_shm_stress_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=shared_heap_find
tests_unit_lib_link_link_shm_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=shared_heap_find,--wrap=calloc
tests_unit_lib_link_link_tcp_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=send
tests_unit_lib_link_link_upgrade_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=memfd_create,--wrap=sendmsg,--wrap=mmap \
	-Wl,--wrap=segment_is_promised,--wrap=segment_populate
tests_unit_lib_link_shm_distance_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=monotonic_ns
tests_unit_lib_link_shm_ring_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=segment_populate

# One allocation fails.
tests_unit_lib_training_average_metrics_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc,--wrap=realloc
tests_unit_lib_training_elastic_memory_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=realloc
tests_unit_lib_training_object_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc

# Calls fail in turn.
tests_unit_lib_training_checkpoint_fault_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=write,--wrap=fsync,--wrap=rename,--wrap=close

# Allocations are counted.
tests_unit_lib_engine_engine_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray \
	-Wl,--wrap=aligned_alloc,--wrap=free

tests_unit_lib_collective_adasum_math_test_LDADD = $(LDADD) -lm
tests_unit_lib_collective_adasum_test_LDADD = $(LDADD) -lm
tests_unit_lib_training_average_metrics_test_LDADD = $(LDADD) -lm
tests_unit_lib_collective_exchange_alone_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=aligned_alloc
tests_unit_lib_collective_exchange_test_LDADD = $(LDADD) -lm
tests_unit_lib_reduce_half_test_LDADD = $(LDADD) -lm
tests_unit_lib_collective_operation_reduction_test_LDADD = $(LDADD) -lm
tests_unit_lib_collective_operation_store_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=aligned_alloc
tests_unit_lib_training_rates_test_LDADD = $(LDADD) -lm
tests_unit_lib_engine_numerics_test_LDADD = $(LDADD) -lm
tests_unit_lib_training_optimizer_adasum_test_LDADD = $(LDADD) -lm
tests_unit_lib_training_optimizer_compression_test_LDADD = $(LDADD) -lm
tests_unit_lib_training_optimizer_training_test_LDADD = $(LDADD) -lm
tests_unit_lib_reduce_reduce_test_LDADD = $(LDADD) -lm
tests_unit_lib_reduce_scale_test_LDADD = $(LDADD) -lm
tests_unit_lib_autotune_tuner_test_LDADD = $(LDADD) -lm
tests_unit_lib_world_values_test_LDADD = $(LDADD) -lm

# Threads that cannot be started.
tests_unit_lib_reduce_thread_pool_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create

# A system that refuses memory, or fork()'s zeros.
tests_unit_lib_memory_shared_heap_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=memfd_create,--wrap=mmap,--wrap=madvise,--wrap=fallocate

# Allocations are counted, and fail in turn.
tests_unit_lib_negotiation_negotiation_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
tests_unit_lib_training_optimizer_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

if PROGRAMS
tests_support_libsupport_la_SOURCES += \
	tests/support/host_keys.h \
	tests/support/agent_fixture.c tests/support/agent_fixture.h \
	tests/support/host_link_fixture.h \
	tests/support/hvdrun_options_fixture.h \
	tests/support/http_fixture.c tests/support/http_fixture.h \
	tests/support/live_rendezvous.c tests/support/live_rendezvous.h \
	tests/support/http_rows.c tests/support/http_rows.h \
	tests/support/server_fixture.c tests/support/server_fixture.h \
	tests/support/job_elastic_fixture.h \
	tests/support/join_client.c tests/support/join_client.h \
	tests/support/key_value_calls.h \
	tests/support/prometheus.c tests/support/prometheus.h

program_archives = src/service/libservice.la src/hvdrun/libhvdrun.la src/options/liboptions.la rendezvous/librendezvous.la launcher/liblauncher.la

unit_tests += \
	tests/unit/rendezvous/store/add_request_test \
	tests/unit/launcher/agent/agent_binding_test \
	tests/unit/launcher/connect/agent_bootstrap_test \
	tests/unit/launcher/agent/agent_dying_test \
	tests/unit/launcher/agent/agent_ends_test \
	tests/unit/launcher/protocol/agent_protocol_test \
	tests/unit/launcher/agent/agent_multicast_test \
	tests/unit/launcher/agent/agent_relay_test \
	tests/unit/launcher/agent/agent_stacks_test \
	tests/unit/launcher/agent/agent_stderr_test \
	tests/unit/launcher/agent/agent_test \
	tests/unit/launcher/placement/binding_test \
	tests/unit/launcher/process/cgroup_test \
	tests/unit/launcher/protocol/clock_offset_test \
	tests/unit/src/hvdrun/config_file_test \
	tests/unit/src/service/daemon_log_test \
	tests/unit/launcher/process/exec_limits_test \
	tests/unit/launcher/protocol/frame_link_test \
	tests/unit/launcher/connect/command_words_test \
	tests/unit/launcher/connect/dial_listener_test \
	tests/unit/launcher/connect/srun_line_test \
	tests/unit/launcher/connect/srun_process_test \
	tests/unit/launcher/protocol/heartbeat_timeout_test \
	tests/unit/launcher/connect/connect_stderr_test \
	tests/unit/launcher/connect/host_connect_test \
	tests/unit/launcher/elastic/discovery_run_test \
	tests/unit/launcher/elastic/discovery_test \
	tests/unit/launcher/elastic/elastic_histories_test \
	tests/unit/launcher/elastic/elastic_plan_drain_test \
	tests/unit/launcher/elastic/elastic_plan_growth_test \
	tests/unit/launcher/elastic/elastic_plan_horovod_test \
	tests/unit/launcher/elastic/elastic_plan_test \
	tests/unit/launcher/elastic/elastic_plan_absent_test \
	tests/unit/launcher/elastic/elastic_plan_missing_test \
	tests/unit/launcher/elastic/elastic_plan_timeout_test \
	tests/unit/launcher/elastic/worker_notice_test \
	tests/unit/launcher/hosts/host_environment_test \
	tests/unit/launcher/job/host_check_table_test \
	tests/unit/launcher/job/stack_groups_test \
	tests/unit/src/hvdrun/host_interfaces_test \
	tests/unit/launcher/hosts/host_lines_test \
	tests/unit/launcher/hosts/host_list_test \
	tests/unit/launcher/hosts/hostfile_read_test \
	tests/unit/rendezvous/http/http_access_test \
	tests/unit/rendezvous/http/http_bad_input_test \
	tests/unit/rendezvous/base/wait_table_test \
	tests/unit/rendezvous/api/http_jobs_test \
	tests/unit/rendezvous/api/http_key_value_test \
	tests/unit/rendezvous/http/http_head_test \
	tests/unit/rendezvous/http/http_memory_test \
	tests/unit/rendezvous/api/http_route_test \
	tests/unit/rendezvous/server/http_session_test \
	tests/unit/src/hvdrun/hvdrun_options_test \
	tests/unit/src/hvdrun/hvdrun_refused_test \
	tests/unit/src/hvdrun/hvdrun_variables_test \
	tests/unit/launcher/verdict/job_blame_test \
	tests/unit/launcher/verdict/job_blame_wrote_test \
	tests/unit/launcher/verdict/job_judge_test \
	tests/unit/rendezvous/world/job_declaration_test \
	tests/unit/launcher/cleanup/command_guard_test \
	tests/unit/launcher/job/job_elastic_hosts_test \
	tests/unit/launcher/job/job_elastic_test \
	tests/unit/launcher/job/job_host_orders_test \
	tests/unit/launcher/job/job_host_heartbeat_test \
	tests/unit/launcher/job/job_host_relay_test \
	tests/unit/launcher/job/job_last_line_test \
	tests/unit/launcher/job/job_progress_test \
	tests/unit/launcher/job/job_start_test \
	tests/unit/launcher/verdict/job_state_test \
	tests/unit/launcher/verdict/stderr_failure_test \
	tests/unit/launcher/verdict/unresponsive_host_test \
	tests/unit/launcher/job/job_status_test \
	tests/unit/rendezvous/store/key_value_memory_test \
	tests/unit/rendezvous/store/key_value_random_test \
	tests/unit/rendezvous/store/key_value_test \
	tests/unit/launcher/ssh/hmac_sha1_test \
	tests/unit/launcher/ssh/known_hosts_files_test \
	tests/unit/launcher/ssh/known_hosts_key_test \
	tests/unit/launcher/ssh/known_hosts_test \
	tests/unit/src/service/key_file_test \
	tests/unit/launcher/output/last_lines_test \
	tests/unit/launcher/cleanup/cleanup_test \
	tests/unit/launcher/cleanup/orphans_test \
	tests/unit/launcher/cleanup/supervisor_test \
	tests/unit/launcher/output/last_line_test \
	tests/unit/rendezvous/world/elastic_service_test \
	tests/unit/rendezvous/server/elastic_gloo_test \
	tests/unit/rendezvous/world/elastic_test \
	tests/unit/rendezvous/world/pending_workers_test \
	tests/unit/lib/training/elastic_run_test \
	tests/unit/lib/world_elastic_test \
	tests/unit/lib/cuda/ipc_epoch_test \
	tests/unit/lib/cuda/set_ids_test \
	tests/unit/lib/world_epoch_test \
	tests/unit/launcher/hosts/local_host_test \
	tests/unit/rendezvous/api/metrics_test \
	tests/unit/launcher/process/oom_counter_test \
	tests/unit/src/options/options_test \
	tests/unit/launcher/output/output_lines_test \
	tests/unit/launcher/output/output_writer_test \
	tests/unit/src/service/port_file_test \
	tests/unit/launcher/process/process_place_test \
	tests/unit/launcher/process/process_tree_test \
	tests/unit/launcher/process/program_find_test \
	tests/unit/launcher/process/program_libraries_test \
	tests/unit/launcher/process/program_output_test \
	tests/unit/launcher/process/program_image_test \
	tests/unit/launcher/base/own_path_test \
	tests/unit/launcher/base/number_test \
	tests/unit/launcher/base/ran_time_test \
	tests/unit/launcher/base/rank_attributes_test \
	tests/unit/launcher/base/rank_names_test \
	tests/unit/launcher/placement/rank_plan_test \
	tests/unit/src/service/readiness_test \
	tests/unit/src/service/syscall_filter_test \
	tests/unit/rendezvous/server/rendezvous_ask_test \
	tests/unit/rendezvous/server/rendezvous_freeze_test \
	tests/unit/rendezvous/server/rendezvous_elastic_test \
	tests/unit/rendezvous/server/rendezvous_epoch_test \
	tests/unit/rendezvous/world/rendezvous_membership_test \
	tests/unit/rendezvous/server/rendezvous_memory_test \
	tests/unit/rendezvous/server/rendezvous_server_test \
	tests/unit/rendezvous/server/rendezvous_service_test \
	tests/unit/rendezvous/server/service_elastic_test \
	tests/unit/rendezvous/server/rendezvous_unauthenticated_test \
	tests/unit/rendezvous/server/rendezvous_workers_test \
	tests/unit/src/hvdrun/report_file_test \
	tests/unit/src/hvdrun/report_json_test \
	tests/unit/src/hvdrun/self_stop_test \
	tests/unit/launcher/process/socket_owner_test \
	tests/unit/launcher/base/shell_words_test \
	tests/unit/launcher/base/shown_seconds_test \
	tests/unit/launcher/process/spawn_test \
	tests/unit/launcher/ssh/ssh_agent_test \
	tests/unit/launcher/ssh/ssh_config_test \
	tests/unit/launcher/ssh/ssh_dial_test \
	tests/unit/launcher/ssh/ssh_confine_test \
	tests/unit/launcher/ssh/ssh_host_key_test \
	tests/unit/launcher/ssh/ssh_keys_test \
	tests/unit/launcher/ssh/ssh_process_test \
	tests/unit/launcher/ssh/ssh_pump_test \
	tests/unit/launcher/ssh/ssh_session_test \
	tests/unit/rendezvous/world/stalls_test \
	tests/unit/rendezvous/api/status_json_test \
	tests/unit/launcher/output/stdin_reader_test \
	tests/unit/launcher/process/stack_text_test \
	tests/unit/launcher/process/stop_plan_test \
	tests/unit/launcher/protocol/tcp_acknowledged_test \
	tests/unit/rendezvous/tcp/tcp_address_test \
	tests/unit/rendezvous/tcp/tcp_connection_test \
	tests/unit/rendezvous/tcp/tcp_port_test \
	tests/unit/launcher/base/text_buffer_test \
	tests/unit/launcher/tree/frame_boundary_test \
	tests/unit/launcher/tree/host_tree_test \
	tests/unit/launcher/tree/tunnel_multicast_test \
	tests/unit/launcher/tree/tunnels_test \
	tests/unit/launcher/base/uv_must_test \
	tests/unit/launcher/process/torch_environment_test \
	tests/unit/launcher/process/worker_environment_test

tests_unit_rendezvous_api_http_jobs_test_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
tests_unit_rendezvous_api_status_json_test_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)

# Counts how often the kernel is asked whose a client is.
tests_unit_launcher_agent_agent_relay_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=socket_owner_find

# What is found, and by which signal.
tests_unit_launcher_cleanup_cleanup_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=process_tree_signal,--wrap=orphans_signal

# A channel that has ended.
tests_unit_launcher_ssh_ssh_pump_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=libssh2_channel_read_ex \
	-Wl,--wrap=libssh2_channel_eof,--wrap=libssh2_channel_wait_closed

# Counts the texts that are open.
tests_unit_launcher_process_cgroup_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fmemopen,--wrap=fclose
tests_unit_launcher_process_oom_counter_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fmemopen,--wrap=fclose

# Its clock stands still.
tests_unit_launcher_job_job_last_line_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=job_now_ms

# Threads that cannot be had, and how many there were.
tests_unit_launcher_output_output_writer_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create
tests_unit_launcher_output_stdin_reader_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create

# A disk that is full.
tests_unit_launcher_ssh_known_hosts_files_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write

# Out of memory for a frame.
tests_unit_launcher_protocol_frame_link_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=realloc

# Their clock is put forward; and they stand in for the rendezvous, so that no archive may have this.
tcp_clients = tests/support/tcp_clients.c tests/support/tcp_clients.h
tests_unit_rendezvous_tcp_tcp_connection_test_SOURCES = tests/unit/rendezvous/tcp/tcp_connection_test.c $(tcp_clients)
tests_unit_rendezvous_tcp_tcp_connection_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=uv_now
tests_unit_rendezvous_tcp_tcp_port_test_SOURCES = tests/unit/rendezvous/tcp/tcp_port_test.c $(tcp_clients)
tests_unit_rendezvous_tcp_tcp_port_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=uv_now

# Every allocation fails in turn.
tests_unit_rendezvous_api_status_json_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_rendezvous_http_http_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
tests_unit_rendezvous_store_key_value_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=tsearch
tests_unit_rendezvous_world_pending_workers_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=reallocarray,--wrap=strdup
tests_unit_rendezvous_server_rendezvous_memory_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
endif

# What the examples share and needs no BLAS.
support_tests = \
	tests/unit/src/tools/example_bandwidth_test \
	tests/unit/examples/example_fit_test \
	tests/unit/examples/example_mlp_test \
	tests/unit/examples/example_options_test \
	tests/unit/examples/example_plot_test \
	tests/unit/examples/synthetic_compute_test \
	tests/unit/examples/synthetic_models_test \
	tests/unit/examples/synthetic_summary_test
tests_unit_src_tools_example_bandwidth_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_src_tools_example_bandwidth_test_LDADD = src/tools/libbandwidth.la $(LDADD) -lm
tests_unit_examples_example_fit_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_example_fit_test_LDADD = examples/libfit.la $(CHECK_LIBS) -lm
tests_unit_examples_example_mlp_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_example_mlp_test_LDADD = examples/libsupport.la $(CHECK_LIBS) -lm
tests_unit_examples_example_options_test_LDADD = examples/libsupport.la $(CHECK_LIBS)
tests_unit_examples_example_plot_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_example_plot_test_LDADD = examples/libsupport.la $(CHECK_LIBS) -lm
tests_unit_examples_synthetic_compute_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_synthetic_compute_test_LDADD = examples/libsynthetic.la $(CHECK_LIBS) -lm
tests_unit_examples_synthetic_models_test_LDADD = examples/libmodels.la $(CHECK_LIBS)
tests_unit_examples_synthetic_summary_test_LDADD = examples/libsynthetic.la $(CHECK_LIBS) -lm

if HAVE_ZLIB
image_tests = tests/unit/examples/example_softmax_test
tests_unit_examples_example_softmax_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_example_softmax_test_LDADD = examples/libsoftmax.la $(LDADD)
endif

if HAVE_EXAMPLES_BLAS
example_tests = \
	tests/unit/examples/example_idx_test \
	tests/unit/examples/example_layers_test \
	tests/unit/examples/example_training_test
tests_unit_examples_example_idx_test_LDADD = examples/libfashion.la $(ZLIB_LIBS) $(CHECK_LIBS)
tests_unit_examples_example_layers_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
tests_unit_examples_example_layers_test_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS)
tests_unit_examples_example_layers_test_LDADD = examples/libfashion.la $(OPENBLAS_LIBS) $(CHECK_LIBS) -lm
tests_unit_examples_example_training_test_LDADD = examples/libfashion.la $(OPENBLAS_LIBS) $(CHECK_LIBS) -lm
endif

check_PROGRAMS += $(unit_tests) $(support_tests) $(image_tests) $(example_tests)
endif

program_tests = \
	tests/doc_test.sh \
	tests/format_test.sh \
	tests/function_names.sh \
	tests/layering.sh \
	tests/program/abi_test.sh \
	tests/program/bootstrap_test.sh \
	tests/program/coverage_test.sh \
	tests/program/hardening_test.sh \
	tests/program/install_test.sh \
	tests/program/man_test.sh \
	tests/shell_test.sh \
	tests/own_messages_test.sh \
	tests/variable_names_test.sh \
	tests/words_test.sh

if PROGRAMS
check_PROGRAMS += tests/support/act tests/support/collectives tests/support/elastic_scenario tests/support/elastic_worker \
	tests/support/horovod_worker tests/support/meet \
	tests/support/print_ptx tests/support/refuse tests/support/replay tests/support/stuck_fs tests/support/unauthenticated tests/support/world
tests_support_collectives_SOURCES = tests/support/collectives.c tests/support/collectives.h \
	tests/support/collectives_errors.c \
	tests/support/collectives_huge.c \
	tests/support/collectives_join.c \
	tests/support/collectives_matrix.c \
	tests/support/collectives_order.c \
	tests/support/collectives_refused.c \
	tests/support/collectives_sets.c \
	tests/support/collectives_shapes.c \
	tests/support/credentials.h \
	tests/support/elements.c tests/support/elements.h \
	tests/support/reduce_reference.c tests/support/reduce_reference.h
tests_support_collectives_CFLAGS = $(AM_CFLAGS)
tests_support_collectives_LDADD = lib/libhvd.la -lm -lpthread
tests_support_collectives_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_support_act_LDADD =
tests_support_elastic_scenario_LDADD = lib/libhvd.la
tests_support_elastic_scenario_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_support_elastic_worker_LDADD = lib/libhvd.la
tests_support_elastic_worker_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_support_horovod_worker_SOURCES = tests/support/horovod_worker.c \
	tests/support/horovod_http.c tests/support/horovod_http.h \
	tests/support/horovod_mesh.c tests/support/horovod_mesh.h
tests_support_horovod_worker_LDADD =
tests_support_refuse_LDADD =
tests_support_stuck_fs_LDADD =
tests_support_replay_SOURCES = tests/support/replay.c \
	tests/support/http_rows.c tests/support/http_rows.h
tests_support_replay_CFLAGS = $(AM_CFLAGS)
tests_support_replay_LDADD = lib/base/libbase.la
tests_support_unauthenticated_SOURCES = tests/support/unauthenticated.c tests/support/unauthenticated.h \
	tests/support/http_rows.c tests/support/http_rows.h \
	tests/support/unauthenticated_crowd.c \
	tests/support/unauthenticated_load.c \
	tests/support/unauthenticated_replay.c \
	tests/support/unauthenticated_requests.c \
	tests/support/unauthenticated_wire.c
tests_support_unauthenticated_CFLAGS = $(AM_CFLAGS)
tests_support_unauthenticated_LDADD = rendezvous/librendezvous.la lib/libhvd_internal.la lib/base/libbase.la \
	$(SODIUM_LIBS) $(UV_LIBS) $(CJSON_LIBS)
tests_support_print_ptx_SOURCES = tests/support/print_ptx.c
tests_support_print_ptx_LDADD = lib/cuda/libcuda_module.la
tests_support_meet_SOURCES = tests/support/meet.c \
	tests/support/mini_rendezvous.c tests/support/mini_rendezvous.h
tests_support_meet_CFLAGS = $(AM_CFLAGS)
tests_support_meet_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS)
tests_support_world_SOURCES = tests/support/world.c \
	tests/support/reduce_reference.c tests/support/reduce_reference.h
tests_support_world_CFLAGS = $(AM_CFLAGS)
tests_support_world_LDADD = lib/libhvd.la -lm
tests_support_world_LDFLAGS = $(AM_LDFLAGS) -no-install

program_tests += \
	tests/program/agent_test.sh \
	tests/program/algorithms_test.sh \
	tests/program/api_tour_test.sh \
	tests/program/autotune_test.sh \
	tests/program/bad_input_test.sh \
	tests/program/bandwidth_test.sh \
	tests/program/bench_test.sh \
	tests/program/binding_test.sh \
	tests/program/collectives_test.sh \
	tests/program/completion_test.sh \
	tests/program/cuda_test.sh \
	tests/program/cuda_toolkit_test.sh \
	tests/program/cxx_test.sh \
	tests/program/elastic_faults_test.sh \
	tests/program/elastic_hosts_test.sh \
	tests/program/elastic_scenarios_test.sh \
	tests/program/elastic_test.sh \
	tests/program/ending_test.sh \
	tests/program/examples_hosts_test.sh \
	tests/program/function_approximation_test.sh \
	tests/program/fortran_test.sh \
	tests/program/horovod_test.sh \
	tests/program/host_certificate_test.sh \
	tests/program/host_key_test.sh \
	tests/program/host_cut_test.sh \
	tests/program/host_failure_test.sh \
	tests/program/host_fault_test.sh \
	tests/program/host_login_test.sh \
	tests/program/host_proxy_test.sh \
	tests/program/hosts_test.sh \
	tests/program/kubernetes_test.sh \
	tests/program/launch_test.sh \
	tests/program/launcher_test.sh \
	tests/program/memory_limits_test.sh \
	tests/program/missing_test.sh \
	tests/program/networks_test.sh \
	tests/program/output_test.sh \
	tests/program/packaging_test.sh \
	tests/program/metrics_test.sh \
	tests/program/pinn_test.sh \
	tests/program/python_test.sh \
	tests/program/libraries_test.sh \
	tests/program/remote_agent_test.sh \
	tests/program/rendezvous_test.sh \
	tests/program/predict_test.sh \
	tests/program/report_test.sh \
	tests/program/secret_test.sh \
	tests/program/service_hosts_test.sh \
	tests/program/service_https_test.sh \
	tests/program/service_elastic_test.sh \
	tests/program/service_test.sh \
	tests/program/slurm_test.sh \
	tests/program/stack_traces_test.sh \
	tests/program/status_fd_test.sh \
	tests/program/status_page_test.sh \
	tests/program/elastic_stock_test.sh \
	tests/program/stock_blame_test.sh \
	tests/program/unauthenticated_test.sh \
	tests/program/synthetic_benchmark_test.sh \
	tests/program/process_managers_test.sh \
	tests/program/python_cuda_test.sh \
	tests/program/python_distributed_test.sh \
	tests/program/python_examples_test.sh \
	tests/program/python_elastic_test.sh \
	tests/program/python_run_test.sh \
	tests/program/torch_env_test.sh \
	tests/program/transport_hosts_test.sh \
	tests/program/transport_matrix_test.sh \
	tests/program/transport_test.sh \
	tests/program/tree_test.sh \
	tests/program/tune_test.sh \
	tests/program/variables_test.sh \
	tests/program/verdict_test.sh \
	tests/program/world_test.sh

if HAVE_ZLIB
program_tests += tests/program/softmax_regression_test.sh
endif

check_PROGRAMS += tests/support/compare_parameters
tests_support_compare_parameters_LDADD = lib/libhvd_internal.la lib/base/libbase.la $(SODIUM_LIBS) -lm
if HAVE_EXAMPLES_BLAS
program_tests += tests/program/elastic_example_test.sh tests/program/fashion_mnist_test.sh
endif
endif

TESTS += $(program_tests)
if HAVE_CHECK
TESTS += $(unit_tests) $(support_tests) $(image_tests) $(example_tests)
endif
EXTRA_DIST += \
	$(program_tests) \
	tests/coverage.sh \
	tests/cross.sh \
	tests/forbidden_words.txt \
	tests/hosts.sh \
	tests/languages/hvd_cxx.cc \
	tests/languages/hvd_fortran.f90 \
	tests/libssh2.supp \
	tests/python/cases.py \
	tests/python/compare_checkpoints.py \
	tests/python/cuda_cases.py \
	tests/python/distributed_cases.py \
	tests/python/elastic_joins.py \
	tests/python/elastic_scenario.py \
	tests/python/elastic_worker.py \
	tests/python/interrupt.py \
	tests/python/run_examples.py \
	tests/python/sampler_histories.py \
	tests/python/stock_horovod.py \
	tests/slurm-testbed.sh \
	tests/support/abi.sh \
	tests/support/elastic.sh \
	tests/support/elastic_scenarios.sh \
	tests/support/elastic_stock_worker.py \
	tests/support/fashion_data.sh \
	tests/support/fit.sh \
	tests/support/service.sh \
	tests/support/sources.sh \
	tests/support/rank_ends.h \
	tests/tap.sh \
	tests/testbed.sh \
	tests/text_readers.txt

# The installation that is tested
stage = $(abs_builddir)/tests/stage
check_DATA = tests/stage.stamp
tests/stage.stamp: $(bin_PROGRAMS) $(agent_PROGRAMS) $(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) lib/hvd.h lib/hvd.hpp lib/hvd.pc.in $(nodist_fortranlib_DATA) $(man_MANS) $(python_staged)
	@rm -rf tests/stage
	@$(MAKE) $(AM_MAKEFLAGS) install DESTDIR=$(stage) >/dev/null
	@touch $@
CLEANFILES += tests/stage.stamp
clean-local:
	rm -rf tests/stage fuzz/search fuzz/fast fuzz/coverage coverage

# For a build with --enable-sanitizers=thread: the tests that run threads, and those that run us among them; and no other
# program is built, nor a library that none of them is made of.
check-threads:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(thread_tests)' \
		check_PROGRAMS='$(thread_programs) $(thread_support)' check_LTLIBRARIES= \
		noinst_PROGRAMS=examples/hello noinst_LTLIBRARIES= pkglib_LTLIBRARIES=
thread_programs = \
	tests/unit/lib/memory/copy_test \
	tests/unit/lib/reduce/thread_pool_test \
	tests/unit/examples/accelerator_faults_test \
	tests/unit/examples/accelerator_queues_test \
	tests/unit/examples/accelerator_test \
	tests/unit/lib/cuda/cuda_device_test \
	tests/unit/lib/cuda/ipc_failure_test \
	tests/unit/lib/cuda/ipc_test \
	tests/unit/lib/cuda/nccl_alltoall_test \
	tests/unit/lib/cuda/nccl_failure_test \
	tests/unit/lib/cuda/nccl_gather_test \
	tests/unit/lib/cuda/nccl_test \
	tests/unit/lib/device/device_copy_test \
	tests/unit/lib/device/device_ends_test \
	tests/unit/lib/device/device_ready_test \
	tests/unit/lib/device/device_reduce_test \
	tests/unit/lib/device/device_test \
	tests/unit/lib/engine/engine_alone_test \
	tests/unit/lib/engine/engine_ends_test \
	tests/unit/lib/engine/engine_progress_test \
	tests/unit/lib/engine/engine_threads_test \
	tests/unit/lib/engine/status_text_test \
	tests/unit/lib/join/failure_test \
	tests/unit/lib/link/link_connect_test \
	tests/unit/lib/join/news_test \
	tests/unit/lib/training/elastic_test \
	tests/unit/lib/training/optimizer_end_test \
	tests/unit/lib/memory/shared_heap_test \
	tests/unit/lib/link/shm_ring_test \
	tests/unit/lib/training/elastic_run_test \
	tests/unit/lib/world_elastic_test \
	tests/unit/lib/world_end_test \
	tests/unit/lib/world_epoch_test \
	tests/unit/lib/world_join_test \
	tests/unit/lib/world_leave_test \
	tests/unit/lib/world_mistakes_test \
	tests/unit/lib/world_process_test \
	tests/unit/lib/world_steady_leave_test \
	tests/unit/lib/world_steady_sent_test \
	tests/unit/lib/world_steady_steps_test \
	tests/unit/lib/world_steady_test \
	tests/unit/lib/world_steady_values_test \
	tests/unit/lib/world_races_test
thread_tests = $(thread_scripts) $(thread_programs)
thread_support = tests/support/act tests/support/collectives tests/support/world
thread_scripts = \
	tests/program/collectives_test.sh \
	tests/program/ending_test.sh \
	tests/program/launch_test.sh \
	tests/program/output_test.sh \
	tests/program/world_test.sh

# Where the library and its headers are installed, for install_test.sh
print-directories:
	@echo libdir=$(libdir); echo includedir=$(includedir)

# What the tarball of a release has, files and directories, for packaging_test.sh
print-distfiles:
	@for file in $(DISTFILES); do echo "$${file#$(srcdir)/}"; done

# How many there are, for ./bootstrap
count-tests:
	@set x $(TESTS); shift; echo $$#
count-thread-tests:
	@set x $(thread_tests); shift; echo $$#

# Which lines and branches of each room the tests reach: all tests, or those of COVERAGE_TESTS; for the unit tests alone
# COVERAGE_TESTS='$(unit_tests)'.
COVERAGE_TESTS =
coverage:
	@COVERAGE_TESTS='$(COVERAGE_TESTS)' MAKE='$(MAKE)' $(SHELL) $(srcdir)/tests/coverage.sh '$(abs_top_srcdir)' coverage

# How tests are run
TEST_EXTENSIONS = .sh
tap_driver = env $(DEFAULT_SIGNALS) LC_ALL=C AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
SH_LOG_DRIVER = $(tap_driver)
SH_LOG_COMPILER = $(SHELL)
# When a process ends AddressSanitizer looks through all memory that is free and waits to be used again: 256 MB are its default.
sanitizer_options = case '$(ENABLED_SANITIZERS)' in *address*) \
	ASAN_OPTIONS=quarantine_size_mb=16$${ASAN_OPTIONS:+:$$ASAN_OPTIONS}; export ASAN_OPTIONS;; esac;
AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_top_srcdir)'; builddir='$(abs_builddir)'; STAGE='$(stage)'; \
	PREFIX='$(prefix)'; AGENTDIR='$(agentdir)'; INCLUDEDIR='$(includedir)'; LIBDIR='$(libdir)'; MANDIR='$(mandir)'; \
	HVDRUN='$(stage)$(bindir)/hvdrun'; HVDAGENT='$(stage)$(agentdir)/hvdagent'; HVDRENDEZVOUSD='$(stage)$(bindir)/hvdrendezvousd'; \
	HVD_BANDWIDTH='$(stage)$(bindir)/hvd-bandwidth'; HVD_TEST_TUNE='$(stage)$(bindir)/hvd-tune'; ACT='$(abs_builddir)/tests/support/act'; \
	COLLECTIVES='$(abs_builddir)/tests/support/collectives'; \
	ELASTIC_SCENARIO='$(abs_builddir)/tests/support/elastic_scenario'; \
	ELASTIC_WORKER='$(abs_builddir)/tests/support/elastic_worker'; \
	HOROVOD_WORKER='$(abs_builddir)/tests/support/horovod_worker'; \
	MEET='$(abs_builddir)/tests/support/meet'; \
	REFUSE='$(abs_builddir)/tests/support/refuse'; \
	WORLD='$(abs_builddir)/tests/support/world'; HELLO='$(abs_builddir)/examples/hello'; \
	API_TOUR='$(abs_builddir)/examples/api_tour'; \
	FASHION_MNIST='$(abs_builddir)/examples/fashion_mnist'; \
	FUNCTION_APPROXIMATION='$(abs_builddir)/examples/function_approximation'; \
	PINN='$(abs_builddir)/examples/pinn'; \
	SOFTMAX_REGRESSION='$(abs_builddir)/examples/softmax_regression'; \
	SYNTHETIC_BENCHMARK='$(abs_builddir)/examples/synthetic_benchmark'; \
	COMPARE_PARAMETERS='$(abs_builddir)/tests/support/compare_parameters'; \
	FC='$(FC)'; HEAT='$(abs_builddir)/examples/fortran/heat'; \
	PYTHON='$(PYTHON)'; PYDIR='$(pydir)'; PKGDATADIR='$(pkgdatadir)'; \
	SANITIZERS='$(ENABLED_SANITIZERS)'; HARDENING='$(HARDENING)'; BUILT_WITH_PMIX='$(BUILT_WITH_PMIX)'; MANDOC='$(MANDOC)'; CC='$(CC)'; \
	$(sanitizer_options) CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER=3; \
	export srcdir builddir STAGE PREFIX AGENTDIR INCLUDEDIR LIBDIR MANDIR HVDRUN HVDAGENT HVDRENDEZVOUSD HVD_BANDWIDTH HVD_TEST_TUNE ACT COLLECTIVES HEAT FC ELASTIC_SCENARIO ELASTIC_WORKER HOROVOD_WORKER MEET REFUSE WORLD HELLO API_TOUR \
		FASHION_MNIST FUNCTION_APPROXIMATION PINN SOFTMAX_REGRESSION SYNTHETIC_BENCHMARK COMPARE_PARAMETERS PYTHON PYDIR PKGDATADIR SANITIZERS HARDENING BUILT_WITH_PMIX MANDOC CC CK_DEFAULT_TIMEOUT CK_TIMEOUT_MULTIPLIER;
