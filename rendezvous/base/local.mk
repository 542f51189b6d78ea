# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/base/deadline.h \
	rendezvous/base/host_groups.c rendezvous/base/host_groups.h \
	rendezvous/base/json_build.c rendezvous/base/json_build.h \
	rendezvous/base/json_text.c rendezvous/base/json_text.h \
	rendezvous/base/keyring.c rendezvous/base/keyring.h \
	rendezvous/base/memory_budget.h \
	rendezvous/base/rendezvous_options.h \
	rendezvous/base/text_line.c rendezvous/base/text_line.h \
	rendezvous/base/wait_list.h \
	rendezvous/base/wait_table.c rendezvous/base/wait_table.h
