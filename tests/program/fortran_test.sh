#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Fortran module as it is installed: every call does what it says on one rank and on several, for scalars and arrays, with and
# without ierr; and the example has the same result on any number of ranks.
. "$srcdir/tests/tap.sh"
[ -x "$FC" ] || { echo "1..0 # SKIP no Fortran compiler, or sanitizers" && exit 0; }

lib=$STAGE$LIBDIR
pkgconf=$(PKG_CONFIG_SYSROOT_DIR="$STAGE" PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs hvd-fortran)
compile() {
    # shellcheck disable=SC2086  # a list of flags
    "$FC" -std=f2018 -Wall -Wextra -Wno-compare-reals -Wno-missing-include-dirs -Werror -J "$tmp" "$1" -o "$tmp/program" $pkgconf -Wl,-rpath,"$lib" >"$tmp/out" 2>"$tmp/err"
}

ok "a program compiles with what pkg-config says" compile "$srcdir/tests/languages/hvd_fortran.f90"
for size in 1 2 3 4; do
    run "$HVDRUN" -np $size -H localhost:4 "$tmp/program"
    is "$size ranks: every call does what it says" "0 $size" "$status $(grep -c '>:ok ' "$tmp/out")"
done
ok "and as the source alone, without the installed module" sh -c \
    'cd "$1" && "$2" -std=f2018 -ffree-line-length-120 "$3/hvd-fortran/hvd.f90" "$4" -o program $5 -Wl,-rpath,"$6"' sh "$tmp" "$FC" \
    "$STAGE$INCLUDEDIR" "$srcdir/tests/languages/hvd_fortran.f90" "-L$lib -lhvd" "$lib"
run "$tmp/program"
is "also without hvdrun" "0 ok 0" "$status $(cat "$tmp/out")"

# values KIND: the names and numbers of an enumeration of hvd.h
values() {
    tr '\n' ' ' <"$srcdir/lib/hvd.h" | sed "s/.*enum $1 {\([^}]*\)}.*/\1/" | grep -oE 'HVD_[A-Z0-9_]+ = *-?[0-9]+' | tr -s ' ' | sort
}
for kind in hvd_status hvd_op; do
    values $kind >"$tmp/there"
    grep -oE 'HVD_[A-Z0-9_]+ = -?[0-9]+' "$srcdir/lib/fortran/hvd.f90" | sort >"$tmp/here"
    is "the module has the values of enum $kind" '' "$(comm -23 "$tmp/there" "$tmp/here")"
done

cat >"$tmp/ends.f90" <<'.'
program ends
    use hvd
    call hvd_barrier()
end program
.
ok "a program without ierr compiles" compile "$tmp/ends.f90"
run "$tmp/program"
is "its failure ends it" 1 "$status"
like "with the text of the failure" 'hvd_init has not been called' "$tmp/err"

run "$HEAT" 20
is "heat, without hvdrun" 0 "$status"
expected=$(sed 's/.*steps/steps/' "$tmp/out")
for size in 2 3 4; do
    run "$HVDRUN" -np $size -H localhost:4 "$HEAT" 20
    is "heat, $size ranks: the result of one" "$expected" "$(sed 's/.*steps/steps/' "$tmp/out")"
done
run "$HVDRUN" -np 2 "$HEAT" 1
is "more ranks than columns are refused" 2 "$status"
like "in words" 'heat: there are more ranks than columns' "$tmp/err"
while read -r arguments; do
    # shellcheck disable=SC2086  # words
    run "$HEAT" $arguments
    is "heat $arguments: status 2" 2 "$status"
    like "heat $arguments: one line names it" "^heat: (CELLS|LIMIT) is '" "$tmp/err"
done <<'.'
x
0
10001
20 x
20 0
.
finish
