#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # $few is a list of words
#
# examples/fashion_mnist in elastic jobs: ranks are killed while it trains, rank 0 too, a rank is added, all are stopped. A
# job that was over before all of that had happened is run again with twice the epochs.
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/support/fashion_data.sh
. "$srcdir/tests/support/fashion_data.sh"
[ "${SANITIZERS:-no}" = no ] || { echo "1..0 # SKIP a training takes too long with sanitizers" && exit 0; }
few_images "$tmp/data"
few="--data $tmp/data --batch 16 --learning-rate 0.002"
epochs=4

# train OPTION... : starts hvdrun with them in the background.
train() {
    start "$HVDRUN" --grace 1 "$@" "$FASHION_MNIST" $few --epochs $epochs ${checkpoint:+--checkpoint "$checkpoint"}
}

# reaches PATTERN: false if the job ends without having said it.
reaches() {
    until_true said_or_ended "$1" && grep -Eq -e "$1" "$tmp/out"
}

said_or_ended() {
    grep -Eq -e "$1" "$tmp/out" || job_has_ended
}

# kill_worker NUMBER
kill_worker() {
    for _p in $(survivors | cut -d/ -f3); do
        [ "$(cat "/proc/$_p/comm" 2>/dev/null)" = fashion_mnist ] || continue
        ! tr '\0' '\n' <"/proc/$_p/environ" | grep -qx "HVD_WORKER=$1" || kill -KILL "$_p"
    done
}

kill_two() {
    train -np 4 --min-np 2 -H localhost:4
    reaches 'test accuracy' && kill_worker 2 && reaches 'with world 1: ' && kill_worker 0 && reaches 'with world 2: '
}

add_one() {
    echo localhost:1 >"$tmp/hosts"
    train -np 1 --min-np 1 --max-np 2 --host-discovery-script "cat '$tmp/hosts'"
    reaches 'test accuracy' && echo localhost:2 >"$tmp/hosts.new" &&
        mv "$tmp/hosts.new" "$tmp/hosts" && reaches 'with world 1: '
}

# disturbed FUNCTION: trains with as many epochs as it takes for all of it to happen.
disturbed() {
    epochs=4
    until "$1" || [ $epochs -ge 32 ]; do
        finish_job
        [ "$status" = 0 ] || return
        epochs=$((epochs * 2))
    done
    finish_job
}

# The share of test images in 1/10000, of the result.
accuracy() {
    sed -n 's/.*result .* accuracy=\([01]\)\.\([0-9]*\) .*/\1\2/p' "$tmp/out" | sed 's/^0*//'
}

disturbed kill_two
is "two of four ranks are killed, rank 0 too, and the training ends well" 0 "$status"
like "with both of them lost" '^hvdrun: 2 of 4 workers were lost, in 3 worlds' "$tmp/err"
like "after all epochs, and the same parameters on the ranks that are left" \
    "result ranks=2 epochs=$epochs accuracy=.* identical=yes" "$tmp/out"
is "which is said once" 1 "$(grep -c 'result ' "$tmp/out")"
reached=$(accuracy)
train -np 4 --min-np 2 -H localhost:4
finish_job
is "without a loss" 0 "$status"
undisturbed=$(accuracy)
echo "# $epochs epochs: $reached of 10000 with losses, $undisturbed without"
ok "it recognises no more than a tenth of the images more" [ "${reached:-0}" -gt $((${undisturbed:-10000} - 1000)) ]

disturbed add_one
is "a rank is added, and the training ends well" 0 "$status"
like "on both, with the same parameters" "result ranks=2 epochs=$epochs accuracy=.* identical=yes" "$tmp/out"

epochs=2 checkpoint=$tmp/last
train -np 2 --min-np 1 -H localhost:2
reaches 'epoch 1/.* test accuracy'
until_true test -s "$checkpoint"
stop_with TERM
train -np 2 --min-np 1 -H localhost:2
finish_job
is "all ranks are stopped, and the same command ends the training" 0 "$status"
like "from where the checkpoint is" '^\[0\]<stdout>:going on with world 0: epoch [123], after ' "$tmp/out"
like "and no further" 'result ranks=2 epochs=2 ' "$tmp/out"
checkpoint=

run "$HVDRUN" -np 2 --min-np 1 -H localhost:2 "$FASHION_MNIST" --data "$tmp/nowhere"
is "missing images end an elastic job" 1 "$status"
like "and are named" 'fashion_mnist: .*/nowhere/train-images-idx3-ubyte\.gz: No such file' "$tmp/err"
run "$HVDRUN" -np 2 --min-np 1 -H localhost:2 "$FASHION_MNIST" --epochs 0
is "so does a bad option" 2 "$status"
run "$HVDRUN" -np 2 --min-np 2 -H localhost:2 "$FASHION_MNIST" --help
is "help ends well" 0 "$status"
is "and is printed once" 1 "$(grep -c 'usage: fashion_mnist' "$tmp/out")"
finish
