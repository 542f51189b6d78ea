# SPDX-License-Identifier: Apache-2.0
# Manual pages. Some functions share a page; the links to it are pages of one line.
library_pages = \
	man/hvd.3 \
	man/hvd_allgather.3 \
	man/hvd_allreduce.3 \
	man/hvd_barrier.3 \
	man/hvd_broadcast.3 \
	man/hvd_dtype_size.3 \
	man/hvd_environment.7 \
	man/hvd_init.3 \
	man/hvd_last_error.3 \
	man/hvd_rank.3 \
	man/hvd_version.3

page_links = \
	man/hvd_cross_rank.3 \
	man/hvd_cross_size.3 \
	man/hvd_is_homogeneous.3 \
	man/hvd_is_initialized.3 \
	man/hvd_local_rank.3 \
	man/hvd_local_size.3 \
	man/hvd_shutdown.3 \
	man/hvd_size.3 \
	man/hvd_strstatus.3

program_pages = man/hvdrun.1

man_MANS += $(library_pages) $(page_links)
if PROGRAMS
man_MANS += $(program_pages)
endif

EXTRA_DIST += $(library_pages) $(page_links) $(program_pages)
