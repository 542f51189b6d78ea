#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hvdrun decides does not depend on words: the simulator with names of enumerators instead of sentences reaches the same
# verdicts. README.md of this folder has more.
: "${srcdir:=$(dirname "$0")/../..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh"

jobs=1000
[ "$SANITIZERS" = no ] || jobs=250

# verdicts PROGRAM FILE: what it decides. What the simulator finds broken is said by tests/simulator/simulate; without sentences it
# misses some of them.
verdicts() {
    "tests/simulator/$1" --verdicts "$jobs" >"$tmp/$1.all" && grep '^verdict ' "$tmp/$1.all" >"$2"
}

ok "the simulator says what hvdrun decides" verdicts simulate "$tmp/sentences"
is "it does so for every seed" "$jobs" "$(wc -l <"$tmp/sentences" | tr -d ' ')"
ok "some jobs fail because of a rank" grep -q 'cause [1-9][0-9]* rank [0-9]' "$tmp/sentences"
ok "it also runs with names instead of sentences" verdicts simulate_names "$tmp/names"
diff "$tmp/sentences" "$tmp/names" >"$tmp/out"
ok "rank, host and exit status are the same without sentences" cmp -s "$tmp/sentences" "$tmp/names"
finish
