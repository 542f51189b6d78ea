#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvd.torch.elastic under hvdrun: ranks are killed, raise, come and go; the training ends with the result of an undisturbed one,
# in which each sample counts once (tests/python/elastic_worker.py). The sampler also through random histories.
. "$srcdir/tests/tap.sh"

if [ -z "$PYDIR" ] || ! "$PYTHON" -c 'import numpy, torch' 2>/dev/null; then
    skip "elastic jobs in Python" "built without Python, or no numpy or torch"
    finish
    exit
fi
export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR" OMP_NUM_THREADS=1

run "$PYTHON" "$srcdir/tests/python/sampler_histories.py"
is "no history loses a sample, or repeats one but to fill the last step" "0 2000 histories" "$status $(cat "$tmp/out" "$tmp/err")"

run "$PYTHON" "$srcdir/tests/python/elastic_joins.py"
is "a rank that is lost while a world is joined is no failure of the others" "0 11 cases" \
    "$status $(cat "$tmp/out")"

# elastic SAMPLES EVENT... -- OPTION...: what rank 0 of the last world prints is in $tmp/said.
elastic() {
    rm -rf "$tmp/job"
    mkdir "$tmp/job"
    samples=$1 events=
    shift
    while [ "$1" != -- ]; do
        events="$events $1"
        shift
    done
    shift
    # shellcheck disable=SC2086  # words
    run "$HVDRUN" --grace 1 "$@" "$PYTHON" "$srcdir/tests/python/elastic_worker.py" "$tmp/job" $samples $events
    sed -n 's/^\[[0-9]*\]<stdout>:\(total=\)/\1/p' "$tmp/out" >"$tmp/said"
}

# Samples 0 to 23 add up to 276, 0 to 19 to 190. They divide by the ranks in each world, so that none comes twice.
elastic 24 -- -np 2 -H localhost:2
is "a job that is not elastic runs, too" "0 total=276 weight=-276 size=2 epoch=0" "$status $(cat "$tmp/said")"
elastic 24 -- -np 3 --min-np 1 -H localhost:3
is "an elastic job without a fault" "0 total=276 weight=-276 size=3 epoch=0" "$status $(cat "$tmp/said")"
elastic 20 1:2:kill -- -np 4 --min-np 2 -H localhost:4
is "a rank is killed" "0 total=190 size=3 epoch=1" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"
elastic 20 0:2:kill -- -np 4 --min-np 2 -H localhost:4
is "rank 0 is killed" "0 total=190 size=3 epoch=1" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"
elastic 24 1:2:kill 0:4:kill -- -np 3 --min-np 1 -H localhost:3
is "a rank is killed, and then rank 0" "0 total=276 size=1 epoch=2" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"
is "and the parameters are those of an undisturbed training" "weight=-276" "$(grep -o 'weight=[^ ]*' "$tmp/said")"
like "hvdrun names who was lost" 'lost rank 1 on localhost .*SIGKILL' "$tmp/err"
elastic 24 0:2:raise 1:2:raise -- -np 2 --min-np 2 -H localhost:2
is "all ranks raise HorovodInternalError: they go back to the commit and meet again" \
    "0 total=276 size=2 epoch=1" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"

# Hosts come and go: the script reads a file.
printf '%s\n' '#!/bin/sh' "cat '$tmp/hosts'" >"$tmp/hosts.sh"
chmod +x "$tmp/hosts.sh"
change_hosts() { # when rank 0 waits for it: earlier, the samples that are left might not divide by the ranks of the next world
    rm -f "$tmp/job/waits"
    (
        trap - EXIT
        while [ ! -e "$tmp/job/waits" ]; do sleep 0.05; done
        printf '%s\n' "$@" >"$tmp/hosts.new"
        mv "$tmp/hosts.new" "$tmp/hosts"
    ) &
}
shell='sh -c "shift; exec \"\$@\"" sh %h'
echo localhost:1 >"$tmp/hosts"
mkdir -p "$tmp/job"
change_hosts localhost:1 127.0.0.1:1
elastic 24 0:2:wait -- --remote-shell "$shell" -np 1 --min-np 1 --max-np 2 --host-discovery-script "$tmp/hosts.sh"
wait
is "a host comes, and its rank takes over the state" "0 total=276 size=2 epoch=1" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"
printf '%s\n' localhost:1 127.0.0.1:1 >"$tmp/hosts"
change_hosts 127.0.0.1:1
elastic 24 0:3:wait -- --remote-shell "$shell" -np 2 --min-np 1 --host-discovery-script "$tmp/hosts.sh"
wait
is "the host of rank 0 goes, and the rank on the other one continues" \
    "0 total=276 size=1 epoch=1" "$status $(sed 's/ weight=[^ ]*//' "$tmp/said")"
like "the rank that was removed says so" 'hvd\.elastic: worker 0 has no place in the next world$' "$tmp/err"

# Own mistakes are not repeated for ever.
run "$HVDRUN" -np 2 --min-np 1 -H localhost:2 "$PYTHON" -c '
import torch, hvd.torch as hvd
hvd.init()
@hvd.elastic.run
def train(state):
    hvd.allreduce(torch.ones(1 + hvd.rank()), name="shapes")
train(hvd.elastic.ObjectState())'
like "ranks that disagree get the error, which names them" 'HorovodInternalError: .*rank 1.*' "$tmp/err"
is "and end the job" 1 "$([ "$status" -ne 0 ] && echo 1)"
run "$PYTHON" -c '
import torch, hvd.torch as hvd
hvd.init()
model = torch.nn.Linear(2, 2)
state = hvd.elastic.TorchState(model, batch=[1])
state.batch.append(2)
with torch.no_grad():
    model.weight.zero_()
state.restore()
assert state.batch == [1] and model.weight.abs().sum() > 0
state.model = torch.nn.Linear(3, 3)
assert state.model.in_features == 3
try:
    state.model = 4
except TypeError as error:
    print(error)
try:
    state.nothing
except AttributeError as error:
    print(error)'
is "without hvdrun, and wrong attributes" "0 'model' was a Linear, not 4
TorchState has no 'nothing'" "$status $(cat "$tmp/out")"
finish
