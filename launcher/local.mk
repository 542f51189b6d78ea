# SPDX-License-Identifier: Apache-2.0
# Starting and watching workers.
noinst_LTLIBRARIES += launcher/liblauncher.la

launcher_liblauncher_la_SOURCES = \
	launcher/cleanup/adopted.c launcher/cleanup/adopted.h \
	launcher/cleanup/cleanup.c launcher/cleanup/cleanup.h \
	launcher/cleanup/command_guard.c launcher/cleanup/command_guard.h \
	launcher/cleanup/orphans.c launcher/cleanup/orphans.h \
	launcher/cleanup/supervisor.c launcher/cleanup/supervisor.h
include launcher/base/local.mk
include launcher/hosts/local.mk
include launcher/placement/local.mk
include launcher/process/local.mk
include launcher/protocol/local.mk
include launcher/output/local.mk
include launcher/tree/local.mk
include launcher/ssh/local.mk
include launcher/connect/local.mk
include launcher/agent/local.mk
include launcher/elastic/local.mk
include launcher/verdict/local.mk
include launcher/job/local.mk
