#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C files have the shape that .clang-format gives them. Other versions of clang-format give another one, so it is always the
# version of Debian 12; without it the test is skipped. "clang-format-14 -i FILE..." mends what is found.
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

formatter=clang-format-14
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
