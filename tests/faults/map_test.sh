#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of faults names each fault once, and tests that exist; the map tells what became of them.
. "$srcdir/tests/tap.sh"

table=$srcdir/tests/faults/README.md

sed -n 's/^| *\(F[0-9]*\) *|.*/\1/p' "$table" >"$tmp/rows"
seq -f 'F%g' 1 111 >"$tmp/all"
ok "the faults F1 to F111 have a row each, in order" cmp "$tmp/rows" "$tmp/all"

# A page in which comments say what a paragraph is about.
sed -n '/^\.\\" F/{ s/^....//; s/ /\n/g; p; }' "$srcdir/man/hvd_faults.7" | sort >"$tmp/promised"
sort "$tmp/all" >"$tmp/sorted"
ok "each of them is in hvd_faults(7), once" cmp "$tmp/promised" "$tmp/sorted"

# is_in_folder FOLDER WORDS: of a folder that is one program.
is_in_folder() {
    case $1 in
    tests/unit | tests/program) return 1 ;;
    esac
    grep -qF -e "$2" "$srcdir/$1"/*.c
}

# Whatever the table names, one in each line: PROGRAM|WORDS.
awk -F '|' '/^\| *(F[0-9]+ *)?\|/ { gsub(/^ +| +$/, "", $4); gsub(/^ +| +$/, "", $5); if ($4 != "") print $4 "|" $5 }' \
    "$table" >"$tmp/named"
grep -v '^not here: ' "$tmp/named" | while IFS='|' read -r program words; do
    if [ ! -f "$srcdir/$program" ]; then
        echo "$program is not there"
    elif [ -z "$words" ]; then
        echo "$program without words"
    elif ! grep -qF -e "$words" "$srcdir/$program" && ! is_in_folder "${program%/*}" "$words"; then
        echo "$program does not say: $words"
    fi
done >"$tmp/out"
ok "each test that is named is there and says so" [ ! -s "$tmp/out" ]
: >"$tmp/out"

# The map of a small table and its results
mkdir -p "$tmp/build/tests/unit"
cat >"$tmp/table" <<-.
	| row | fault | test program | words |
	|---|---|---|---|
	| F1 | one | tests/a.sh | the first |
	| | | tests/unit/b_test.c | a_second |
	| F2 | two | tests/a.sh | broke |
	| F3 | three | tests/a.sh | was left out |
	| F4 | four | | |
	| F5 | five | not here: no such thing | |
	| F6 | six | tests/late.sh | at last |
	| F7 | seven | tests/nowhere.sh | never |
.
printf '%s\n' 'ok 1 - the first thing' 'ok 2 - it broke early' 'not ok 3 - it broke late' 'ok 4 - it broke again' \
    'ok 5 - it was left out # SKIP no root' >"$tmp/build/tests/a.log"
echo 'ok 1 - ../tests/unit/b_test.c:all:a_second: Passed' >"$tmp/build/tests/unit/b_test.log"
echo 'ok 1 - at last it ended' >"$tmp/build/tests/late.tap"
run env FAULTS="$tmp/table" "$srcdir/tests/faults/map" "$tmp/build"
is "a row that fails is status 1" 1 "$status"
cat >"$tmp/expected" <<-.
	F1   holds    one
	F2   FAILS    two: tests/a.sh: broke
	F3   not run  three (0 of 1 tests ran)
	F4   no test  four
	F5   not here five: no such thing
	F6   holds    six
	F7   not run  seven (0 of 1 tests ran)

	7 rows: 5 automated, of which 2 hold, 1 fail and 2 did not run; 1 without a test; 1 not possible here
.
ok "each state is told, and their numbers" cmp "$tmp/out" "$tmp/expected"
run "$srcdir/tests/faults/map" "$tmp/nowhere"
is "where no test ran none has failed" 0 "$status"
finish
