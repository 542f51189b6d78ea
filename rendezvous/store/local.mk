# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/store/add_request.c rendezvous/store/add_request.h \
	rendezvous/store/key_value.c rendezvous/store/key_value.h
