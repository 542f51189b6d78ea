# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/tree/agent_bootstrap_script.c launcher/tree/agent_bootstrap_script.h \
	launcher/tree/frame_boundary.c launcher/tree/frame_boundary.h \
	launcher/tree/host_tree.c launcher/tree/host_tree.h \
	launcher/tree/tunnel_end.c launcher/tree/tunnel_end.h \
	launcher/tree/tunnel_multicast.c launcher/tree/tunnel_multicast.h \
	launcher/tree/tunnels.c launcher/tree/tunnels.h
