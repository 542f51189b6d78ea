# SPDX-License-Identifier: Apache-2.0
lib_libhvd_internal_la_SOURCES += \
	lib/training/agreement.c lib/training/agreement.h \
	lib/training/call.c lib/training/call.h \
	lib/training/checkpoint.c \
	lib/training/checkpoint_blocks.c lib/training/checkpoint_blocks.h \
	lib/training/checkpoint_file.h \
	lib/training/checkpoint_layout.c lib/training/checkpoint_layout.h \
	lib/training/checkpoint_list.c lib/training/checkpoint_list.h \
	lib/training/checkpoint_match.c \
	lib/training/checkpoint_read.c \
	lib/training/checkpoint_temporary.c lib/training/checkpoint_temporary.h \
	lib/training/checkpoint_write.c \
	lib/training/deal.c lib/training/deal.h \
	lib/training/elastic.c lib/training/elastic_impl.h \
	lib/training/elastic_add.c \
	lib/training/elastic_loop.c lib/training/elastic_loop.h \
	lib/training/elastic_meet.c \
	lib/training/elastic_stamp.c lib/training/elastic_stamp.h \
	lib/training/elastic_store.c lib/training/elastic_store.h \
	lib/training/elastic_sync.c \
	lib/training/metrics.c \
	lib/training/names.c lib/training/names.h \
	lib/training/object.c \
	lib/training/optimizer.c lib/training/optimizer_impl.h \
	lib/training/optimizer_adasum.c \
	lib/training/optimizer_agreement.c \
	lib/training/optimizer_create.c \
	lib/training/optimizer_gradient.c \
	lib/training/optimizer_groups.c \
	lib/training/optimizer_options.c \
	lib/training/optimizer_parameters.c \
	lib/training/optimizer_reduction.c \
	lib/training/parameters.c lib/training/parameters.h \
	lib/training/rates.c \
	lib/training/sampler.c \
	lib/training/state.c
