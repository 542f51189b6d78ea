# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/memory/copy.c lib/memory/copy.h \
	lib/memory/extents.c lib/memory/extents.h \
	lib/memory/segment.c lib/memory/segment.h \
	lib/memory/segment_index.c lib/memory/segment_index.h \
	lib/memory/shared_heap.c lib/memory/shared_heap.h \
	lib/memory/spans.c lib/memory/spans.h
