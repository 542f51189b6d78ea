#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What options, a configuration file and the environment say arrives at the ranks as variables; the first of these that says
# something wins.
. "$srcdir/tests/tap.sh"
cd "$tmp" || exit 99

# found SENTENCE EXPECTED NAME OPTION...: what the rank finds under this name, "unset" if nothing.
found() {
    _sentence=$1 _expected=$2 _name=$3
    shift 3
    run "$HVDRUN" -np 1 "$@" sh -c "echo \"\${$_name-unset}\""
    is "$_sentence" "[0]<stdout>:$_expected" "$(cat "$tmp/out")"
}

printf 'params:\n  cycle_time_ms: 2\n  cache_capacity: 20\n' >c.yaml
export HOROVOD_CYCLE_TIME=1 HOROVOD_CACHE_CAPACITY=10 HOROVOD_FUSION_THRESHOLD=5
export CUDA_VISIBLE_DEVICES=3 HVD_TEST_LINES='one
two'
file=c.yaml

found "a variable of ours is passed on" 5 HOROVOD_FUSION_THRESHOLD --config-file $file
found "the file wins over it" 2 HOROVOD_CYCLE_TIME --config-file $file
found "the command line wins over the file" 3.5 HOROVOD_CYCLE_TIME --cycle-time-ms 3.5 --config-file $file
found "in either order" 3.5 HOROVOD_CYCLE_TIME --config-file $file --cycle-time-ms 3.5
found "-x wins over all" 4 HOROVOD_CYCLE_TIME -x HOROVOD_CYCLE_TIME=4 --cycle-time-ms 3.5 --config-file $file
found "what the command line does not say, the file does" 20 HOROVOD_CACHE_CAPACITY --config-file $file --cycle-time-ms 3
found "megabytes become bytes" 67108864 HOROVOD_FUSION_THRESHOLD --fusion-threshold-mb 64
found "a range of ports is a variable, too" 40000-40999 HVD_PORT_RANGE --port-range 40000-40999
found "the accelerators that may be used are told to ranks on this machine" 3 CUDA_VISIBLE_DEVICES
found "to those of each of its names" 3 CUDA_VISIBLE_DEVICES -H 127.0.0.1
ok "without a word" [ ! -s "$tmp/err" ]
found "-x asks for them" 3 CUDA_VISIBLE_DEVICES -x CUDA_VISIBLE_DEVICES
found "or sets others" 7 CUDA_VISIBLE_DEVICES -x CUDA_VISIBLE_DEVICES=7
found "-x may set nothing" '' HVD_TEST_LINES -x HVD_TEST_LINES=
export HOROVOD_START_TIMEOUT= HVD_REMOTE_SHELL= HVD_NETWORK_INTERFACES= HVD_PORT_RANGE=
found "an empty variable of hvdrun's own is none" unset HVD_PORT_RANGE
found "and passes nothing on" unset HVD_NETWORK_INTERFACES
unset HOROVOD_START_TIMEOUT HVD_REMOTE_SHELL HVD_NETWORK_INTERFACES HVD_PORT_RANGE
found "-x takes a comma for a part of the value" 1,B=2 HVD_TEST_LINES -x HVD_TEST_LINES=1,B=2
found "-x wins over what hvdrun sets for Python" 0 PYTHONUNBUFFERED -x PYTHONUNBUFFERED=0

# What an outer job, or another network, has left behind.
export HOROVOD_GLOO_IFACE=stale0 NCCL_SOCKET_IFNAME=stale0 HVD_RENDEZVOUS=198.51.100.7:1 HVD_JOB_ID=outer
found "a stale interface is replaced" lo HOROVOD_GLOO_IFACE
found "in NCCL's name, too" lo NCCL_SOCKET_IFNAME
found "by the one that was asked for" lo HOROVOD_GLOO_IFACE --network-interfaces lo
found "-x wins over it" told0 HOROVOD_GLOO_IFACE -x HOROVOD_GLOO_IFACE=told0
found "the way to another job's rendezvous is not passed on" unset HVD_RENDEZVOUS
run "$HVDRUN" -np 2 sh -c 'echo "$HVD_JOB_ID" >&2'
is "both ranks have the id of one job" 1 "$(sed 's/.*://' "$tmp/err" | sort -u | wc -l)"
unlike "which is not the outer one's" ':outer$' "$tmp/err"
like "and fit for a path" '^\[0\]<stderr>:[A-Za-z0-9][A-Za-z0-9._-]*$' "$tmp/err"
unset HOROVOD_GLOO_IFACE NCCL_SOCKET_IFNAME HVD_RENDEZVOUS HVD_JOB_ID

run "$HVDRUN" -np 1 -x HVD_TEST_LINES sh -c 'echo "$HVD_TEST_LINES"'
is "-x passes any bytes on" "[0]<stdout>:one
[0]<stdout>:two" "$(cat "$tmp/out")"
run "$HVDRUN" -np 1 -x HVD_NO_SUCH true
is "-x without such a variable starts the job" 0 "$status"
like "and warns" "^hvdrun: warning: -x: no such variable: 'HVD_NO_SUCH'\$" "$tmp/err"

# A variable that nothing reads
export HVD_ENCRPYT=require HOROVOD_HIERARCHICAL_ALLREDUCE=1
run "$HVDRUN" -np 2 -x HVD_ENCRPYT=auto -x HVD_CYCLETIME=1 "$HELLO"
is "a variable with a wrong name is named, once, also behind -x, and the right name" \
    "hvdrun: warning: \$HVD_ENCRPYT: neither hvdrun nor libhvd reads this variable (did you mean HVD_ENCRYPT?)
hvdrun: warning: -x: HVD_CYCLETIME: neither hvdrun nor libhvd reads this variable (did you mean HOROVOD_CYCLE_TIME?)" \
    "$(cat "$tmp/err")"
is "which does not keep the job from running" 0 "$status"
run "$HELLO"
is "a rank that hvdrun has not started names it" "[W] [0]: hvd_init: HVD_ENCRPYT: neither hvdrun nor libhvd reads this \
variable (did you mean HVD_ENCRYPT?)" "$(sed 's/\[[^]]*: W\]/[W]/' "$tmp/err")"
unset HVD_ENCRPYT HOROVOD_HIERARCHICAL_ALLREDUCE

run "$HVDRUN" -np 1 --verbose --cycle-time-ms 3 --tcp --config-file $file true
like "--verbose says where the rendezvous is" \
    "^hvdrun: .* host localhost: rendezvous and status page at http://127\.0\.0\.1:[0-9]+/\$" "$tmp/err"
like "--verbose names what gives way" \
    "^hvdrun: c\.yaml:2:18: params\.cycle_time_ms: '2' gives way to --cycle-time-ms" "$tmp/err"
like "and what is not for the library" '^hvdrun: --tcp: for Horovod and NCCL' "$tmp/err"
run "$HVDRUN" -np 1 --tcp --config-file $file --cycle-time-ms 3 true
is "which is not said otherwise" '' "$(cat "$tmp/err")"
chmod 666 $file
run "$HVDRUN" -np 1 --config-file $file true
is "a file that everybody may write to is a warning" "0 hvdrun: warning: c.yaml: everybody may write to this file" \
    "$status $(cat "$tmp/err")"
# What rank 0 will open
unset HVD_TUNING HOROVOD_TIMELINE HOROVOD_AUTOTUNE HOROVOD_AUTOTUNE_LOG
run env HVD_TUNING=none HOROVOD_AUTOTUNE_LOG=. "$HVDRUN" -np 1 --autotune --timeline-filename none/t true
is "a warning before the start names each file that rank 0 cannot open" "0
hvdrun: warning: \$HVD_TUNING: rank 0 cannot read it as it is now: 'none': No such file or directory
hvdrun: warning: --timeline-filename: rank 0 cannot write it as it is now: 'none/t': No such file or directory
hvdrun: warning: \$HOROVOD_AUTOTUNE_LOG: rank 0 cannot write it as it is now: '.': Is a directory" "$status
$(cat "$tmp/err")"
: >there
run env HVD_TUNING=there HOROVOD_TIMELINE=DYNAMIC HOROVOD_AUTOTUNE_LOG=none/l "$HVDRUN" -np 1 true
is "nothing is said of what can be opened, or will not be" "0 " "$status $(cat "$tmp/err")"
run "$HVDRUN" -np 1 --autotune --autotune-log-file "$tmp/new" --timeline-filename new true
is "nor of what can be made, which is not made" "0 " "$status $(cat "$tmp/err")$(ls new "$tmp/new" 2>/dev/null)"
run "$HVDRUN" -np 1 -H 192.0.2.1 --remote-shell "sh -c 'shift; exec \"\$@\"' sh %h" -x HVD_TUNING=none -x CUDA_VISIBLE_DEVICES true
is "nor of what another machine may have" "0 " "$status $(cat "$tmp/err")"
run "$HVDRUN" -cb
is "--check-build ends well" 0 "$status"
like "and says what scripts look for" '^    \[X\] Gloo$' "$tmp/out"

# cpuinfo_has FEATURE...: prints X if the kernel lists each of them, else a space
cpuinfo_has() {
    for _feature in "$@"; do
        grep -m 1 '^flags' /proc/cpuinfo | grep -qw "$_feature" || { echo ' ' && return; }
    done
    echo X
}

if [ "$(uname -m)" = x86_64 ] && grep -q '^flags' /proc/cpuinfo; then
    avx2=$(cpuinfo_has avx2 f16c) avx512=$(cpuinfo_has avx512f avx512dq avx512bw avx512vl)
    is "and its vector paths are those of which the kernel lists the instructions" \
        "    [$avx512] AVX-512 /     [$avx2] AVX2" "$(grep 'AVX' "$tmp/out" | paste -sd / | sed 's|/| / |')"
else
    skip "and its vector paths are those of which the kernel lists the instructions" "/proc/cpuinfo has no flags of x86"
fi
finish
