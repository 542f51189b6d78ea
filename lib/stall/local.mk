# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/stall/stall.c lib/stall/stall.h \
	lib/stall/stall_list.c lib/stall/stall_list.h \
	lib/stall/stall_message.c lib/stall/stall_message.h \
	lib/stall/stall_round.c lib/stall/stall_round.h \
	lib/stall/stall_self.c lib/stall/stall_self.h \
	lib/stall/stall_text.c lib/stall/stall_text.h
