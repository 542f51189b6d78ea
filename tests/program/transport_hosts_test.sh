#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ways between ranks of several hosts: each host as it is told; and what looks like one host from its name, and is not.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 2 || skip_all "$hosts_reason"
export HOROVOD_LOG_HIDE_TIME=1

# on_hosts SHELL-TEXT: four ranks, two on each host; the text sets variables by $HOROVOD_RANK.
on_hosts() {
    run on 0 env HOROVOD_LOG_LEVEL=info "$HVDRUN" -np 4 -H "$(slots 2 2)" \
        sh -c "$1; exec \"\$@\"" sh "$WORLD" init collectives shutdown
}

on_hosts 'export HVD_TRANSPORT=shm'
is "two ranks on each of two hosts share memory, and use TCP in between" 0 "$status"
unlike "which needs no word" 'no shared memory' "$tmp/err"
on_hosts '[ $HOROVOD_RANK -lt 2 ] && HVD_TRANSPORT=tcp || HVD_TRANSPORT=shm; export HVD_TRANSPORT'
is "one host over TCP, the other over shared memory" 0 "$status"
on_hosts '[ $HOROVOD_RANK -lt 2 ] && HVD_TRANSPORT=unix || HVD_TRANSPORT=auto; export HVD_TRANSPORT'
is "one over unix sockets" 0 "$status"
unlike "each as it wants it" 'no shared memory' "$tmp/err"
run on 0 env HVD_TRANSPORT=tcp "$HVDRUN" -np 1 -H "$(slots 0 1)" sh -c 'echo $HVD_TRANSPORT'
is "hvdrun's own variable goes to other hosts" '[0]<stdout>:tcp' "$(cat "$tmp/out")"

links || { finish; exit; }

# ---- two network namespaces with one host name ----

# rank R HOST VARIABLE=VALUE...
rank() {
    _r=$1 _h=$2
    shift 2
    on "$_h" timeout -k 1 120 env HOROVOD_RANK="$_r" HOROVOD_SIZE=2 HOROVOD_HOSTNAME=box \
        HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1 HOROVOD_CROSS_RANK="$_r" HOROVOD_CROSS_SIZE=2 \
        HOROVOD_GLOO_RENDEZVOUS_ADDR=198.51.100.10 HOROVOD_GLOO_RENDEZVOUS_PORT="$port" HVD_JOB_KEY="$key" \
        HOROVOD_LOG_LEVEL=info "$@" "$WORLD" init barriers 10 >"$tmp/rank$_r" 2>&1 </dev/null 9>&- &
    eval "pid$_r=$!"
}

# meet [VARIABLE=VALUE...]: two ranks that believe to be on one host.
meet() {
    rm -f "$tmp/hold" "$tmp/where"
    mkfifo "$tmp/hold"
    on 0 "$MEET" 2 <"$tmp/hold" >"$tmp/where" &
    exec 9>"$tmp/hold"
    until_true [ -s "$tmp/where" ]
    read -r port key <"$tmp/where"
    rank 0 0 "$@"
    rank 1 1 "$@"
    statuses=
    for _p in $pid0 $pid1; do
        _s=0
        wait "$_p" || _s=$?
        statuses="$statuses${statuses:+ }$_s"
    done
    exec 9>&-
    cat "$tmp/rank0" "$tmp/rank1" >"$tmp/err"
    : >"$tmp/out"
}

meet
is "ranks of one name that share no network namespace link up" "0 0" "$statuses"
like "over TCP, and say why" \
    'rank 0 on box: no shared memory with rank 1: no such socket here \(another network namespace\?\); using tcp' "$tmp/err"
is "each once" 2 "$(grep -c 'no shared memory' "$tmp/err")"
meet HVD_TRANSPORT=shm
is "those that insist on shared memory do not" "1 1" "$statuses"
like "and hear why" \
    'HVD_TRANSPORT is shm: no shared memory with rank 1 on box: unix:[0-9a-f]*: no such socket here' "$tmp/err"
finish
