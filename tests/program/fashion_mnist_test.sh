#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # $small and the like are lists of words
#
# The training program as a user runs it, alone and with two ranks, on a few hundred images. Prints TAP.
#
# Reads HVDRUN, FASHION_MNIST and COMPARE_PARAMETERS, the programs, and optionally FASHION_MNIST_DATA,
# the directory of the four IDX files.
set -u

: "${HVDRUN:?}" "${FASHION_MNIST:?}" "${COMPARE_PARAMETERS:?}"
# shellcheck source=tests/support/fashion_data.sh
. "$srcdir/tests/support/fashion_data.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

data=$work/data
few_images "$data"

small="--limit 512 --test-limit 256"
[ "$SANITIZERS" = no ] || small="--limit 256 --test-limit 64"
one_step="--limit 128 --test-limit 256"
tiny="--limit 32 --test-limit 16"

# alone OPTION..., two OPTION... and three OPTION... leave $work/out, $work/err and the exit status. What is given
# twice counts as given last.
alone() {
    timeout 300 "$FASHION_MNIST" --data "$data" "$@" >"$work/out" 2>"$work/err"
}
two() {
    timeout 300 "$HVDRUN" -np 2 "$FASHION_MNIST" --data "$data" "$@" >"$work/out" 2>"$work/err"
}
three() {
    timeout 300 "$HVDRUN" -np 3 "$FASHION_MNIST" --data "$data" "$@" >"$work/out" 2>"$work/err"
}

# status_is WANTED COMMAND...
status_is() {
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" -eq "$wanted" ] || { echo "status $got, expected $wanted"; return 1; }
}

# complains STATUS PATTERN COMMAND...: one line of it, and that status
complains() {
    pattern=$2
    status_is "$1" shift_two "$@" && once err "fashion_mnist: $pattern" && once err 'fashion_mnist: '
}
shift_two() {
    shift 2
    "$@"
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

# The same samples in the same steps, and the same learning rate: by two ranks into $work/a, by one rank into $work/b.
both() {
    status_is 0 two "$@" --warmup-epochs 0 --batch 64 --checkpoint "$work/a" &&
        status_is 0 alone "$@" --warmup-epochs 0 --batch 128 --checkpoint "$work/b"
}

runs_alone() {
    status_is 0 alone --data "$whole" $small && [ ! -s "$work/err" ] &&
        last_line_has '^result ranks=1 epochs=1 accuracy=0\.[0-9]{4} images_per_s=[0-9]+ identical=yes$'
}

threads_are_those_of_the_user() {
    (export OMP_NUM_THREADS=1; status_is 0 alone $tiny) && once out ', 1 thread for each rank$'
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
    status_is 0 alone --limit 640 --test-limit 16 --batch 16 &&
        [ "$(grep -c ' step ' "$work/out")" -eq 20 ] && ! grep -q "$(printf '\r')" "$work/out"
}

checkpoint_is_whole() {
    mkdir "$work/checkpoints" && status_is 0 two $tiny --checkpoint "$work/checkpoints/last" &&
        [ "$(ls "$work/checkpoints")" = last ] &&
        status_is 0 "$COMPARE_PARAMETERS" "$work/checkpoints/last" "$work/checkpoints/last" >/dev/null
}

checkpoint_nowhere() {
    complains 1 '.*/nowhere/last: cannot write the checkpoint: No such file' \
        two $tiny --checkpoint "$work/nowhere/last"
}

# Shares of 53 images, the last batch of which is shorter. Three steps are not an epoch.
in_two_epochs="--limit 105 --batch 16 --test-limit 16 --epochs 2"

resumes_exactly() {
    status_is 0 two $in_two_epochs --checkpoint "$work/a" &&
        status_is 0 two $in_two_epochs --checkpoint "$work/b" --steps 3 &&
        cp "$work/b" "$work/early" && ! same 0 &&
        status_is 0 two $in_two_epochs --checkpoint "$work/b" --resume &&
        last_line_has 'ranks=2 epochs=2 .* identical=yes' && once out 'going on from .*/b: epoch 1, after 96 images' &&
        same 0
}

resumes_with_other_ranks() {
    cp "$work/early" "$work/b" && status_is 0 three $in_two_epochs --checkpoint "$work/b" --resume &&
        last_line_has 'ranks=3 epochs=2 .* identical=yes' &&
        status_is 0 alone $in_two_epochs --checkpoint "$work/b" --resume &&
        last_line_has 'ranks=1 epochs=2 .* images_per_s=0 identical=yes'
}

resumes_no_other_model() {
    complains 1 ".*/early: tensor 'adam\.mean\.conv1\.bias' is float32 \[32\], expected no such tensor" \
        two $tiny --checkpoint "$work/early" --resume --optimizer sgd
}

resumes_nothing_damaged() {
    head -c 100000 "$work/early" >"$work/short" &&
        complains 1 '.*/short: is cut off: 100000 bytes, expected 143[0-9]+$' \
            two $tiny --checkpoint "$work/short" --resume &&
        complains 1 '.*/missing: cannot be read: No such file or directory$' \
            two $tiny --checkpoint "$work/missing" --resume &&
        complains 1 '.*/early: .* 96 of 90 samples processed' alone --limit 90 --checkpoint "$work/early" --resume
}

every_image_counts() {
    status_is 0 three --limit 2 --test-limit 3 --epochs 3 &&
        last_line_has 'ranks=3 epochs=3 accuracy=[01]\.[0-9]{4} .* identical=yes'
}

four_on_two_hosts() {
    status_is 0 timeout 300 "$HVDRUN" -np 4 -H localhost:1,127.0.0.2:3 "$FASHION_MNIST" --data "$data" $tiny \
        >"$work/out" 2>"$work/err" && last_line_has 'ranks=4 epochs=1 .* identical=yes'
}

draws_a_plot() {
    status_is 0 two $tiny --epochs 2 --plot "$work/plot.svg" && grep -q '<svg' "$work/plot.svg" &&
        grep -q 'accuracy of tests' "$work/plot.svg" &&
        complains 1 '.*/nowhere/plot\.svg: ' two $tiny --plot "$work/nowhere/plot.svg"
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
    mkdir "$work/cut" && cp "$whole"/*.gz "$work/cut" &&
        head -c 100000 "$whole/train-images-idx3-ubyte.gz" >"$work/cut/train-images-idx3-ubyte.gz" &&
        status_is 1 two --data "$work/cut" &&
        once err 'fashion_mnist: .*/cut/train-images-idx3-ubyte\.gz: ends after .* 47040000 bytes'
}

bad_options() {
    complains 2 "unknown option '--frob'" alone --frob &&
        complains 2 "--epochs wants an integer" two --epochs 0 &&
        complains 2 "--resume wants --checkpoint FILE" two --resume
}

too_few_images() {
    status_is 1 two --data "$whole" --limit 60001 &&
        once err 'fashion_mnist: .*/train-images-idx3-ubyte\.gz: 60000 images, expected at least 60001'
}

help_is_printed_once() {
    status_is 0 two --help && once out 'usage: fashion_mnist' && once out ' --checkpoint FILE '
}

full_disk() {
    timeout 300 "$FASHION_MNIST" --data "$data" $tiny >/dev/full 2>"$work/err"
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

echo "1..25"
test_that runs_alone "it runs alone and ends with a result line"
test_that threads_are_those_of_the_user "OMP_NUM_THREADS is the number of threads"
test_that two_ranks_agree "two ranks end with identical parameters and one result line"
test_that one_step_is_equal "a step of two ranks x 64 is that of one rank x 128, to rounding"
test_that steps_are_equal "so are the steps of Adam"
test_that dropout_is_equal "so are those with dropout"
test_that other_samples_differ "other samples lead to other parameters"
test_that repeats_exactly "the same command gives the same parameters to the bit"
test_that every_image_counts "there may be fewer images than ranks"
test_that four_on_two_hosts "four ranks on two hosts agree"
test_that plain_lines "progress in a file is twenty plain lines in an epoch"
test_that draws_a_plot "loss and accuracy are drawn"
test_that checkpoint_is_whole "a checkpoint is written, and nothing beside it"
test_that checkpoint_nowhere "a checkpoint that cannot be written is told once, status 1"
test_that resumes_exactly "a run that goes on ends with the parameters of one that was not interrupted, to the bit"
test_that resumes_with_other_ranks "it may go on with another number of ranks"
test_that resumes_no_other_model "a checkpoint of another model is told once, status 1"
test_that resumes_nothing_damaged "so is one that is cut off, missing, or of other images"
test_that missing_data "missing images are told once, status 1"
test_that missing_on_one_rank "images missing on one rank only stop all, told once"
test_that truncated_data "a truncated file is told once, status 1"
test_that bad_options "a bad option is told once, status 2"
test_that too_few_images "more images than there are is told once, status 1"
test_that help_is_printed_once "help is printed once, status 0"
test_that full_disk "output that cannot be written ends in status 1"
