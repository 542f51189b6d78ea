# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/connect/command_words.c launcher/connect/command_words.h \
	launcher/connect/greeting.c launcher/connect/greeting.h \
	launcher/connect/greeting_run.c launcher/connect/greeting_run.h \
	launcher/connect/greeting_script.c \
	launcher/connect/reach.c launcher/connect/reach.h \
	launcher/connect/reach_command.c \
	launcher/connect/reach_impl.h \
	launcher/connect/reach_local.c \
	launcher/connect/reach_pool.c \
	launcher/connect/reach_ssh.c \
	launcher/connect/reach_stderr.c launcher/connect/reach_stderr.h \
	launcher/connect/reach_way.h
