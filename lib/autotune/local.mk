# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/autotune/gaussian_process.c lib/autotune/gaussian_process.h \
	lib/autotune/step_meter.c lib/autotune/step_meter.h \
	lib/autotune/thresholds_file.c lib/autotune/thresholds_file.h \
	lib/autotune/tuner.c lib/autotune/tuner.h \
	lib/autotune/tuner_log.c lib/autotune/tuner_log.h \
	lib/autotune/tuning.c lib/autotune/tuning.h
