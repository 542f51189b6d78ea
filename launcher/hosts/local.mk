# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/hosts/host_environment.c launcher/hosts/host_environment.h \
	launcher/hosts/host_lines.c launcher/hosts/host_lines.h \
	launcher/hosts/host_list.c launcher/hosts/host_list.h \
	launcher/hosts/host_list_build.h \
	launcher/hosts/host_spec.c launcher/hosts/host_spec.h \
	launcher/hosts/host_tally.c launcher/hosts/host_tally.h \
	launcher/hosts/hostfile.c \
	launcher/hosts/hostfile_read.c launcher/hosts/hostfile_read.h \
	launcher/hosts/local_host.c launcher/hosts/local_host.h \
	launcher/hosts/resolve.c launcher/hosts/resolve.h \
	launcher/hosts/slurm_list.c launcher/hosts/slurm_list.h
