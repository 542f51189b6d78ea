#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Connections that break at a byte: a sample of what "make wire-faults" tries at every byte. Each trial is a small job of real
# programs, and nothing but a right result or an error in time that names somebody is good; tests/proxy/trial.c judges.
. "$srcdir/tests/tap.sh"
trials=$builddir/tests/proxy/wire_faults
PROXY=$builddir/tests/proxy/proxy WIRE_WORKER=$builddir/tests/proxy/wire_worker
export PROXY WIRE_WORKER

# tries SENTENCE OPTION...
tries() {
    sentence=$1
    shift
    run "$trials" --jobs 8 "$@"
    grep -a -e '^bad' -e '^connection' -A 9 "$tmp/out" | cut -c 1-300 | sed 's/^/# /'
    is "$sentence" 0 "$status"
}

seed=${WIRE_SEED:-1}
share=1
[ "$SANITIZERS" = no ] || share=3 # with them the third part
tries "F76: everything comes byte by byte" --plain --single
tries "F73: everything comes 50 to 200 ms late, each time by another time" --plain --delay 50 --jitter 150
tries "between hvdrun and an agent: a fault at a byte" --kind agent --sample $((25 / share)) --no-stall --seed "$seed"
tries "between a rank and the rendezvous" --kind rendezvous --sample $((25 / share)) --no-stall --seed "$seed"
tries "F77 F78: between ranks, in what they agree on" --kind tree --sample $((60 / share)) --no-stall --seed "$seed"
tries "F77 F78: between ranks, in the data" --kind data --sample $((40 / share)) --no-stall --seed "$seed"
tries "F77 F78: between ranks, in data that is encrypted, which is never wrong" --kind data --encrypt --sample $((25 / share)) --no-stall --seed "$seed"
tries "nothing comes any more in the middle of what ranks agree on" --kind tree --fault stall --from 200 --to 600 --sample 4
tries "nothing comes any more from an agent" --kind agent --way back --fault stall --from 300 --to 600 --sample 4
finish
