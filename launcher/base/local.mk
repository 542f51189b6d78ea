# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/base/bad_input.c launcher/base/bad_input.h \
	launcher/base/blocking_thread.c launcher/base/blocking_thread.h \
	launcher/base/cpu_mask.c launcher/base/cpu_mask.h \
	launcher/base/descriptors.c launcher/base/descriptors.h \
	launcher/base/exit_status.h \
	launcher/base/number.c launcher/base/number.h \
	launcher/base/own_path.c launcher/base/own_path.h \
	launcher/base/port.c launcher/base/port.h \
	launcher/base/private_memory.c launcher/base/private_memory.h \
	launcher/base/ran_time.c launcher/base/ran_time.h \
	launcher/base/rank_attributes.c launcher/base/rank_attributes.h \
	launcher/base/rank_names.c launcher/base/rank_names.h \
	launcher/base/shell_words.c launcher/base/shell_words.h \
	launcher/base/shown_seconds.h \
	launcher/base/slice.h \
	launcher/base/string_list.c launcher/base/string_list.h \
	launcher/base/syscall_filter.c launcher/base/syscall_filter.h \
	launcher/base/text_buffer.c launcher/base/text_buffer.h \
	launcher/base/uv_must.c launcher/base/uv_must.h \
	launcher/base/wait_status.c launcher/base/wait_status.h \
	launcher/base/xalloc.c launcher/base/xalloc.h
