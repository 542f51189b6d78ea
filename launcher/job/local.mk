# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/job/host_check.c launcher/job/host_check.h \
	launcher/job/host_check_table.c launcher/job/host_check_table.h \
	launcher/job/job.c launcher/job/job.h \
	launcher/job/job_check.c \
	launcher/job/job_elastic.c \
	launcher/job/job_events.c \
	launcher/job/job_host.c launcher/job/job_host.h \
	launcher/job/job_host_describe.c \
	launcher/job/job_host_frames.c \
	launcher/job/job_host_heartbeat.c \
	launcher/job/job_host_impl.h \
	launcher/job/job_host_orders.c \
	launcher/job/job_host_relay.c \
	launcher/job/job_impl.h \
	launcher/job/job_losses.c \
	launcher/job/job_lost.c \
	launcher/job/job_progress.c \
	launcher/job/job_record.c \
	launcher/job/job_signals.c \
	launcher/job/job_stacks.c \
	launcher/job/job_start.c \
	launcher/job/job_status.c launcher/job/job_status.h \
	launcher/job/job_stop.c \
	launcher/job/job_sweep.c launcher/job/job_sweep.h \
	launcher/job/job_timeout.c \
	launcher/job/job_tree.c \
	launcher/job/stack_groups.c launcher/job/stack_groups.h
