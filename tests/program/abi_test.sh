#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs that were built with an earlier libhvd rely on is as lib/libhvd.abi describes it. A change there is meant or a
# mistake: what was released keeps its meaning. After one that is meant, "make -C build accept-abi" writes the file anew,
# and lib/local.mk tells what becomes of the library's version.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "the ABI" "it is that of a library without sanitizers"
    finish
    exit
fi
if [ "$(getconf LONG_BIT)" != 64 ]; then
    skip "the ABI" "the description is that of machines with 64 bits"
    finish
    exit
fi
describe() { CC=$CC sh "$srcdir/tests/support/abi.sh" "$@" "$STAGE$LIBDIR/libhvd.so"; }
changes() { diff "$1" "$2" | grep '^[<>]' | sed 's/^</-/; s/^>/+/'; }

# What a change looks like
mkdir "$tmp/include"
cp "$STAGE$INCLUDEDIR"/hvd*.h "$tmp/include"
describe "$tmp/include" >"$tmp/before"
sed -i 's/^    double prescale;/    char added;\n&/; s/HVD_UINT16 = 2,/HVD_UINT16 = 20,/' "$tmp/include/hvd.h"
sed -i 's/^HVD_API int hvd_rank(void)/HVD_API int hvd_rank(int of)/' "$tmp/include/hvd.h"
describe "$tmp/include" >"$tmp/after"
changes "$tmp/before" "$tmp/after" >"$tmp/out"
like "a new member of a struct is seen" '^\+ member struct hvd_options.added, offset 4, size 1: char added;' "$tmp/out"
unlike "and one that stays where it was is not" 'hvd_options.prescale' "$tmp/out"
like "other values of an enum are seen" '^\+ value HVD_UINT16 = 20' "$tmp/out"
like "another prototype is seen" '^- call int hvd_rank\(void\)' "$tmp/out"

# The ABI
describe "$STAGE$INCLUDEDIR" >"$tmp/now"
like "calls have a version" '^symbol hvd_init HVD_0\.1$' "$tmp/now"
grep '^symbol' "$tmp/now" | grep -v ' HVD_' >"$tmp/out"
ok "all that is exported has one" [ ! -s "$tmp/out" ]
changes "$srcdir/lib/libhvd.abi" "$tmp/now" >"$tmp/out"
ok "the ABI is that of lib/libhvd.abi" [ ! -s "$tmp/out" ]
if [ -s "$tmp/out" ]; then
    sed 's/^/# /' "$tmp/out"
    echo "# If this is meant: make -C build accept-abi, and see -version-info in lib/local.mk and the versions in lib/libhvd.map."
fi
finish
