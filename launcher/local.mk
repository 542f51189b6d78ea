# SPDX-License-Identifier: Apache-2.0
# Starting and watching workers.
noinst_LTLIBRARIES += launcher/liblauncher.la

launcher_liblauncher_la_SOURCES = \
	launcher/cleanup/adopted.c launcher/cleanup/adopted.h \
	launcher/cleanup/cleanup.c launcher/cleanup/cleanup.h \
	launcher/cleanup/command_guard.c launcher/cleanup/command_guard.h \
	launcher/cleanup/orphans.c launcher/cleanup/orphans.h \
	launcher/cleanup/supervisor.c launcher/cleanup/supervisor.h \
	launcher/host_check.c launcher/host_check.h \
	launcher/host_check_table.c launcher/host_check_table.h \
	launcher/job.c launcher/job.h \
	launcher/job_check.c \
	launcher/job_events.c \
	launcher/job_host.c launcher/job_host.h \
	launcher/job_host_describe.c \
	launcher/job_host_frames.c \
	launcher/job_host_impl.h \
	launcher/job_host_relay.c \
	launcher/job_host_silence.c \
	launcher/job_impl.h \
	launcher/job_lost.c \
	launcher/job_record.c \
	launcher/job_signals.c \
	launcher/job_standing.c \
	launcher/job_start.c \
	launcher/job_status.c launcher/job_status.h \
	launcher/job_stop.c \
	launcher/job_sweep.c launcher/job_sweep.h \
	launcher/job_timeout.c
include launcher/base/local.mk
include launcher/hosts/local.mk
include launcher/placement/local.mk
include launcher/process/local.mk
include launcher/protocol/local.mk
include launcher/output/local.mk
include launcher/ssh/local.mk
include launcher/connect/local.mk
include launcher/agent/local.mk
include launcher/verdict/local.mk
