# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/protocol/agent_protocol.c launcher/protocol/agent_protocol.h \
	launcher/protocol/frame_link.c launcher/protocol/frame_link.h \
	launcher/protocol/host_step.c launcher/protocol/host_step.h \
	launcher/protocol/peer_clock.c launcher/protocol/peer_clock.h \
	launcher/protocol/silence.c launcher/protocol/silence.h \
	launcher/protocol/tcp_acknowledged.c launcher/protocol/tcp_acknowledged.h
