# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/tree/host_tree.c launcher/tree/host_tree.h \
	launcher/tree/tunnel_end.c launcher/tree/tunnel_end.h \
	launcher/tree/tunnels.c launcher/tree/tunnels.h
