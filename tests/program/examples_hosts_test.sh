#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples on several hosts: each ends well and says what it says on one.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 2 || skip_all "$hosts_reason"
LD_LIBRARY_PATH=$STAGE$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # for what is installed
export LD_LIBRARY_PATH
images=${FASHION_MNIST_DATA:-/usr/share/datasets/fashion-mnist}

# reason PROGRAM: why it cannot run here; nothing if it can.
reason() {
    case $1 in
    fashion_mnist | softmax_regression) [ -e "$images/train-images-idx3-ubyte.gz" ] || echo "no images in $images" ;;
    esac
    [ -x "$(program "$1")" ] || echo "not built"
}

program() {
    case $1 in
    hvd-bandwidth) echo "$HVD_BANDWIDTH" ;;
    *) echo "$builddir/examples/$1" ;;
    esac
}

# The program, the slots on each host, options, and what follows "ranks=N" in the result line.
while IFS='|' read -r name slots options pattern; do
    why=$(reason "$name")
    # shellcheck disable=SC2086  # words
    ranks=$(($(echo $slots | tr ' ' +)))
    sentence="$name${options:+ }$options, $ranks ranks on two hosts"
    if [ -n "$why" ]; then
        skip "$sentence" "$why"
        continue
    fi
    # shellcheck disable=SC2046,SC2086
    run on 0 "$HVDRUN" -np $ranks -H "$(slots $slots)" "$(program "$name")" --quiet $options
    is "$sentence" 0 "$status"
    is "says so: $pattern" 1 "$(grep -Ec "^\[0\]<stdout>:result ranks=$ranks $pattern\$" "$tmp/out")"
done <<.
api_tour|1 1||calls=[0-9]+ wrong=0
api_tour|2 2|--seed 7|calls=[0-9]+ wrong=0
hvd-bandwidth|1 1|-b 1 -e 1M -f 1000|operation=allreduce busbw=[0-9.e-]+ latency_us=[0-9.]+ wrong=0
hvd-bandwidth|2 1|--operation all -d all -o all -b 1 -e 64K -f 50 -n 1|operation=all busbw=.* wrong=0
softmax_regression|2 1|--steps 3 --batches 8 --test-limit 100|steps=3 loss=[0-9.]+ accuracy=[01]\.[0-9]+ identical=yes
fashion_mnist|1 1|--limit 256 --test-limit 128|epochs=1 accuracy=[01]\.[0-9]+ images_per_s=[0-9]+ .*identical=yes
function_approximation|1 1|--mode data-parallel --steps 50|mode=data-parallel .*identical=yes.*
function_approximation|2 1|--mode ensemble --steps 50|mode=ensemble .*
pinn|1 1|--mode data-parallel --steps 50|mode=data-parallel .*identical=yes.*
pinn|2 1|--mode ensemble --steps 50|mode=ensemble .*
synthetic_benchmark|2 1|--shrink 64 --compute sleep:1 --num-warmup-batches 1 --num-batches-per-iter 2 --num-iters 2|model=resnet50 .*identical=yes
.

# What hvd-bandwidth says of where it is
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 2)" "$HVD_BANDWIDTH" -e 8 -n 1
like "hvd-bandwidth counts hosts" '^\[0\]<stdout>:# hvd-bandwidth [0-9.]+: 3 ranks on 2 hosts$' "$tmp/out"
if links; then
    is "and names them, rank by rank" "host0 host1 host1" "$(sed -n 's/.*:#  Rank.* on *//p' "$tmp/out" | paste -sd' ')"
else
    skip "and names them, rank by rank" "$no_links"
fi
clean "nothing is left on any host"
finish
