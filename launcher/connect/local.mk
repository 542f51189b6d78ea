# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/connect/agent_bootstrap.c launcher/connect/agent_bootstrap.h \
	launcher/connect/agent_bootstrap_run.c launcher/connect/agent_bootstrap_run.h \
	launcher/connect/command_words.c launcher/connect/command_words.h \
	launcher/connect/connect_queue.c \
	launcher/connect/connect_stderr.c launcher/connect/connect_stderr.h \
	launcher/connect/dial_listener.c launcher/connect/dial_listener.h \
	launcher/connect/host_command.c launcher/connect/host_command.h \
	launcher/connect/host_connect.c launcher/connect/host_connect.h \
	launcher/connect/host_connect_impl.h \
	launcher/connect/host_transport.h \
	launcher/connect/srun_command.c \
	launcher/connect/srun_impl.h \
	launcher/connect/srun_line.c launcher/connect/srun_line.h \
	launcher/connect/srun_process.c \
	launcher/connect/srun_says.c \
	launcher/connect/transport_command.c \
	launcher/connect/transport_local.c \
	launcher/connect/transport_srun.c \
	launcher/connect/transport_ssh.c \
	launcher/connect/transport_tunnel.c
