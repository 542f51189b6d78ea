#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What "make install" leaves: a header that C and C++ take, a library that exports its interface only and needs little, and
# pkg-config; all that also under a prefix that only "make install" is told, as in make install prefix=$HOME/.local.
. "$srcdir/tests/tap.sh"

include=$STAGE$INCLUDEDIR lib=$STAGE$LIBDIR
cat >"$tmp/program.c" <<-.
	#include <hvd_elastic.h>
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
exported=$(nm -D --defined-only "$lib/libhvd.so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort) # A: a version
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

# Another prefix than configure was told
elsewhere=$tmp/elsewhere
at_elsewhere() { # VARIABLE: its value below the other prefix
    make -s --no-print-directory -C "$builddir" print-directories prefix="$elsewhere" | sed -n "s/^$1=//p"
}
make -C "$builddir" install prefix="$elsewhere" >"$tmp/out" 2>&1 </dev/null
elsewhere_lib=$(at_elsewhere libdir)
export PKG_CONFIG_PATH="$elsewhere_lib/pkgconfig"
is "hvd.pc names the prefix of that make install" "$elsewhere $elsewhere_lib $(at_elsewhere includedir)" \
    "$(for name in prefix libdir includedir; do pkg-config --variable=$name hvd; done | tr '\n' ' ' | sed 's/ $//')"
pkgconf="$(pkg-config --cflags --libs hvd) -Wl,-rpath,$(pkg-config --variable=libdir hvd)"
# shellcheck disable=SC2086
ok "a program compiles with it" $CC -std=c11 $flags "$tmp/program.c" -o "$tmp/program" $pkgconf
run "$tmp/program"
is "and finds the library" 0 "$status"
like "so does one that libtool links" "^libdir='$elsewhere_lib'\$" "$elsewhere_lib/libhvd.la"
if [ -x "$HVDRUN" ]; then
    cat >"$tmp/two.c" <<-.
	#include <hvd.h>
	int main(void) { return hvd_init() == HVD_OK && hvd_size() == 2 && hvd_shutdown() == HVD_OK ? 0 : 1; }
.
    # shellcheck disable=SC2086
    $CC $flags "$tmp/two.c" -o "$tmp/two" $pkgconf
    run "$elsewhere/bin/hvdrun" -np 2 "$tmp/two"
    is "hvdrun runs it as a job, with the hvdagent that was installed there" 0 "$status"
    run "$elsewhere/bin/hvdrun" -np 2 "$elsewhere/bin/hvd-bandwidth" -b 8 -e 8
    is "hvd-bandwidth finds the library, too" 0 "$status"
    unit=$(find "$elsewhere" -name hvdrendezvousd.service)
    if [ -n "$unit" ]; then
        like "systemd is told where hvdrendezvousd is" "^ExecStart=$elsewhere/bin/hvdrendezvousd " "$unit"
        if systemd-analyze --version >/dev/null 2>&1; then
            ok "and systemd rates the unit's exposure below 1.5" \
                systemd-analyze security --offline=true --threshold=14 --no-pager "$unit"
        else
            skip "and systemd rates the unit's exposure below 1.5" "no systemd-analyze"
        fi
    else
        skip "systemd is told where hvdrendezvousd is" "configured without systemd's units"
    fi
fi
make -C "$builddir" uninstall prefix="$elsewhere" >"$tmp/out" 2>&1 </dev/null
is "make uninstall with that prefix leaves no file" '' "$(find "$elsewhere" ! -type d)"
make -C "$builddir" install prefix=/opt/hvd DESTDIR="$tmp/stage" >"$tmp/out" 2>&1 </dev/null
is "in a staging directory it names what the prefix will be" /opt/hvd \
    "$(PKG_CONFIG_PATH=$(find "$tmp/stage/opt/hvd" -name pkgconfig) pkg-config --variable=prefix hvd)"
finish
