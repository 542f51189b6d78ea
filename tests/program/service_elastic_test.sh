#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrendezvousd with an elastic job: workers come and go by themselves, and the others go on in a world of those that are there.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/service.sh"

# elastic NAME [VARIABLE=VALUE...]
elastic() {
    _elastic=$1
    shift
    worker "$_elastic" HOROVOD_ELASTIC=1 "$@" -- elastic "$tmp/over"
}

# goes_on SENTENCE NAME PATTERN: the worker says that it is in that world.
goes_on() {
    ok "$1" until_said "^$3\$" "$tmp/$2"
}

dies() {
    eval "kill -KILL \$pid_$1"
    ended "$1"
}

# waits_too NAME: the worker has come, and is in no world.
waits_too() {
    eval "_process=\$pid_$1"
    ask /v1/jobs/train | grep -q "\"pending_workers\":.*\"pid\":$_process,"
}

declare_job() { # ID BODY
    ask "/v1/jobs/$1" -X PUT -d "$2" >"$tmp/out"
}

service_up
elastic early
ended early
is "an elastic job that nobody has declared is refused" 1 "$status"
like "which says so" "there is no elastic job 'train' here" "$tmp/early"

declare_job train '{"min": 3, "max": 2}'
like "a minimum above the maximum is refused" 'field .*min.* is 3 but field .*max.* is 2' "$tmp/out"
declare_job train '{"min": 2, "max": 3}'
like "a minimum and a maximum make an elastic job" '"elastic":true,"epoch":null,"min":2,"max":3' "$tmp/out"
declare_job train '{"size": 2}'
like "which is not made another one" 'job train is elastic, with 2 to 3 ranks' "$tmp/out"
declare_job train '{"min": 2, "max": 3}'
like "and may be declared again" '"elastic":true' "$tmp/out"

worker static HOROVOD_RANK=0 -- init
ended static
is "a worker that is not elastic is refused" 1 "$status"
like "which says so, too" 'HOROVOD_ELASTIC is not set, but job train is elastic' "$tmp/static"

elastic a
elastic b
goes_on "the minimum is a world" a 'epoch 0: rank [01] of 2'
goes_on "of both" b 'epoch 0: rank [01] of 2'
elastic c
goes_on "a third is taken in" c 'epoch 1: rank 2 of 3'
goes_on "by the first" a 'epoch 1: rank [01] of 3'
ask /v1/jobs/train >"$tmp/out"
like "and the service tells the epoch" '"epoch":1' "$tmp/out"
like "and the number of each worker" '"rank":2,"worker":2' "$tmp/out"
ask /metrics >"$tmp/out"
is "and the metrics have the epoch and the size" 'hvd_epoch{job="train"} 1 hvd_world_size{job="train"} 3' \
    "$(grep -E '^hvd_(epoch|world_size){' "$tmp/out" | tr '\n' ' ' | sed 's/ $//')"

elastic d
until_true waits_too d # else the others may be the next world without it
dies b
goes_on "a spare takes the place of one that dies" d 'epoch 2: rank 2 of 3'
goes_on "in a world with the others" c 'epoch 2: rank 1 of 3'
dies a
goes_on "the oldest that is left is rank 0 when the oldest dies" c 'epoch 3: rank 0 of 2'
dies d
elastic e
goes_on "too few wait until there are enough" c 'epoch 4: rank 0 of 2'
touch "$tmp/over"
ended c
is "the end is the end of all" 0 "$status"
ended e
is "of the last that came, too" 0 "$status"
unlike "nobody was told of a failure of the service" 'failed' "$tmp/service"

ask /v1/jobs/train -X DELETE >"$tmp/out"
like "an elastic job can be ended" '"ended":"train"' "$tmp/out"
elastic late
ended late
is "and takes no worker then" 1 "$status"
like "which is told why" "there is no elastic job|the job was ended" "$tmp/late"
service_down
is "the service ends well" 0 "$status"
finish
