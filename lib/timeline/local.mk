# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/timeline/timeline.c lib/timeline/timeline.h \
	lib/timeline/timeline_file.c lib/timeline/timeline_file.h \
	lib/timeline/timeline_names.c lib/timeline/timeline_names.h
