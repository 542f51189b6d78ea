# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/join/bootstrap.c lib/join/bootstrap.h \
	lib/join/bootstrap_choice.c lib/join/bootstrap_choice.h \
	lib/join/environment.c lib/join/environment.h \
	lib/join/failure.c lib/join/failure.h \
	lib/join/join_client.c lib/join/join_client.h \
	lib/join/join_retry.c lib/join/join_retry.h \
	lib/join/manager_join.c lib/join/manager_join.h \
	lib/join/news.c lib/join/news.h \
	lib/join/other_launcher.c lib/join/other_launcher.h
