# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/tree/agent_bootstrap_script.c launcher/tree/agent_bootstrap_script.h \
	launcher/tree/host_tree.c launcher/tree/host_tree.h \
	launcher/tree/tunnel_end.c launcher/tree/tunnel_end.h \
	launcher/tree/tunnels.c launcher/tree/tunnels.h
