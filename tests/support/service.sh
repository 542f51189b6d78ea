# SPDX-License-Identifier: Apache-2.0
# For test programs in sh that need hvdrendezvousd; sourced after tap.sh.
#
#   service_up [OPTION...]              $service is its process, $port its port, $tmp/service what it says (wait for that with
#                                       service_said: the port is known first)
#   worker NAME VARIABLE=VALUE... -- ACT...     starts $WORLD in the background; what it says is in $tmp/NAME
#   worker_on HOST NAME VARIABLE=VALUE... -- ACT...     the same on a host of hosts.sh
#   ended NAME                          waits for it and fills $status
#   service_down                        stops it and fills $status
#   service_up_on HOST [OPTION...]      starts it on a host of hosts.sh, where it is reached from all hosts; $address is there
#   service_ends HOST                   stops it there and fills $status

# shellcheck shell=sh
umask 077
"$HVDRENDEZVOUSD" --new-key "$tmp/key" || exit 99
service=

service_up() {
    : >"$tmp/service"
    rm -f "$tmp/port"
    # shellcheck disable=SC2086  # words
    ${on_host-} "$HVDRENDEZVOUSD" --key-file "$tmp/key" --port-file "$tmp/port" \
        --listen "${listen-127.0.0.1:0}" "$@" >"$tmp/service.out" 2>"$tmp/service" </dev/null &
    service=$!
    until_true [ -s "$tmp/port" ] || exit 99
    port=$(cat "$tmp/port")
}

service_down() {
    kill "-${1-TERM}" "$service"
    finish_process "$service" || kill -KILL "$service"
    service=
}

job_key() { # ID
    "$HVDRENDEZVOUSD" --key-file "$tmp/key" --job-key "$1"
}

# Variables may be given twice: the last wins.
worker() {
    _name=$1 _variables=
    shift
    new_job
    while [ "$1" != -- ]; do
        _variables="$_variables $1"
        shift
    done
    shift
    # shellcheck disable=SC2086  # words
    ${on_host-} env HVD_TEST_JOB="$job" HVD_RENDEZVOUS="${address-127.0.0.1}:$port" HVD_JOB_ID=train \
        HVD_JOB_KEY="$(job_key train)" HOROVOD_SIZE=2 HOROVOD_HOSTNAME=here $_variables \
        "$WORLD" "$@" >"$tmp/$_name" 2>&1 </dev/null &
    eval "pid_$_name=$!"
}

ended() {
    eval "finish_process \$pid_$1"
}

worker_on() {
    _on_service=$on_host on_host="on $1"
    shift
    worker "$@"
    on_host=$_on_service
}

service_up_on() {
    on_host="on $1" address=$(ip_of "$1")
    listen=$address:0
    shift
    service_up "$@"
}

# The address of a host.
ip_of() {
    if links; then
        on "$1" ip -4 -o addr show dev eth0 | awk '{ sub(/\/.*/, "", $4); print $4 }'
    else
        host "$1"
    fi
}

# $service may be a process in front of it.
service_ends() {
    if links; then
        kill -TERM "$(host_pids_named "$1" hvdrendezvousd)"
    else
        kill -TERM "$service"
    fi
    finish_process "$service"
}

# service_said PATTERN: waits for it.
service_said() {
    until_said "$1" "$tmp/service"
}

# ask PATH [OPTION...]: an HTTP request with the key of the service; prints the body.
ask() {
    _path=$1
    shift
    printf 'header = "Authorization: Bearer %s"\n' "$(cat "$tmp/key")" |
        ${on_host-} curl -sS -m 10 -K - "$@" "http://${address-127.0.0.1}:$port$_path"
}

# code PATH [OPTION...]: the status of an answer, without a key.
code() {
    _path=$1
    shift
    curl -sS -m 10 -o /dev/null -w '%{http_code}' "$@" "http://127.0.0.1:$port$_path"
}

# come N [ID]: waits until N workers of the job are connected.
come() {
    until_true is_connected "$1" "${2-train}"
}

connected() {
    ask "/v1/jobs/$1" | sed -n 's/.*"connected":\([0-9]*\),.*/\1/p'
}

is_connected() {
    [ "$(connected "$2")" = "$1" ]
}
