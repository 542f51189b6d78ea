# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/output/job_output.c launcher/output/job_output.h \
	launcher/output/job_output_impl.h \
	launcher/output/job_output_workers.c \
	launcher/output/last_line.c launcher/output/last_line.h \
	launcher/output/last_lines.c launcher/output/last_lines.h \
	launcher/output/output_files.c launcher/output/output_files.h \
	launcher/output/output_lines.c launcher/output/output_lines.h \
	launcher/output/output_writer.c launcher/output/output_writer.h \
	launcher/output/stdin_reader.c launcher/output/stdin_reader.h
