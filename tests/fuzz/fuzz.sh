#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds fuzz targets with clang's libFuzzer, ASan and UBSan, and runs each for $FUZZ_SECONDS. "make fuzz" starts it:
#
#   make fuzz [FUZZ_SECONDS=60] [FUZZ_TARGETS='http join']
#
# Below fuzz/ of the build directory: bin/, corpus/TARGET/ with every input that reaches something new, which the next run begins
# with (besides tests/fuzz/corpus/TARGET/), and findings/TARGET-*, each an input that breaks a promise: build/tests/fuzz/fuzz_TARGET
# FILE or fuzz/bin/TARGET FILE shows it again. Prints a line for each target. Status 1 if there are findings.
set -eu

: "${CLANG:=no}" "${FUZZ_SECONDS:=60}"
if [ "$CLANG" = no ]; then
    echo "make fuzz needs clang, which configure has not found (Debian: apt install clang; then configure again)" >&2
    exit 77
fi

mkdir -p fuzz/bin fuzz/findings
sanitizers=address,undefined

# build: what is fuzzed, once, and then a program for each target.
build() {
    set --
    for source in $SOURCES; do
        case $source in
        *.c)
            [ -f "$source" ] || source=$srcdir/$source # or made in the build directory
            set -- "$@" "$source" ;;
        esac
    done
    rm -rf fuzz/bin/objects && mkdir fuzz/bin/objects
    # shellcheck disable=SC2086
    for source in "$@"; do
        "$CLANG" $FLAGS -g -O1 -fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize-recover=undefined \
            -c "$source" -o "fuzz/bin/objects/$(echo "${source#"$srcdir/"}" | tr / _).o"
    done
}

build_target() {
    # shellcheck disable=SC2086
    "$CLANG" $FLAGS -g -O1 -fsanitize=fuzzer,$sanitizers -fno-sanitize-recover=undefined \
        "$srcdir/tests/fuzz/fuzz_$1.c" fuzz/bin/objects/*.o -o "fuzz/bin/$1" $LIBS -lpthread
}

# value NAME LOG: what libFuzzer counted.
value() {
    sed -n "s/^stat::$1: *//p" "$2"
}

run_target() {
    log=fuzz/$1.log
    mkdir -p "fuzz/corpus/$1"
    set -- "$1" "fuzz/corpus/$1" "$srcdir/tests/fuzz/corpus/$1"
    [ ! -f "$srcdir/tests/fuzz/$1.dict" ] || set -- "$@" "-dict=$srcdir/tests/fuzz/$1.dict"
    target=$1
    shift
    failed=0
    "fuzz/bin/$target" "$@" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -max_total_time="$FUZZ_SECONDS" -artifact_prefix="fuzz/findings/$target-" >"$log" 2>&1 || failed=1
    printf '%s: %s executions, %s edges covered, %s inputs, %s\n' "$target" \
        "$(value number_of_executed_units "$log")" "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)" \
        "$(find "fuzz/corpus/$target" -type f | wc -l)" "$([ $failed = 0 ] && echo "no finding" || echo "see $log")"
    return $failed
}

build
rc=0
for name; do
    [ -f "$srcdir/tests/fuzz/fuzz_$name.c" ] || { echo "fuzz.sh: there is no target '$name'" >&2; exit 2; }
    build_target "$name"
    run_target "$name" || rc=1
done
exit $rc
