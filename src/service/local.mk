# SPDX-License-Identifier: Apache-2.0
# hvdrendezvousd: the rendezvous alone, for workers that something else starts.
bin_PROGRAMS += hvdrendezvousd
noinst_LTLIBRARIES += src/service/libservice.la
hvdrendezvousd_SOURCES = src/service/hvdrendezvousd.c
hvdrendezvousd_LDADD = src/service/libservice.la src/options/liboptions.la launcher/liblauncher.la rendezvous/librendezvous.la \
	lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(CJSON_LIBS) $(SECCOMP_LIBS)
src_service_libservice_la_SOURCES = \
	src/service/daemon_log.c src/service/daemon_log.h \
	src/service/hvdrendezvousd_options.c src/service/hvdrendezvousd_options.h \
	src/service/key_file.c src/service/key_file.h \
	src/service/port_file.c src/service/port_file.h \
	src/service/privileges.c src/service/privileges.h \
	src/service/readiness.c src/service/readiness.h \
	src/service/service_syscalls.c src/service/service_syscalls.h
