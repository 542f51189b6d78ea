# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/placement/binding.c launcher/placement/binding.h \
	launcher/placement/binding_places.c launcher/placement/binding_places.h \
	launcher/placement/rank_plan.c launcher/placement/rank_plan.h
