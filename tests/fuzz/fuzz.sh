#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs fuzz targets, and says what they reach. "make fuzz" and "make fuzz-coverage" start it, behind fuzz.mk:
#
#   make fuzz [FUZZ_SECONDS=60] [FUZZ_TARGETS='http join']    searches, then replays all that is known
#   make fuzz FUZZ_KIND=fast [FUZZ_FLAGS=-max_len=64]         the same without sanitizers; FUZZ_FLAGS go to libFuzzer
#   make fuzz-coverage [FUZZ_TARGETS=...]                     replays tests/fuzz/corpus alone
#
# Below fuzz/ of the build directory: search/bin/ or fast/bin/, corpus/TARGET/ with every input that reaches something new, which the next run begins
# with (besides tests/fuzz/corpus/TARGET/), and findings/TARGET-*, each an input that breaks a promise: build/tests/fuzz/fuzz_TARGET
# FILE or fuzz/search/bin/TARGET FILE shows it again. The table at the end says of each target: how many inputs it has taken, how many in a
# second, how many of them are new in its corpus, edges in all that is linked, lines and branches of the files that tests/fuzz/targets
# names, findings; then the inputs of all targets. Status 1 if there are findings.
set -eu

mode=$1
shift
: "${FUZZ_SECONDS:=60}" "${FUZZ_KIND:=search}" "${FUZZ_FLAGS:=}" "${CLANG:=clang}"
mkdir -p fuzz/findings fuzz/coverage/profiles
root=$(pwd)
cov=$("$CLANG" -print-prog-name=llvm-cov) profdata=$("$CLANG" -print-prog-name=llvm-profdata)

# value NAME LOG: what libFuzzer counted; 0: nothing, since it has ended early.
value() {
    number=$(sed -n "s/^stat::$1: *//p" "$2")
    echo "${number:-0}"
}

count_files() {
    find "$@" -type f | wc -l
}

# search TARGET: fuzz/TARGET.log, and a line "TARGET executions per-second new edges findings". The names of new functions are not
# printed: the symbolizer would be a child that targets with processes of their own find, and take for theirs.
search() {
    target=$1 log=fuzz/$1.log before=$(count_files "fuzz/corpus/$1")
    set -- "$root/fuzz/corpus/$target" "$srcdir/tests/fuzz/corpus/$target"
    [ ! -f "$srcdir/tests/fuzz/$target.dict" ] || set -- "$@" "-dict=$srcdir/tests/fuzz/$target.dict"
    # shellcheck disable=SC2086 # FUZZ_FLAGS is split into words
    "fuzz/$FUZZ_KIND/bin/$target" "$@" -max_len=4096 -timeout=30 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1 \
        -print_funcs=0 -max_total_time="$FUZZ_SECONDS" -artifact_prefix="$root/fuzz/findings/$target-" $FUZZ_FLAGS >"$log" 2>&1 ||
        [ "$(find fuzz/findings -name "$target-*" | wc -l)" -gt 0 ] ||
        cp "$log" "fuzz/findings/$target-died.log" # by a signal, so that the input is not known
    edges=$(grep -ao 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)
    echo "$target $(value number_of_executed_units "$log") $(value average_exec_per_sec "$log")" \
        "$(($(count_files "fuzz/corpus/$target") - before)) ${edges:-0} $(find fuzz/findings -name "$target-*" | wc -l)"
}

# reached TARGET FOLDER...: "lines% branches%" of the target's files, by the inputs in the folders.
reached() {
    target=$1 profile=fuzz/coverage/profiles/$1
    shift
    find "$@" -type f -print0 | LLVM_PROFILE_FILE="$profile.%p.raw" xargs -0 "fuzz/coverage/bin/$target" >"$profile.log" ||
        { echo "- -"; return; }
    "$profdata" merge -o "$profile.data" "$profile".*.raw && rm -f "$profile".*.raw
    set --
    for file in $(awk -v target="$target" '$1 == target { for (i = 3; i <= NF; i++) print $i }' "$srcdir/tests/fuzz/targets"); do
        set -- "$@" "$srcdir/$file"
    done
    "$cov" report "fuzz/coverage/bin/$target" -instr-profile="$profile.data" --show-region-summary=false \
        --show-branch-summary "$@" >"$profile.report"
    awk '$1 == "TOTAL" { print $7, $10 }' "$profile.report"
}

table() {
    printf '%-13s %12s %8s %6s %6s %8s %9s %9s\n' target executions per-s new edges lines branches findings
    awk '{ printf "%-13s %12s %8s %6s %6s %8s %9s %9s\n", $1, $2, $3, $4, $5, $7, $8, $6; all += $2 }
        END { printf "%-13s %12.0f\n", "all", all }' "$1"
}

results=fuzz/results.$$ # so that several may run beside each other
: >"$results"
for name; do
    grep -q "^$name " "$srcdir/tests/fuzz/targets" || { echo "fuzz.sh: there is no target '$name' in tests/fuzz/targets" >&2; exit 2; }
    mkdir -p "fuzz/corpus/$name"
    rm -f "fuzz/coverage/profiles/$name".*
    if [ "$mode" = coverage ]; then
        echo "$name $(count_files "$srcdir/tests/fuzz/corpus/$name") - - - - $(reached "$name" "$srcdir/tests/fuzz/corpus/$name")"
    else
        echo "$(search "$name") $(reached "$name" "$srcdir/tests/fuzz/corpus/$name" "fuzz/corpus/$name")"
    fi >>"$results"
    tail -n 1 "$results" | awk '{ print $1 ": " $2 " inputs, " $7 " of the lines, " $8 " of the branches" }'
done
echo
table "$results"
awk '$6 > 0 { found = 1 } END { exit found }' "$results"
