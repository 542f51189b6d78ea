#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # options are lists of words
#
# Softmax regression on the simulated accelerator as a user runs it, alone and on several ranks. The first run reads all
# images, the others 512 of them.
#
# Reads HVDRUN, SOFTMAX_REGRESSION and COMPARE_PARAMETERS, the programs, and optionally FASHION_MNIST_DATA, the directory
# of the four IDX files.
. "$srcdir/tests/tap.sh"

full=${FASHION_MNIST_DATA:-/usr/share/datasets/fashion-mnist}
if [ ! -e "$full/train-images-idx3-ubyte.gz" ]; then
    echo "1..0 # SKIP no images in $full (Debian: dataset-fashion-mnist)"
    exit 0
fi

# The first 512 images of a set.
few() {
    { printf '\0\0\010\003\0\0\002\0\0\0\0\034\0\0\0\034' && gzip -dc "$full/$1-images-idx3-ubyte.gz" |
        tail -c +17 | head -c $((512 * 784)); } | gzip -1 >"$data/$1-images-idx3-ubyte.gz"
    { printf '\0\0\010\001\0\0\002\0' && gzip -dc "$full/$1-labels-idx1-ubyte.gz" |
        tail -c +9 | head -c 512; } | gzip -1 >"$data/$1-labels-idx1-ubyte.gz"
}
data=$tmp/data
mkdir "$data" && few train && few t10k || exit 99

# train RANKS OPTION...: 0 is without hvdrun; later options count. hvdrun's prefix is taken off what the program said, and
# what hvdrun itself says is left out.
train() {
    ranks=$1
    shift
    set -- "$SOFTMAX_REGRESSION" --data "$data" --test-limit 100 "$@"
    [ "$ranks" = 0 ] || set -- "$HVDRUN" -np "$ranks" ${hosts:+-H $hosts} "$@"
    run "$@"
    sed -i 's/^\[[0-9]*\]<std[a-z]*>://; /^hvdrun: /d' "$tmp/out" "$tmp/err"
}

# said RANKS STEPS: the last run ended well, with one result line.
said() {
    [ "$status" -eq 0 ] && [ ! -s "$tmp/err" ] && [ "$(grep -c '^result ' "$tmp/out")" -eq 1 ] &&
        tail -n 1 "$tmp/out" | grep -Eqx "result ranks=$1 steps=$2 loss=[0-9]+\.[0-9]{4} accuracy=[01]\.[0-9]{4} identical=yes"
}

# failed STATUS PATTERN: the last run ended so, and one line on stderr says why.
failed() {
    [ "$status" -eq "$1" ] && ! grep -q '^result ' "$tmp/out" &&
        [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -Eq "^softmax_regression: $2" "$tmp/err"
}

# same A B: to rounding; shows how far they are apart.
same() {
    "$COMPARE_PARAMETERS" --tolerance 1e-5 "$tmp/$1" "$tmp/$2" | sed 's/^/# /' >"$tmp/difference"
    cat "$tmp/difference"
    grep -q 'same=yes' "$tmp/difference"
}

run "$SOFTMAX_REGRESSION" --data "$full"
ok "it runs alone, with all its defaults" said 1 10
is "and tells the loss of ten steps" 10 "$(grep -Ec '^ +[0-9]+ +[0-9]+\.[0-9]{4}$' "$tmp/out")"
first=$(awk '$1 == 1 { print $2 }' "$tmp/out") last=$(awk '$1 == 10 { print $2 }' "$tmp/out")
ok "which gets smaller" [ "${last%.*}" -lt "${first%.*}" ]

for ranks in 2 3; do
    train $ranks --steps 4 --quiet
    ok "$ranks ranks end with the same parameters" said $ranks 4
done
is "--quiet leaves nothing but the result" 1 "$(wc -l <"$tmp/out")"
hosts=localhost:1,127.0.0.2:3
train 4 --steps 4
ok "so do 4 ranks on two hosts" said 4 4
hosts=

train 3 --checkpoint "$tmp/once" --bandwidth 100M
cp "$tmp/out" "$tmp/before"
train 3 --checkpoint "$tmp/twice"
ok "the same command gives the same losses, whatever the bandwidth" cmp -s "$tmp/before" "$tmp/out"
ok "and the same parameters to the bit" cmp -s "$tmp/once" "$tmp/twice"

# 30 steps of 24 images: more than the 512 that there are.
train 0 --steps 30 --batches 24 --checkpoint "$tmp/one"
ok "without hvdrun it is one rank" said 1 30
train 2 --steps 30 --batches 12 --checkpoint "$tmp/two"
train 3 --steps 30 --batches 8 --checkpoint "$tmp/three"
train 0 --steps 30 --batches 12 --checkpoint "$tmp/half"
ok "two ranks with 12 batches do what one does with 24, to rounding" same one two
ok "so do three with 8" same one three
ok "other batches lead elsewhere" not same one half

train 2 --steps 3 --quiet --plot "$tmp/plot.svg"
ok "the plot is an SVG file" grep -q '</svg>' "$tmp/plot.svg"
train 2 --help
is "help is printed once" 1 "$(grep -c '^usage: softmax_regression' "$tmp/out")"
is "and ends well" 0 "$status"

for ranks in 0 2; do
    train $ranks --data "$tmp/nowhere"
    ok "missing images are told once, status 1 ($ranks)" failed 1 ".*/nowhere/train-images.*: No such file"
    while read -r options; do
        train $ranks $options
        ok "'$options' is told once, status 2 ($ranks)" failed 2 ".*${options%% *}"
    done <<'OPTIONS'
--steps 0
--batches 0
--learning-rate nought
--bandwidth fast
--frob
extra
OPTIONS
done
train 2 --batches 300
ok "more batches than there are images are told once, status 2" failed 2 "512 training images, expected at least 600"
train 2 --plot "$tmp/nowhere/plot.svg"
ok "a plot that cannot be written is told once, status 1" failed 1 '.*/nowhere/plot\.svg'
train 2 --checkpoint "$tmp/nowhere/last"
ok "so is a checkpoint" failed 1 '.*/nowhere/last'
run "$HVDRUN" -np 2 sh -c '[ $HOROVOD_RANK = 0 ] || set -- "$@" --data /nowhere; exec "$@"' sh "$SOFTMAX_REGRESSION" --data "$data" --test-limit 100
is "images missing on one rank only stop all, status 1" 1 "$status"
is "and that is told once" 1 "$(grep -c '^\[1\]<stderr>:softmax_regression: /nowhere/train-images' "$tmp/err")"
finish
