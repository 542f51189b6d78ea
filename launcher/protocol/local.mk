# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/protocol/agent_dial.c launcher/protocol/agent_dial.h \
	launcher/protocol/agent_protocol.c launcher/protocol/agent_protocol.h \
	launcher/protocol/clock_offset.c launcher/protocol/clock_offset.h \
	launcher/protocol/frame_link.c launcher/protocol/frame_link.h \
	launcher/protocol/heartbeat_timeout.c launcher/protocol/heartbeat_timeout.h \
	launcher/protocol/host_step.c launcher/protocol/host_step.h \
	launcher/protocol/tcp_acknowledged.c launcher/protocol/tcp_acknowledged.h
