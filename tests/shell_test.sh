#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our shell scripts pass shellcheck. What it is not asked about is in .shellcheckrc, with the reason; a line that is meant as
# it stands has "# shellcheck disable=SCnnnn  # why" above it.
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

# scripts: files named *.sh, and those whose first line says that a shell runs them.
scripts() {
    sources | while read -r file; do
        case $file in
        *.sh) echo "$file" ;;
        *.[ch] | *.[1-9] | *.html | *.md | */corpus/*) ;;
        *) ! head -n 1 "$file" | grep -aqE '^#!.*/(env )?(ba|da)?sh( |$)' || echo "$file" ;;
        esac
    done
}

if [ "$SANITIZERS" != no ]; then
    skip "shellcheck has nothing to say" "nothing of it depends on sanitizers"
elif ! command -v shellcheck >/dev/null; then
    skip "shellcheck has nothing to say" "no shellcheck"
else
    in_sources scripts >"$tmp/files"
    for script in bootstrap .ci/run tests/tap.sh bench/run; do
        ok "$script is among the scripts" grep -qx "$script" "$tmp/files"
    done
    in_sources xargs -n 20 shellcheck --format=gcc <"$tmp/files" >"$tmp/out" 2>"$tmp/err"
    ok "shellcheck has nothing to say" [ "$(cat "$tmp/out" "$tmp/err" | wc -c)" = 0 ]
fi
finish
