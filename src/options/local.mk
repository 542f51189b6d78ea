# SPDX-License-Identifier: Apache-2.0
# Options, as all programs read them: command line, environment, help and completion from one table.
noinst_LTLIBRARIES += src/options/liboptions.la
src_options_liboptions_la_SOURCES = \
	src/options/build_table.c src/options/build_table.h \
	src/options/completion.c src/options/completion.h \
	src/options/interface_option.c src/options/interface_option.h \
	src/options/option_checks.c src/options/option_checks.h \
	src/options/option_dash.c src/options/option_dash.h \
	src/options/option_find.c src/options/option_find.h \
	src/options/option_set.c src/options/option_set.h \
	src/options/options.c src/options/options.h \
	src/options/options_help.c \
	src/options/suggestion.c src/options/suggestion.h
src_options_liboptions_la_CPPFLAGS = $(AM_CPPFLAGS) -DENABLED_SANITIZERS='"$(ENABLED_SANITIZERS)"'
