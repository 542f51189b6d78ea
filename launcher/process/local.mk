# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/process/cgroup.c launcher/process/cgroup.h \
	launcher/process/children.c launcher/process/children.h \
	launcher/process/exec_limits.c launcher/process/exec_limits.h \
	launcher/process/oom_counter.c launcher/process/oom_counter.h \
	launcher/process/process_handle.c launcher/process/process_handle.h \
	launcher/process/process_tree.c launcher/process/process_tree.h \
	launcher/process/program_find.c launcher/process/program_find.h \
	launcher/process/program_image.c launcher/process/program_image.h \
	launcher/process/program_libraries.c launcher/process/program_libraries.h \
	launcher/process/socket_owner.c launcher/process/socket_owner.h \
	launcher/process/spawn.c launcher/process/spawn.h \
	launcher/process/spawn_child.c launcher/process/spawn_child.h \
	launcher/process/stop_plan.c launcher/process/stop_plan.h \
	launcher/process/torch_environment.c launcher/process/torch_environment.h \
	launcher/process/worker_environment.c launcher/process/worker_environment.h
