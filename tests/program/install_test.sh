#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What "make install" leaves: a header that C and C++ take, a library that exports its interface only and needs little, and pkg-config.
. "$srcdir/tests/tap.sh"

include=$STAGE$INCLUDEDIR lib=$STAGE$LIBDIR
cat >"$tmp/program.c" <<-.
	#include <hvd_device.h>
	#include <hvd_training.h>
	#include <hvd_optimizer.h>
	#include <hvd.h>
	int main(void) { return hvd_init() == HVD_OK && hvd_size() == 1 && hvd_shutdown() == HVD_OK ? 0 : 1; }
.
cp "$tmp/program.c" "$tmp/program.cc"

flags=
[ "$SANITIZERS" = no ] || flags=-fsanitize=$SANITIZERS
pkgconf=$(PKG_CONFIG_SYSROOT_DIR="$STAGE" PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs hvd)
# shellcheck disable=SC2086  # lists of flags
ok "a C program compiles with what pkg-config says" \
    $CC -std=c11 -pedantic -Wall -Werror $flags "$tmp/program.c" -o "$tmp/program" $pkgconf
run env LD_LIBRARY_PATH="$lib" "$tmp/program"
is "and runs" 0 "$status"
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2086
    ok "a C++ program too" g++ -std=c++11 -pedantic -Wall -Werror $flags "$tmp/program.cc" -o "$tmp/program++" $pkgconf
else
    skip "a C++ program too" "no g++"
fi
exported=$(nm -D --defined-only "$lib/libhvd.so" | awk '{ print $3 }' | sort)
declared=$(cat "$include"/hvd*.h | grep -oE '\bhvd_[a-z_]+\(' | tr -d '(' | sort -u)
extra=$(printf '%s\n' "$exported" | grep -v '^hvd_')
is "the library exports hvd_* and nothing else" '' "$extra"
for name in $exported; do
    printf '%s\n' "$declared" | grep -qx "$name" || echo "# $name is exported and not declared"
done >"$tmp/undeclared"
ok "all of it declared" [ ! -s "$tmp/undeclared" ]
for name in $(awk '/^HVD_API/, /;/' "$include"/hvd*.h | grep -oE '\bhvd_[a-z_]+\(' | tr -d '('); do
    printf '%s\n' "$exported" | grep -qx "$name" || echo "# $name is declared and not exported"
done >"$tmp/missing"
cat "$tmp/missing"
ok "and all that is declared is there" [ ! -s "$tmp/missing" ]
needed=$(readelf -d "$lib/libhvd.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libpthread|libsodium|libm|ld-linux.*|libasan|libubsan|libtsan)\.so' || :)
is "it needs libc, threads and libsodium, nothing else" '' "$needed"
if [ -x "$HVDRUN" ]; then
    ok "hvdagent is where hvdrun looks for it" [ -x "$STAGE$AGENTDIR/hvdagent" ]
fi
make -C "$builddir" install DESTDIR="$tmp/stage" >"$tmp/out" 2>&1 </dev/null
ok "make install works once more" [ -f "$tmp/stage$INCLUDEDIR/hvd.h" ]
make -C "$builddir" uninstall DESTDIR="$tmp/stage" >"$tmp/out" 2>&1 </dev/null
is "make uninstall leaves no file" '' "$(find "$tmp/stage" ! -type d)"
finish
