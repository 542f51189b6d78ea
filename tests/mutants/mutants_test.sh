#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which verdict a mutant gets, and what is kept of the tests without a change (tests/mutants/mutants_cases.py).
: "${srcdir:=$(dirname "$0")/../..}" "${PYTHON:=python3}"
. "$srcdir/tests/tap.sh"

if ! "$PYTHON" -c '' 2>/dev/null; then
    skip "the verdicts of mutants" "no Python"
    finish
    exit
fi
run "$PYTHON" -B "$srcdir/tests/mutants/mutants_cases.py"
is "the cases end well" 0 "$status"
cp "$tmp/out" "$tmp/cases"
while read -r outcome sentence; do
    ok "$sentence" [ "$outcome" = ok ]
done <"$tmp/cases"
finish
