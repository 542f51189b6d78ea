#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvd.hpp as it is installed: GCC and Clang take it without a warning, as C++17 and later, and every call does what it says on one
# rank and on several.
. "$srcdir/tests/tap.sh"

source=$srcdir/tests/languages/hvd_cxx.cc lib=$STAGE$LIBDIR
flags=
[ "$SANITIZERS" = no ] || flags=-fsanitize=$SANITIZERS
pkgconf=$(PKG_CONFIG_SYSROOT_DIR="$STAGE" PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs hvd)

# compile COMPILER STANDARD FLAG...
compile() {
    compiler=$1 standard=$2
    shift 2
    # shellcheck disable=SC2086  # lists of flags
    "$compiler" -std="$standard" -Wall -Wextra -Wshadow -pedantic -Werror "$@" "$source" -o "$tmp/program" $pkgconf \
        -Wl,-rpath,"$lib" >"$tmp/out" 2>"$tmp/err"
}

# runs COMPILER: on one rank and on several
runs() {
    for size in 1 2 3 4; do
        run "$HVDRUN" -np $size -H localhost:4 "$tmp/program"
        is "$1: $size ranks: every call does what it says" "0 $size" "$status $(grep -c '>:ok ' "$tmp/out")"
    done
}

if command -v g++ >/dev/null; then
    ok "GCC takes it as C++20" compile g++ c++20 -fsyntax-only
    # shellcheck disable=SC2086
    ok "GCC takes it as C++17" compile g++ c++17 $flags
    runs GCC
    run "$tmp/program"
    is "and without hvdrun" "0 ok 0" "$status $(cat "$tmp/out")"
    compile g++ c++14 -fsyntax-only
    like "an older standard is refused in words" 'hvd.hpp needs C\+\+17' "$tmp/err"
else
    skip "GCC" "no g++"
fi
if [ "$SANITIZERS" != no ]; then
    skip "Clang" "the library has GCC's sanitizers"
elif command -v clang++ >/dev/null; then
    ok "Clang takes it as C++17" compile clang++ c++17
    runs Clang
else
    skip "Clang" "no clang++"
fi
finish
