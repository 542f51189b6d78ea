#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # $small and $one_step are lists of words
#
# The training program as a user runs it, alone and with two ranks, on a few hundred images. Prints TAP.
#
# Reads HVDRUN, FASHION_MNIST and COMPARE_PARAMETERS, the programs, and optionally FASHION_MNIST_DATA,
# the directory of the four IDX files.
set -u

: "${HVDRUN:?}" "${FASHION_MNIST:?}" "${COMPARE_PARAMETERS:?}"
data=${FASHION_MNIST_DATA:-/usr/share/datasets/fashion-mnist}
if [ ! -e "$data/train-images-idx3-ubyte.gz" ]; then
    echo "1..0 # SKIP no images in $data (Debian: dataset-fashion-mnist)"
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

small="--limit 512 --test-limit 256"
one_step="--limit 128 --test-limit 256"

# alone OPTION... and two OPTION... leave $work/out, $work/err and the exit status. What is given
# twice counts as given last.
alone() {
    timeout 300 "$FASHION_MNIST" --data "$data" "$@" >"$work/out" 2>"$work/err"
}
two() {
    timeout 300 "$HVDRUN" -np 2 "$FASHION_MNIST" --data "$data" "$@" >"$work/out" 2>"$work/err"
}

# status_is WANTED COMMAND...
status_is() {
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$wanted" ] || { echo "status $got, expected $wanted"; return 1; }
}

last_line_has() {
    tail -n 1 "$work/out" | grep -Eq "$1" || { echo "last line: $(tail -n 1 "$work/out")"; return 1; }
}

# once FILE PATTERN: exactly one line of it matches; what hvdrun itself says does not count
once() {
    [ "$(grep -v '^hvdrun: ' "$work/$1" | grep -Ec "$2")" -eq 1 ] ||
        { echo "not once in $1: $2"; cat "$work/$1"; return 1; }
}

# same TOLERANCE: of $work/a and $work/b; the line is shown in any case
same() {
    "$COMPARE_PARAMETERS" --tolerance "$1" "$work/a" "$work/b" >"$work/difference"
    got=$?
    sed 's/^/# /' "$work/difference" >&3
    return "$got"
}

# The same samples in the same steps: by two ranks into $work/a, by one rank into $work/b.
both() {
    status_is 0 two "$@" --batch 64 --checkpoint "$work/a" &&
        status_is 0 alone "$@" --batch 128 --checkpoint "$work/b"
}

runs_alone() {
    status_is 0 alone $small && [ ! -s "$work/err" ] &&
        last_line_has '^result ranks=1 epochs=1 accuracy=0\.[0-9]{4} images_per_s=[0-9]+ identical=yes$'
}

two_ranks_agree() {
    status_is 0 two $small --epochs 2 &&
        last_line_has 'result ranks=2 epochs=2 accuracy=0\.[0-9]{4} images_per_s=[0-9]+ identical=yes$' &&
        once out 'result '
}

one_step_is_equal() {
    both $one_step --no-dropout --optimizer sgd --learning-rate 0.01 && same 5e-5
}

steps_are_equal() {
    both $small --no-dropout --learning-rate 0.0001 && same 2e-3
}

dropout_is_equal() {
    both $small --learning-rate 0.0001 && same 2e-3
}

other_samples_differ() {
    status_is 0 alone $small --no-dropout --learning-rate 0.0001 --batch 64 --checkpoint "$work/b" &&
        ! same 2e-3
}

repeats_exactly() {
    status_is 0 two $small --checkpoint "$work/a" && status_is 0 two $small --checkpoint "$work/b" &&
        same 0
}

plain_lines() {
    status_is 0 alone --limit 1600 --test-limit 16 --batch 16 &&
        [ "$(grep -c ' step ' "$work/out")" -eq 20 ] && ! grep -q "$(printf '\r')" "$work/out"
}

checkpoint_is_whole() {
    mkdir "$work/checkpoints" && status_is 0 two $small --checkpoint "$work/checkpoints/last" &&
        [ "$(ls "$work/checkpoints")" = last ] &&
        status_is 0 "$COMPARE_PARAMETERS" "$work/checkpoints/last" "$work/checkpoints/last" >/dev/null
}

checkpoint_nowhere() {
    status_is 1 two $small --checkpoint "$work/nowhere/last" &&
        once err 'fashion_mnist: .*/nowhere/last: cannot write the checkpoint: No such file'
}

missing_data() {
    for run in alone two; do
        status_is 1 $run --data "$work/nowhere" &&
            once err 'fashion_mnist: .*/nowhere/train-images-idx3-ubyte\.gz: No such file .*expected' ||
            return 1
    done
}

missing_on_one_rank() {
    cat >"$work/train" <<'SCRIPT'
#!/bin/sh
[ "${HOROVOD_RANK:-0}" = 1 ] && set -- --data /nowhere
exec "$PROGRAM" "$@"
SCRIPT
    chmod +x "$work/train"
    PROGRAM=$FASHION_MNIST timeout 300 "$HVDRUN" -np 2 "$work/train" --data "$data" \
        >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && once err 'fashion_mnist: /nowhere/train-images.*: No such file' &&
        once err 'fashion_mnist: '
}

truncated_data() {
    mkdir "$work/cut" && cp "$data"/*.gz "$work/cut" &&
        head -c 100000 "$data/train-images-idx3-ubyte.gz" >"$work/cut/train-images-idx3-ubyte.gz" &&
        status_is 1 two --data "$work/cut" &&
        once err 'fashion_mnist: .*/cut/train-images-idx3-ubyte\.gz: ends after .* 47040000 bytes'
}

bad_options() {
    status_is 2 alone --frob && once err "^fashion_mnist: unknown option '--frob'" &&
        status_is 2 two --epochs 0 && once err "fashion_mnist: --epochs wants an integer" &&
        status_is 2 two $small --batch 300 && once err 'fashion_mnist: 512 training images, expected'
}

too_few_images() {
    status_is 1 two --limit 60001 &&
        once err 'fashion_mnist: .*/train-images-idx3-ubyte\.gz: 60000 images, expected at least 60001'
}

help_is_printed_once() {
    status_is 0 two --help && once out 'usage: fashion_mnist' && once out ' --checkpoint FILE '
}

full_disk() {
    timeout 300 "$FASHION_MNIST" --data "$data" $small >/dev/full 2>"$work/err"
    [ $? -eq 1 ] && once err 'fashion_mnist: standard output cannot be written'
}

count=0
# test_that FUNCTION SENTENCE...: what a failed function printed is shown as a comment
test_that() {
    function=$1
    shift
    count=$((count + 1))
    if "$function" >"$work/log" 2>&1 3>"$work/notes"; then
        echo "ok $count - $*"
    else
        echo "not ok $count - $*"
        sed 's/^/# /' "$work/log" "$work/err"
    fi
    cat "$work/notes"
}

echo "1..17"
test_that runs_alone "it runs alone and ends with a result line"
test_that two_ranks_agree "two ranks end with identical parameters and one result line"
test_that one_step_is_equal "a step of two ranks x 64 is that of one rank x 128, to rounding"
test_that steps_are_equal "so are four steps of Adam"
test_that dropout_is_equal "so are four steps with dropout"
test_that other_samples_differ "other samples lead to other parameters"
test_that repeats_exactly "the same command gives the same parameters to the bit"
test_that plain_lines "progress in a file is twenty plain lines in an epoch"
test_that checkpoint_is_whole "a checkpoint is written, and nothing beside it"
test_that checkpoint_nowhere "a checkpoint that cannot be written is told once, status 1"
test_that missing_data "missing images are told once, status 1"
test_that missing_on_one_rank "images missing on one rank only stop all, told once"
test_that truncated_data "a truncated file is told once, status 1"
test_that bad_options "a bad option is told once, status 2"
test_that too_few_images "more images than there are is told once, status 1"
test_that help_is_printed_once "help is printed once, status 0"
test_that full_disk "output that cannot be written ends in status 1"
