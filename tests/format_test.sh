#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Comments of C and Python end at column 100, and C files have the shape that .clang-format gives them. Other versions of
# clang-format give another one, so it is always the version of Debian 12; without it that part is skipped.
# "clang-format-14 -i FILE..." mends what is found.
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

# too_long FILE...: lines of more than 100 columns that are a comment, or end in one. Drawings and tables, which begin with
# two blanks, are left alone, as clang-format leaves them.
too_long() {
    awk 'length($0) > 100 && !/^[ \t]*(\*|\/\*|\/\/|#)  / && (/^[ \t]*(\*|\/\*|\/\/|#)( |$)/ || /[^"]\/\* .*\*\/$/) {
        print FILENAME ":" FNR ": " length($0) " columns" }' "$@"
}

formatter=clang-format-14
if [ "$SANITIZERS" = no ]; then
    printf '%s\n' "/* $(printf '%098d' 0)" "/* $(printf '%097d' 0)" " *   $(printf '%099d' 0)" "int x; /* $(printf '%099d' 0) */" >"$tmp/comments.c"
    is "a long comment is found, and neither a short one nor a drawing" '1 4' \
        "$(too_long "$tmp/comments.c" | cut -d: -f2 | xargs)"
    in_sources sources | grep -E '\.([ch]|cc|hpp|py)$' >"$tmp/files"
    # shellcheck disable=SC2046  # no blank in the name of a file
    in_sources too_long $(cat "$tmp/files") >"$tmp/out"
    ok "comments end at column 100" [ ! -s "$tmp/out" ]
    [ ! -s "$tmp/out" ] || sed 's/^/# /' "$tmp/out"
fi
if [ "$SANITIZERS" != no ]; then
    skip "C files are formatted" "nothing of it depends on sanitizers"
elif ! command -v "$formatter" >/dev/null; then
    skip "C files are formatted" "no $formatter"
else
    cp "$srcdir/.clang-format" "$tmp"
    printf 'int  main ( ) { }\n' >"$tmp/sample.c"
    ok "a file in another shape is found" not "$formatter" --dry-run --Werror "$tmp/sample.c" 2>/dev/null
    in_sources sources | grep '\.[ch]$' >"$tmp/files"
    ok "C files are found" [ "$(wc -l <"$tmp/files")" -gt 500 ]
    in_sources xargs -n 50 "$formatter" --dry-run <"$tmp/files" 2>"$tmp/all"
    grep -E '^[^ ]+: (warning|error): ' "$tmp/all" >"$tmp/err"
    ok "C files are formatted" [ ! -s "$tmp/all" ]
fi
finish
