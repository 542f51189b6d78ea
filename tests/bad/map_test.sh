#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md names each row of bad input once, and tables and tests that have it; no table has a row that README.md does not know.
. "$srcdir/tests/tap.sh"
bad=$srcdir/tests/bad

# The rows of the map, one in each line: ID|TABLE OR TEST|WORDS, with the number repeated where there is none.
awk -F '|' '/^\| *(B[0-9]+ *)?\|/ {
    for (i = 2; i <= 5; i++)
        gsub(/^ +| +$/, "", $i)
    if ($2 != "")
        id = $2
    print id "|" $4 "|" $5
}' "$bad/README.md" >"$tmp/map"

cut -d'|' -f1 "$tmp/map" | uniq >"$tmp/rows"
seq -f 'B%g' 1 124 >"$tmp/all"
ok "the rows B1 to B124 are there, in order" cmp "$tmp/rows" "$tmp/all"

while IFS='|' read -r id where words; do
    case $where in
    'not built: '?* | 'not here: '?*) ;;
    *.tsv) grep -qs "^$id	" "$bad/$where" || echo "$where has no row $id" ;;
    *)
        if [ ! -f "$srcdir/$where" ]; then
            echo "$id: '$where' is not there"
        elif [ -z "$words" ] || ! grep -qF -e "$words" "$srcdir/$where"; then
            echo "$id: $where does not say: '$words'"
        fi
        ;;
    esac
done <"$tmp/map" >"$tmp/out"
ok "each is where it is said to be" [ ! -s "$tmp/out" ]

for table in "$bad"/*.tsv; do
    cut -f1 "$table" | grep -E '^B[0-9]+$' | sort -u | while read -r id; do
        grep -qF "$id|${table##*/}|" "$tmp/map" || echo "$id is in ${table##*/}, which README.md does not say"
    done
done >"$tmp/out"
ok "and nowhere else" [ ! -s "$tmp/out" ]
: >"$tmp/out"

ok "$(cat "$bad"/*.tsv | grep -vc '^#') rows of bad input are in tables" true
finish
