# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/request/arguments.c lib/request/arguments.h \
	lib/request/request.c lib/request/request.h \
	lib/request/request_lists.c \
	lib/request/submission.h
