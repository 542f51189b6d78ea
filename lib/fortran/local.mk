# SPDX-License-Identifier: Apache-2.0
# The Fortran module: an archive, and hvd.mod, which is installed where hvd-fortran.pc says. The
# source is installed beside it, for other compilers.
EXTRA_DIST += lib/fortran/hvd.f90 lib/fortran/hvd-fortran.pc.in
if FORTRAN
fortrandir = $(includedir)/hvd-fortran
nodist_fortran_DATA = lib/fortran/hvd.f90 lib/fortran/hvd.mod
fortranlibdir = $(libdir)
nodist_fortranlib_DATA = lib/fortran/libhvd_fortran.a
paths_install += $(pkgconfigdir)/hvd-fortran.pc:lib/fortran/hvd-fortran.pc.in
CLEANFILES += lib/fortran/hvd.o lib/fortran/hvd.mod lib/fortran/libhvd_fortran.a

fortran_compile = $(FC) $(FCFLAGS) -std=f2018 -Wall -Wextra -ffree-line-length-120 -J lib/fortran

lib/fortran/hvd.o: lib/fortran/hvd.f90
	$(AM_V_GEN)$(MKDIR_P) lib/fortran && $(fortran_compile) -fPIC -c -o $@ $(srcdir)/lib/fortran/hvd.f90
lib/fortran/hvd.mod: lib/fortran/hvd.o
	@:
lib/fortran/libhvd_fortran.a: lib/fortran/hvd.o
	$(AM_V_GEN)rm -f $@ && $(AR) cr $@ lib/fortran/hvd.o
endif
