#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # $small and a row's options are lists of words
#
# The synthetic benchmark as a user runs it, with small tensors and short batches. Prints TAP. What is
# fast or slow is no matter of this test.
#
# Reads HVDRUN and SYNTHETIC_BENCHMARK, the programs, and SANITIZERS, those they were built with.
set -u
: "${HVDRUN:?}" "${SYNTHETIC_BENCHMARK:?}"
. "$srcdir/tests/tap.sh"

small="--compute sleep:1 --num-warmup-batches 1 --num-batches-per-iter 2 --num-iters 2"

# alone OPTION... and ranks N OPTION..., on $hosts if there are any named.
hosts=
alone() { run "$SYNTHETIC_BENCHMARK" $small "$@"; }
ranks() {
    n=$1
    shift
    run "$HVDRUN" -np "$n" ${hosts:+-H $hosts} "$SYNTHETIC_BENCHMARK" $small "$@"
    sed -i 's/^\[0\]<stdout>://' "$tmp/out"
    sed -i '/^hvdrun: /d; s/^\[[0-9]*\]<stderr>://' "$tmp/err"
}

# field NAME: of the result line, which is the last one.
field() { tail -n 1 "$tmp/out" | sed -n "s/^result.* $1=\([^ ]*\).*/\1/p"; }

holds() { awk "BEGIN { exit !($1) }"; }

# consistent RANKS MODEL: the run ended well, and its result line fits the lines above it.
consistent() {
    [ "$status" -eq 0 ] || complain "status $status" || return
    [ "$(grep -c '^result ' "$tmp/out")" -eq 1 ] || complain "not one result line" || return
    [ "$(field ranks),$(field model)" = "$1,$2" ] || complain "another run" || return
    [ "$(field identical)" = yes ] || complain "parameters differ" || return
    holds "$(field efficiency) > 0 && $(field hidden) >= 0 && $(field hidden) <= 1" || complain "ratios" || return
    grep -q "^Total img/sec on $1 rank(s): $(field images_per_s) " "$tmp/out" || complain "another total" || return
}

said() {
    for _line in "Model: $1" "Batch size: 32" "Number of ranks: $2" "Gradients: $3 tensors" "Iter #1: [0-9.]+ img/sec per rank" \
        "Img/sec per rank: [0-9.]+ \+-[0-9.]+" "Step: " "Communication alone: " "Hidden by overlap: " "Scaling efficiency: "; do
        grep -Eq "^$_line" "$tmp/out" || complain "no line '$_line'" || return
    done
}

while read -r model tensors; do
    alone --model "$model" --shrink 64
    ok "$model runs alone" consistent 1 "$model"
    is "a world of one has nothing to hide" 0.0000 "$(field hidden)"
    ranks 2 --model "$model" --shrink 64
    ok "$model runs on two ranks" consistent 2 "$model"
    ok "and says what Horovod's benchmark says, and more" said "$model" 2 "$tensors"
done <<END
resnet50 161
resnet101 314
inception3 292
vgg16 32
END

# quiet N: the same without the lines above.
quiet() {
    [ "$status" -eq 0 ] || complain "status $status" || return
    [ "$(wc -l <"$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ] || complain "more than a line" || return
    [ "$(field ranks),$(field identical)" = "$1,yes" ] || complain "another result" || return
}

for n in 3 4; do
    ranks $n --shrink 64 --quiet
    ok "$n ranks run, and say one line with --quiet" quiet $n
done

hosts=localhost:1,127.0.0.2:3
ranks 4 --shrink 64 --quiet
ok "so do 4 ranks on two hosts" quiet 4
hosts=

# The averages are checked by the program: status 1 if one is wrong.
while read -r options; do
    ranks 2 --shrink 256 --quiet $options
    ok "it runs with $options" quiet 2
done <<END
--no-overlap
--fp16-allreduce
--compression bf16
--use-adasum
--groups 5
--compute burn:1
--batch-size 1 --seed 7
--num-warmup-batches 0 --num-iters 1 --num-batches-per-iter 1
--device
--device --no-overlap --groups 4
--device --compute burn:1
END
ranks 3 --model inception3 --shrink 256 --compression fp16 --groups 3 --no-overlap --quiet
ok "and with several of them" quiet 3

ranks 2 --num-batches-per-iter 1
ok "gradients of full size are averaged" consistent 2 resnet50
like "and there are 102 MB of them" '^Gradients: 161 tensors, 102.2 MB$' "$tmp/out"

ranks 2 --shrink 256 --plot "$tmp/plot.svg" --quiet
ok "it draws a plot" grep -q '</svg>' "$tmp/plot.svg"

ranks 2 --help
is "help ends well" 0 "$status"
is "and is printed once" 1 "$(grep -c '^usage: synthetic_benchmark ' "$tmp/out")"

# one_line STATUS PATTERN: the last run ended as it must, and one rank said why.
one_line() {
    [ "$status" -eq "$1" ] || complain "status $status, not $1" || return
    [ "$(grep -c '^synthetic_benchmark: ' "$tmp/err")" -eq 1 ] || complain "not one line" || return
    grep -qF -e "synthetic_benchmark: $2" "$tmp/err" || complain "another text" || return
    ! grep -q '^result ' "$tmp/out" || complain "a result" || return
}

while IFS='|' read -r options text; do
    ranks 2 $options
    ok "$options is refused, once" one_line 2 "$text"
done <<END
--model resnet18|--model wants resnet50, resnet101, inception3 or vgg16, not 'resnet18'
--compute 100|--compute wants sleep:MS or burn:MS, MS from 0 to 1000000, not '100'
--fp16-allreduce --compression bf16|--fp16-allreduce and --compression 'bf16' exclude each other
--groups 162|--groups wants at most the 161 tensors of resnet50, not '162'
--num-iters 0|--num-iters wants an integer from 1 to 1000000, not '0'
--frob|unknown option '--frob'
END

ranks 2 --shrink 256 --plot "$tmp/nowhere/plot.svg"
ok "a plot that cannot be written is told once" one_line 1 "$tmp/nowhere/plot.svg"

case ${SANITIZERS-} in
*address* | *thread*) skip "memory that is not there is told once" "sanitizers need address space" ;;
*)
    ranks() { run "$HVDRUN" -np 2 sh -c 'ulimit -v 700000 && exec "$@"' sh "$SYNTHETIC_BENCHMARK" $small "$@"; }
    ranks --model vgg16
    sed -i '/^hvdrun: /d; s/^\[[0-9]*\]<stderr>://' "$tmp/err"
    ok "memory that is not there is told once" one_line 1 "out of memory: vgg16 needs 1106 MB on each rank"
    ;;
esac

finish
