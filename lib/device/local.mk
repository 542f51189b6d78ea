# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/device/device.c lib/device/device.h \
	lib/device/device_calls.c \
	lib/device/device_copy.c lib/device/device_copy.h \
	lib/device/device_impl.h \
	lib/device/device_load.c lib/device/device_load.h \
	lib/device/device_memory.c \
	lib/device/device_module.h \
	lib/device/transfer.c lib/device/transfer.h
