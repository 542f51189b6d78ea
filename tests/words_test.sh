#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Words that the tree does not use: tests/forbidden_words.txt has them, with what to write instead. By hand:
#
#   tests/words_test.sh --pending      how often the words are in use whose rows are not checked yet
: "${srcdir:=$(dirname "$0")/..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

# uses PATTERN ALLOWED: where the word is, as file:number:text, after what is allowed has been taken out; in the files that
# $tmp/files names, and in their names.
uses() {
    {
        tr '\n' '\0' <"$tmp/files" | xargs -0 grep -IHniE -e "(^|[^a-z])($1)([^a-z]|\$)"
        sed 's/.*/&:0:&/' "$tmp/files"
    } | awk -v allowed="$2" -v word="(^|[^a-z])($1)([^a-z]|\$)" '{
        line = tolower($0)
        sub(/^[^:]*:[0-9]+:/, "", line)
        if (allowed != "")
            gsub(allowed, " ", line)
        if (line ~ word)
            print
    }'
}

# files_to_read: where words are looked for. What this test itself reads and the glossary name the words to tell about them.
files_to_read() {
    sources | grep -vE '^(tests/forbidden_words\.txt|tests/words_test\.sh|doc/glossary\.md|tests/fuzz/corpus/.*)$'
}

# rows BEGINNING: of the table, those that begin so.
rows() {
    grep -E "^$1[^# ].*	" "$srcdir/tests/forbidden_words.txt" | sed 's/^#//'
}

tab=$(printf '\t')

if [ "${1-}" = --pending ]; then
    in_sources files_to_read >"$tmp/files"
    rows '#' | while IFS=$tab read -r word instead allowed _; do
        printf '%6d %s (%s)\n' "$(in_sources uses "$word" "$allowed" | wc -l)" "$word" "$instead"
    done
    exit
fi
if [ "$SANITIZERS" != no ]; then
    skip "words" "nothing of them depends on sanitizers"
    finish
    exit
fi

# How a word is found, in a tree of two files
mkdir "$tmp/tree"
printf '%s\n' 'hub_receive()' github Hub hubris 'a hub, and' >"$tmp/tree/hub.c"
printf '%s\n' flight_plan 'one in flight' in_flight 'in flight, flight_plan' >"$tmp/tree/notes"
printf '%s\n' hub.c notes >"$tmp/files"
found() { (cd "$tmp/tree" && uses "$@" | cut -d: -f1,2 | xargs); } # files and lines
is "a word is found between letters of other words, in any case, and in names of files" \
    'hub.c:1 hub.c:3 hub.c:5 hub.c:0' "$(found 'hubs?' '')"
is "not in what is allowed, and beside that it is" 'notes:1 notes:4' "$(found 'flights?' 'in[ _]flight')"

# The table
in_sources files_to_read >"$tmp/files"
ok "the tree is read" [ "$(wc -l <"$tmp/files")" -gt 1000 ]
bad=$(grep -vE '^(#|$)' "$srcdir/tests/forbidden_words.txt" | awk -F '\t' 'NF != 2 && NF != 4')
is "each row has a word and what to write instead, and what is allowed has a reason" '' "$bad"
rows '' >"$tmp/rows"
while IFS=$tab read -r word instead allowed _; do
    in_sources uses "$word" "$allowed" </dev/null | cut -c1-160 | head -n 20 >"$tmp/out"
    ok "'$word' is not used, but $instead" [ ! -s "$tmp/out" ]
done <"$tmp/rows"
finish
