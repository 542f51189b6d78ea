#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples in Python: on 2 and 3 ranks they end with the parameters of one rank that has the whole batch, with hvd.torch and,
# after a change of one line, with horovod.torch on libhvd; they train; what is wrong is told in one line.
#
#   FASHION_MNIST_DATA=DIRECTORY   of the images, if it is not Debian's
. "$srcdir/tests/tap.sh"

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -e "$STAGE$PYDIR/hvd/_hvd.abi3.so" ] || skip_all "configured without Python"
"$PYTHON" -c 'import torch.distributed' 2>/dev/null || skip_all "no PyTorch"
export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR" OMP_NUM_THREADS=1
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT
examples=$srcdir/examples/python
data=${FASHION_MNIST_DATA:-/usr/share/datasets/fashion-mnist}
has_images=no
[ ! -e "$data/train-images-idx3-ubyte.gz" ] || has_images=yes
[ $has_images = yes ] || skip "fashion_mnist.py and ddp.py" "no images in $data (Debian: dataset-fashion-mnist)"

# job NP OPTION...: runs the lines of $tmp/commands, but for those whose images are not there, and takes hvdrun's prefixes off. Three
# ranks are on two hosts, which are this one. MASTER_PORT is of this test alone: none that the kernel gives away before rank 0 listens.
job() {
    np=$1
    shift
    hosts=localhost:$np
    [ "$np" != 3 ] || hosts=localhost:1,127.0.0.2:2
    [ $has_images = yes ] || sed -i -E '/^(fashion_mnist|ddp)/d' "$tmp/commands"
    port=$((10000 + $$ % 450 * 20 + ${jobs_run:-0}))
    run env MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$HVDRUN" -np "$np" -H "$hosts" --torch-env "$@" \
        "$PYTHON" "$srcdir/tests/python/run_examples.py" "$examples" "$tmp/commands"
    sed -i 's/^\[[0-9]*\]<std[a-z]*>://; /^hvdrun: /d' "$tmp/out" "$tmp/err"
}

# ended STATUS: all ranks have ended all runs of the job so, and the job has ended well.
ended() {
    [ "$status" -eq 0 ] || complain "status $status" || return
    [ "$(grep -c "^status $1: " "$tmp/out")" -eq $((np * $(wc -l <"$tmp/commands"))) ] || complain "another status" || return
}

# ---- the same steps on 1 to 3 ranks ----

# One of 12 is the batch of a rank if there are 12 of them. OPTION... is for synthetic_benchmark.
steps_of() {
    cat <<END
function_approximation.py --quiet --steps 20 --points 48 --checkpoint $tmp/function.$1
pinn.py --quiet --steps 20 --points 48 --checkpoint $tmp/pinn.$1
pinn.py --quiet --steps 20 --points 48 --mode ensemble --checkpoint $tmp/member.$1
synthetic_benchmark.py --quiet --model small --image-size 32 --batch-size $((12 / $1)) --num-warmup-batches 1 \
--num-batches-per-iter 2 --num-iters 2 --learning-rate 0.1 --float64 --checkpoint $tmp/synthetic.$1
fashion_mnist.py --quiet --data $data --limit 36 --test-limit 24 --batch-size $((12 / $1)) --no-dropout --float64 \
--learning-rate 0.001 --warmup-epochs 0 --checkpoint $tmp/fashion.$1
ddp.py --quiet --data $data --limit 36 --test-limit 24 --batch-size $((12 / $1)) --no-dropout --float64 --checkpoint $tmp/ddp.$1
END
}
names='function pinn synthetic'
[ $has_images = no ] || names="$names fashion ddp"
for ranks in 1 2 3; do
    steps_of $ranks >"$tmp/commands"
    # With one rank also on a part of the samples, which must lead elsewhere.
    [ $ranks != 1 ] || steps_of 1 |
        sed "s/--points 48/--points 36/; s/--batch-size 12/--batch-size 9/; s/--limit 36/--limit 27/; s/\.1\$/.part/" |
        sed '/^ddp/d' >>"$tmp/commands"
    job $ranks
    ok "each example ends well on $ranks ranks" ended 0
    unlike "and all ranks have the same parameters" 'identical=no' "$tmp/out"
done

# rows TOLERANCE A B for compare_checkpoints; the sentence is what follows.
: >"$tmp/rows" && : >"$tmp/sentences"
compare() {
    echo "$2 $tmp/$3 $tmp/$4" >>"$tmp/rows"
    echo "$1 $5" >>"$tmp/sentences"
}
for name in $names; do
    for ranks in 2 3; do
        compare same 1e-9 "$name.1" "$name.$ranks" "$name: $ranks ranks make the steps of one with the whole batch, to 1e-9"
    done
    [ "$name" = ddp ] || compare other 1e-5 "$name.1" "$name.part" "$name: a part of the batch leads elsewhere"
done

for ranks in 2 3; do
    compare same 0 member.1 member.$ranks "pinn: the first of $ranks models of an ensemble is that of one rank, to the bit"
done

# ---- other ways to the same steps ----

two_of_synthetic="synthetic_benchmark.py --quiet --model small --image-size 32 --batch-size 6 --num-warmup-batches 1 \
--num-batches-per-iter 2 --num-iters 2 --learning-rate 0.1 --float64"
cat >"$tmp/commands" <<END
$two_of_synthetic --no-overlap --checkpoint $tmp/synthetic.late
$two_of_synthetic --groups 3 --checkpoint $tmp/synthetic.groups
$two_of_synthetic --fp16-allreduce --checkpoint $tmp/synthetic.fp16
$two_of_synthetic --use-adasum
fashion_mnist.py --quiet --data $data --limit 40 --test-limit 8 --batch-size 5 --epochs 2 --checkpoint $tmp/fashion.through
fashion_mnist.py --quiet --data $data --limit 40 --test-limit 8 --batch-size 5 --epochs 1 --checkpoint $tmp/fashion.resumed
fashion_mnist.py --quiet --data $data --limit 40 --test-limit 8 --batch-size 5 --epochs 2 --checkpoint $tmp/fashion.resumed --resume
$(steps_of 2 | sed -n 's/^\(ddp.*\)\/ddp\.2$/\1\/ddp.zero --zero/p')
END
job 2
ok "each option of the examples ends well" ended 0
compare same 1e-12 synthetic.2 synthetic.late "synthetic: reductions after the backward pass give the same"
compare same 1e-12 synthetic.2 synthetic.groups "synthetic: so do groups"
compare same 1e-2 synthetic.2 synthetic.fp16 "synthetic: float16 changes little"
compare other 1e-9 synthetic.2 synthetic.fp16 "synthetic: and something"
if [ $has_images = yes ]; then
    compare same 0 fashion.through fashion.resumed "fashion: a training that goes on ends with the same parameters to the bit"
    compare same 1e-9 ddp.2 ddp.zero "ddp: so does ZeroRedundancyOptimizer, to 1e-9"
    steps_of 2 | sed -n "s/^\(ddp.*\)\/ddp\.2\$/\1\/ddp.hook --backend gloo --hook/p" >"$tmp/commands"
    job 2
    ok "ddp: gloo with the hook ends well" ended 0
    compare same 1e-9 ddp.2 ddp.hook "ddp: and makes the same steps, to 1e-9"
fi

# ---- one line changed: import horovod.torch as hvd ----

mkdir "$tmp/horovod" && cp "$examples"/*.py "$tmp/horovod" && rm "$tmp/horovod/ddp.py"
is "each script has one line to change for Horovod" "5 import hvd.torch as hvd" \
    "$(grep -hE 'import hvd|from hvd' "$tmp/horovod"/*.py | grep -v '^from hvd.torch.distributed' | sort | uniq -c | sed 's/^ *//')"
sed -i 's/^import hvd.torch as hvd$/import horovod.torch as hvd/' "$tmp/horovod"/*.py
examples=$tmp/horovod
steps_of 2 | sed 's/\.2$/.horovod/; /^ddp/d' >"$tmp/commands"
job 2 --horovod libhvd
ok "the scripts run as scripts of Horovod on libhvd" ended 0
for name in $names; do
    [ "$name" = ddp ] || compare same 0 "$name.2" "$name.horovod" "$name: with the same parameters to the bit"
done
examples=$srcdir/examples/python

timeout 200 "$PYTHON" "$srcdir/tests/python/compare_checkpoints.py" <"$tmp/rows" >"$tmp/compared"
paste -d' ' "$tmp/sentences" "$tmp/compared" >"$tmp/both"
is "all checkpoints were compared" "$(wc -l <"$tmp/rows")" "$(wc -l <"$tmp/compared")"
while read -r wanted sentence; do
    number=$((${number:-0} + 1))
    got=$(sed -n "${number}p" "$tmp/compared")
    is "$sentence" "$wanted" "${got%% *}"
    echo "# $got" | sed "s|$tmp/||g"
done <"$tmp/sentences"

# ---- they train, and say so ----

# below LIMIT: the errors of all results that have one.
below() {
    awk -v limit="$1" '
        /^result / && /error=/ { runs++; sub(/.* error=/, ""); if ($1 + 0 >= limit) bad++ }
        END { exit !runs || bad }' "$tmp/out"
}
cat >"$tmp/commands" <<END
function_approximation.py --steps 1500
function_approximation.py --steps 1500 --mode ensemble
pinn.py --steps 500
pinn.py --steps 500 --mode ensemble
synthetic_benchmark.py --image-size 32 --batch-size 2 --num-warmup-batches 0 --num-batches-per-iter 1 --num-iters 2
synthetic_benchmark.py --image-size 32 --batch-size 2 --num-warmup-batches 0 --num-batches-per-iter 1 --num-iters 1 --sleep 5
fashion_mnist.py --data $data --limit 600 --test-limit 200 --batch-size 20 --learning-rate 0.002
END
job 2
ok "they train on two ranks" ended 0
ok "and the functions are found, to 10 %" below 0.1
is "an ensemble's ranks have models of their own" 2 "$(grep -cE '^result ranks=2 mode=ensemble error=[0-9.e-]+$' "$tmp/out")"
while read -r line; do
    like "the benchmark says: $line" "^$line\$" "$tmp/out"
done <<'END'
Model: resnet50
Batch size: 2
Number of (CPU|GPU)s: 2
Running warmup\.\.\.
Running benchmark\.\.\.
Iter #1: [0-9.]+ img/sec per (CPU|GPU)
Img/sec per (CPU|GPU): [0-9.]+ \+-[0-9.]+
Total img/sec on 2 (CPU|GPU)\(s\): [0-9.]+ \+-[0-9.]+
Gradients: 161 tensors, 102\.2 MB
Hidden by overlap: [0-9.]+ ms, [0-9]+ % of the communication
Compute: sleeps 5\.0 ms for each batch
result ranks=2 model=resnet50 images_per_s=[0-9.]+ efficiency=[0-9.]+ hidden=[01]\.[0-9]+ identical=yes
END
if [ $has_images = yes ]; then
    like "fashion_mnist recognises more than half of the images" \
        '^result ranks=2 epochs=1 accuracy=(0\.[5-9][0-9]*|1\.0000) images_per_s=[0-9]+ identical=yes$' "$tmp/out"
fi
# The initial values are left out, because they take seconds.
run env PYTHONPATH="$examples" "$PYTHON" -c '
import torch.nn.init
for name in ("uniform_", "kaiming_uniform_"):
    setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
from models import MODELS
for name in ("resnet50", "resnet101", "vgg16"):
    sizes = [each.numel() for each in MODELS[name]().parameters()]
    print(name, len(sizes), sum(sizes))'
is "its networks have the known number of parameters" "resnet50 161 25557032 resnet101 314 44549160 vgg16 32 138357544" \
    "$(paste -sd' ' "$tmp/out")"

# ---- what is wrong is told in one line ----

head -c 3000 "$data/train-images-idx3-ubyte.gz" >"$tmp/head" 2>/dev/null
mkdir "$tmp/cut" && cp "$tmp/head" "$tmp/cut/train-images-idx3-ubyte.gz"
cat >"$tmp/wrong" <<END
2|function_approximation.py --frob|unrecognized arguments: --frob
2|function_approximation.py --points 47|--points wants a multiple of the 2 ranks, not 47
2|function_approximation.py --mode alone|argument --mode: invalid choice: 'alone'
2|pinn.py --steps 0|argument --steps: expected an integer from 1 to 1e+09, not '0'
2|pinn.py --learning-rate nan|argument --learning-rate: expected a number from 0 to 1000, not 'nan'
2|pinn.py extra|unrecognized arguments: extra
2|synthetic_benchmark.py --model resnet18|argument --model: invalid choice: 'resnet18'
2|synthetic_benchmark.py --use-adasum --groups 2|--use-adasum and --groups exclude each other
2|synthetic_benchmark.py --image-size 16|argument --image-size: expected an integer from 32 to 1024, not '16'
2|synthetic_benchmark.py --sleep -1|argument --sleep: expected a number from 0 to 1e+06, not '-1'
2|fashion_mnist.py --resume|--resume wants --checkpoint FILE
2|ddp.py --hook|--hook wants --backend gloo
2|ddp.py --backend mpi|argument --backend: invalid choice: 'mpi'
1|fashion_mnist.py --data $tmp/nowhere|$tmp/nowhere/train-images-idx3-ubyte.gz: No such file or directory
1|ddp.py --data $tmp/nowhere|$tmp/nowhere/train-images-idx3-ubyte.gz: No such file or directory
1|fashion_mnist.py --data $tmp/cut|$tmp/cut/train-images-idx3-ubyte.gz: Compressed file ended before
1|fashion_mnist.py --data $data --limit 60001|train-images-idx3-ubyte.gz: 60000 items, expected at least 60001
1|fashion_mnist.py --data $data --limit 9 --test-limit 9 --resume --checkpoint $tmp/head|$tmp/head: the checkpoint cannot be read
1|pinn.py --quiet --steps 1 --checkpoint $tmp/nowhere/last|$tmp/nowhere/last: the checkpoint cannot be written
END
cut -d'|' -f2 "$tmp/wrong" >"$tmp/commands"
job 2
is "no mistake leaves a rank behind" 0 "$status"
is "nothing else is said" "$(wc -l <"$tmp/commands")" "$(wc -l <"$tmp/err")"
while IFS='|' read -r wanted command text; do
    [ $has_images = yes ] || case $command in fashion* | ddp*) continue ;; esac
    is "$command: status $wanted on both ranks" 2 "$(grep -cFx "status $wanted: $command" "$tmp/out")"
    grep -F "${command%% *}: " "$tmp/err" | grep -F -e "$text" >"$tmp/line"
    ok "and one line" [ -s "$tmp/line" ]
done <"$tmp/wrong"

# As a user starts them
run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" "$examples/ddp.py"
is "ddp.py without --torch-env ends in status 2" 2 "$status"
like "and says what to do" 'ddp.py: RANK is not set: start this script with hvdrun --torch-env$' "$tmp/err"
# shellcheck disable=SC2016 # for the inner shell
run "$HVDRUN" -np 2 -H localhost:2 sh -c '[ "$HOROVOD_RANK" = 0 ] || set -- "$@" --steps 4; exec "$@"' sh \
    "$PYTHON" "$examples/pinn.py" --steps 3
is "ranks with other options end in status 2" 2 "$status"
like "and rank 0 names the option" 'pinn.py: --steps is not the same on all ranks$' "$tmp/err"
run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" "$examples/synthetic_benchmark.py" --help
is "help ends well" 0 "$status"
is "and is printed once" 1 "$(grep -c 'usage: synthetic_benchmark.py ' "$tmp/out")"
run "$PYTHON" "$examples/pinn.py" --steps 5 --quiet
like "without hvdrun it is a world of one rank" '^result ranks=1 mode=data-parallel error=[0-9.e+-]+ identical=yes$' "$tmp/out"

# ---- an elastic job ----

# elastic OPTION...: fashion_elastic.py on few images.
elastic() {
    start "$HVDRUN" --grace 1 "$@" "$PYTHON" "$examples/fashion_elastic.py" --data "$data" --limit 400 --test-limit 100 \
        --batch-size 20 --commit-every 2 --epochs $epochs
}

# reaches PATTERN: false if the job ends without having said it.
reaches() {
    until_true said_or_ended "$1" && grep -Eq -e "$1" "$tmp/out"
}

said_or_ended() {
    grep -Eq -e "$1" "$tmp/out" || job_has_ended
}

lose_rank_0() {
    elastic -np 2 --min-np 1 -H localhost:2
    reaches 'epoch 1/' || return
    for _p in $(survivors | cut -d/ -f3); do
        ! tr '\0' '\n' <"/proc/$_p/environ" | grep -qx HVD_WORKER=0 || kill -KILL "$_p"
    done
    reaches "epoch [0-9]*/$epochs, 1 ranks"
}

if [ $has_images = yes ]; then
    epochs=4
    until lose_rank_0 || [ $epochs -ge 64 ]; do # the job was over before rank 0 was lost
        finish_job
        epochs=$((epochs * 2))
    done
    finish_job
    is "fashion_elastic goes on when rank 0 is lost" 0 "$status"
    like "to the end" "result ranks=1 epochs=$epochs accuracy=[01]\\.[0-9]* worlds=2 identical=yes" "$tmp/out"
    run "$HVDRUN" -np 2 --min-np 2 -H localhost:2 "$PYTHON" "$examples/fashion_elastic.py" --epochs 0
    is "a bad option of an elastic script is status 2" 2 "$status"
    is "and is told once" "fashion_elastic.py: argument --epochs: expected an integer from 1 to 1e+09, not '0'" \
        "$(sed -n 's/^\[0\]<stderr>:\(fashion_elastic\)/\1/p' "$tmp/err")"
fi
ok "nothing is left of all these" no_survivors
finish
