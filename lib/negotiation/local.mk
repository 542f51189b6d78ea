# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/negotiation/apply.c \
	lib/negotiation/cache.c lib/negotiation/cache.h \
	lib/negotiation/contribute.c \
	lib/negotiation/contribution.c lib/negotiation/contribution.h \
	lib/negotiation/decide.c \
	lib/negotiation/decision_check.c \
	lib/negotiation/description.c lib/negotiation/description.h \
	lib/negotiation/fusion_plan.c lib/negotiation/fusion_plan.h \
	lib/negotiation/groups.c lib/negotiation/groups.h \
	lib/negotiation/join.c \
	lib/negotiation/list_text.c lib/negotiation/list_text.h \
	lib/negotiation/message.c lib/negotiation/message.h \
	lib/negotiation/negotiation.c lib/negotiation/negotiation.h \
	lib/negotiation/negotiation_impl.h \
	lib/negotiation/pending.c lib/negotiation/pending.h \
	lib/negotiation/pool.c lib/negotiation/pool.h \
	lib/negotiation/rank_ranges.c \
	lib/negotiation/ready.c \
	lib/negotiation/receive.c \
	lib/negotiation/report.c \
	lib/negotiation/retire.c \
	lib/negotiation/schedule.c lib/negotiation/schedule.h \
	lib/negotiation/schedule_plan.c lib/negotiation/schedule_plan.h \
	lib/negotiation/slot_book.c lib/negotiation/slot_book.h \
	lib/negotiation/steady.c lib/negotiation/steady.h \
	lib/negotiation/steady_round.c lib/negotiation/steady_round.h \
	lib/negotiation/variants.c lib/negotiation/variants.h \
	lib/negotiation/variants_check.c \
	lib/negotiation/waiting.c
