# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/pmi/blocking_session.c lib/pmi/blocking_session.h \
	lib/pmi/contact.c lib/pmi/contact.h \
	lib/pmi/pmi1.c \
	lib/pmi/pmi2.c \
	lib/pmi/pmi_library.c \
	lib/pmi/pmi_mapping.c lib/pmi/pmi_mapping.h \
	lib/pmi/pmi_message.c lib/pmi/pmi_message.h \
	lib/pmi/pmi_socket.c lib/pmi/pmi_socket.h \
	lib/pmi/pmix.c \
	lib/pmi/process_manager.c lib/pmi/process_manager.h
