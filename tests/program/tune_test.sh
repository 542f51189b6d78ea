#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvd-tune writes what HVD_TUNING reads; a file that is not as it must be is refused by name.
. "$srcdir/tests/tap.sh"
LD_LIBRARY_PATH=$STAGE$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # for what is installed
export LD_LIBRARY_PATH
cd "$tmp" || exit 99
unset HVD_TUNING HVD_ALGORITHM

run "$HVD_TEST_TUNE" -o tuning.txt -e 16384 -n 5 -np 2
is "hvd-tune ends well" 0 "$status"
is "and writes three thresholds" "large small tree" "$(sed -n 's/ = [0-9]*$//p' tuning.txt | sort | paste -sd' ')"
like "behind what it was asked" '^# hvd-tune -np 2$' tuning.txt
is "every way is measured" 7 "$(grep -c '^hvd-tune: [a-z]*, [a-z-]*$' "$tmp/err")"
run "$HVDRUN" -np 2 -x HVD_TUNING=tuning.txt "$WORLD" init collectives shutdown
is "a job takes it" 0 "$status"
run "$HVD_TEST_TUNE" -o other.txt -e 8192 --nosuch
is "a job that fails is its status" 2 "$status"
ok "and nothing is written" [ ! -e other.txt ]

# refuses TEXT OPTION...: status 2, one line
refuses() {
    _text=$1
    shift
    run "$HVD_TEST_TUNE" "$@"
    ok "hvd-tune $* is refused" refused hvd-tune 2 "$_text"
}
refuses "no options for hvdrun"
refuses "-n: less than 1: '0'" -n 0 -np 2
refuses "-n: not a number: 'x'" -n x -np 2
refuses "-e: less than 8192: '8191'" -e 8191 -np 2
refuses "-e: not a number: '99999999999999999999'" -e 99999999999999999999 -np 2
refuses "-o: missing value" -o
refuses "-o: empty value" -o '' -np 2
refuses "-o: no such directory: '/none' (for '/none/x')" -o /none/x -np 2
refuses "-o: is a directory: '$tmp'" -o "$tmp" -np 2

# Output that cannot be written; the measurement is a stand-in
printf '%s\n' '#!/bin/sh' 'echo "result allreduce ranks=2"' \
    'for name in allreduce broadcast; do printf "$name\\tfloat\\t8192\\t1\\t1\\t1\\t1\\t1\\t5\\n"; done' >measured
chmod +x measured
# loses NAME COMMAND...: status 74, and one line about NAME at the end
loses() {
    _name=$1
    shift
    run "$@"
    ok "$_name that cannot be written is said" [ "$status $(tail -n 1 "$tmp/err")" = "74 hvd-tune: error: $_name: cannot be written" ]
    is "and once" 1 "$(grep -cv '^hvd-tune: [a-z]*, [a-z-]*$' "$tmp/err")"
}
# shellcheck disable=SC2016 # $0 and $@ are those of the shell that is run
to_full='exec "$0" "$@" >/dev/full'
loses stdout sh -c "$to_full" "$HVD_TEST_TUNE" --help
loses stdout env HVDRUN=./measured sh -c "$to_full" "$HVD_TEST_TUNE" -np 2
loses /dev/full env HVDRUN=./measured "$HVD_TEST_TUNE" -o /dev/full -np 2

# bad SENTENCE TEXT: no rank gets beyond hvd_init()
bad() {
    run "$HVDRUN" -np 2 -x HVD_TUNING=bad.txt "$WORLD" init shutdown
    ok "$1" [ "$status" -ne 0 ]
    ok "and is named" grep -qF -e "$2" "$tmp/err"
}
bad "a file that is not there is an error" 'HVD_TUNING: bad.txt: open: No such file'
printf 'small = 5\nsmell = 6\n' >bad.txt
bad "so is one that says something else" "HVD_TUNING: bad.txt:2: expected small, large, tree or few: 'smell = 6'"
finish
