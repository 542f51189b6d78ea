# SPDX-License-Identifier: Apache-2.0
# Measurements, which are built but neither installed nor run by the tests.
noinst_PROGRAMS += bench/reduce
bench_reduce_SOURCES = bench/reduce.c
bench_reduce_LDADD = lib/libhvd_internal.la
