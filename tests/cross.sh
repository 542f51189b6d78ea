#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds for aarch64 on another machine, and runs unit tests with qemu-user, above all those of lib/reduce, whose NEON path
# must give the same bits as plain C and as x86. Run by hand: an emulator takes its time.
#
#   tests/cross.sh [DIRECTORY [TEST...]]      DIRECTORY: where it is built, build-aarch64; TESTs: tests/unit/lib/reduce by default,
#                                             "all" for all unit tests of the library and the launcher
#
# What it needs on Debian, best in a chroot:
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install gcc-aarch64-linux-gnu qemu-user-static pkg-config make autoconf automake libtool
#   apt-get install check:arm64 lib{cjson,hwloc,sodium,ssh2-1,ssl,uv1,yaml}-dev:arm64
#
# Without the latter but for libsodium-dev:arm64 and check:arm64, libhvd and its tests are built alone (--disable-programs).
# Sentences run in the process of their program (CK_FORK=no): forks of Check hang in qemu 7.2. What it lacks (process_vm_readv,
# namespaces) fails or is skipped there and says nothing of a real machine.
set -eu
srcdir=$(cd "$(dirname "$0")/.." && pwd)
directory=${1:-build-aarch64}
[ $# = 0 ] || shift
machine=aarch64-linux-gnu
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
command -v "$machine-gcc" >/dev/null || { echo "cross.sh: no $machine-gcc" >&2 && exit 2; }
export PKG_CONFIG_LIBDIR=/usr/lib/$machine/pkgconfig:/usr/share/pkgconfig

programs=
pkg-config --exists libuv libssh2 libcrypto yaml-0.1 libcjson hwloc || programs=--disable-programs
[ -x "$srcdir/configure" ] || (cd "$srcdir" && autoreconf --install --warnings=none)
mkdir -p "$directory"
cd "$directory"
[ -f config.status ] || "$srcdir/configure" --quiet --host=$machine --disable-python --disable-fortran --without-pmix $programs \
    EMULATOR="$emulator"
make -s -j"$(nproc)"
case $* in
'') set -- tests/unit/lib/reduce/{half,reduce,scale}_test ;;
all)
    # shellcheck disable=SC2046  # a list of words
    set -- $(printf 'include Makefile\nprint-unit-tests: ; @echo $(unit_tests)\n' | make -s -f - print-unit-tests)
    ;;
esac
make -s -j"$(nproc)" "$@"
failed=0
for test in "$@"; do
    echo "# $test"
    srcdir=$srcdir CK_FORK=no "$emulator" -L "/usr/$machine" "$test" >"$test.tap" 2>&1 || {
        failed=1
        echo "# $test has failed"
    }
    grep -v '^ok' "$test.tap" || :
done
exit $failed
