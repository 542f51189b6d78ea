# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/elastic/discovery.c launcher/elastic/discovery.h \
	launcher/elastic/discovery_run.c launcher/elastic/discovery_run.h \
	launcher/elastic/elastic_hosts.c launcher/elastic/elastic_hosts.h \
	launcher/elastic/elastic_plan.c launcher/elastic/elastic_plan.h \
	launcher/elastic/elastic_plan_decide.c launcher/elastic/elastic_plan_impl.h \
	launcher/elastic/elastic_plan_absent.c \
	launcher/elastic/elastic_plan_joining.c \
	launcher/elastic/elastic_plan_missing.c \
	launcher/elastic/elastic_plan_text.c \
	launcher/elastic/elastic_start.c \
	launcher/elastic/worker_notice.c launcher/elastic/worker_notice.h
