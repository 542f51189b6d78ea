# SPDX-License-Identifier: Apache-2.0
# Manual pages. Some functions share a page; the links to it are pages of one line.
library_pages = \
	man/hvd.3 \
	man/hvd++.3 \
	man/hvd_allgather.3 \
	man/hvd_alloc.3 \
	man/hvd_allreduce.3 \
	man/hvd_alltoall.3 \
	man/hvd_average_metrics.3 \
	man/hvd_barrier.3 \
	man/hvd_broadcast.3 \
	man/hvd_broadcast_object.3 \
	man/hvd_broadcast_parameters.3 \
	man/hvd_bytes_sent.3 \
	man/hvd_checkpoint_save.3 \
	man/hvd_dtype_size.3 \
	man/hvd_elastic.3 \
	man/hvd_environment.7 \
	man/hvd_faults.7 \
	man/hvd_fortran.3 \
	man/hvd_init.3 \
	man/hvd_join.3 \
	man/hvd_last_error.3 \
	man/hvd_optimizer_create.3 \
	man/hvd_process_set.3 \
	man/hvd_protocol.7 \
	man/hvd_rank.3 \
	man/hvd_reducescatter.3 \
	man/hvd_cuda_open.3 \
	man/hvd_register_device.3 \
	man/hvd_sampler_create.3 \
	man/hvd_start_timeline.3 \
	man/hvd_tensor.3 \
	man/hvd_training.3 \
	man/hvd_version.3 \
	man/hvd_wait.3 \
	man/hvd_warmup_rate.3

page_links = \
	man/hvd_add_process_set.3 \
	man/hvd_allgather_async.3 \
	man/hvd_allgather_object.3 \
	man/hvd_allgather_tensor.3 \
	man/hvd_allreduce_async.3 \
	man/hvd_allreduce_tensor.3 \
	man/hvd_alltoall_async.3 \
	man/hvd_barrier_async.3 \
	man/hvd_broadcast_async.3 \
	man/hvd_broadcast_optimizer_state.3 \
	man/hvd_broadcast_tensor.3 \
	man/hvd_checkpoint_restore.3 \
	man/hvd_corrected_momentum.3 \
	man/hvd_cross_rank.3 \
	man/hvd_cross_size.3 \
	man/hvd_cuda.3 \
	man/hvd_cuda_alloc.3 \
	man/hvd_cuda_close.3 \
	man/hvd_cuda_copy.3 \
	man/hvd_cuda_describe.3 \
	man/hvd_cuda_free.3 \
	man/hvd_default_device.3 \
	man/hvd_device.3 \
	man/hvd_elastic_add_memory.3 \
	man/hvd_elastic_add_optimizer.3 \
	man/hvd_elastic_add_parameters.3 \
	man/hvd_elastic_add_sampler.3 \
	man/hvd_elastic_add_values.3 \
	man/hvd_elastic_check_host_updates.3 \
	man/hvd_elastic_commit.3 \
	man/hvd_elastic_create.3 \
	man/hvd_elastic_destroy.3 \
	man/hvd_elastic_init.3 \
	man/hvd_elastic_on_reset.3 \
	man/hvd_elastic_restore.3 \
	man/hvd_elastic_run.3 \
	man/hvd_elastic_sync.3 \
	man/hvd_epoch.3 \
	man/hvd_extend_device.3 \
	man/hvd_free.3 \
	man/hvd_grouped_allgather.3 \
	man/hvd_grouped_allgather_async.3 \
	man/hvd_grouped_allreduce.3 \
	man/hvd_grouped_allreduce_async.3 \
	man/hvd_grouped_reducescatter.3 \
	man/hvd_grouped_reducescatter_async.3 \
	man/hvd_hosts_updated.3 \
	man/hvd_init_process_sets.3 \
	man/hvd_is_homogeneous.3 \
	man/hvd_is_initialized.3 \
	man/hvd_join_async.3 \
	man/hvd_local_rank.3 \
	man/hvd_local_size.3 \
	man/hvd_object_free.3 \
	man/hvd_optimizer.3 \
	man/hvd_optimizer_destroy.3 \
	man/hvd_optimizer_ready.3 \
	man/hvd_optimizer_ready_after.3 \
	man/hvd_optimizer_skip_synchronize.3 \
	man/hvd_optimizer_step.3 \
	man/hvd_optimizer_synchronize.3 \
	man/hvd_optimizer_zero_gradients.3 \
	man/hvd_options.3 \
	man/hvd_poll.3 \
	man/hvd_process_set_included.3 \
	man/hvd_process_set_rank.3 \
	man/hvd_process_set_ranks.3 \
	man/hvd_process_set_size.3 \
	man/hvd_process_sets.3 \
	man/hvd_reducescatter_async.3 \
	man/hvd_remove_process_set.3 \
	man/hvd_result.3 \
	man/hvd_result_free.3 \
	man/hvd_sampler_destroy.3 \
	man/hvd_sampler_epoch.3 \
	man/hvd_sampler_finish.3 \
	man/hvd_sampler_left.3 \
	man/hvd_sampler_next.3 \
	man/hvd_sampler_place.3 \
	man/hvd_sampler_processed.3 \
	man/hvd_sampler_resume.3 \
	man/hvd_sampler_start_epoch.3 \
	man/hvd_scheduled_rate.3 \
	man/hvd_share.3 \
	man/hvd_shutdown.3 \
	man/hvd_size.3 \
	man/hvd_stop_timeline.3 \
	man/hvd_strstatus.3 \
	man/hvd_unregister_device.3 \
	man/hvd_wait_interruptible.3 \
	man/hvd_wait_result.3 \
	man/hvd_wait_timeout.3

program_pages = man/hvd-bandwidth.1 man/hvd-tune.1 man/hvdrendezvousd.8 man/hvdrun.1

man_MANS += $(library_pages) $(page_links)
if PROGRAMS
man_MANS += $(program_pages)
endif

EXTRA_DIST += $(library_pages) $(page_links) $(program_pages)
