#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unauthenticated clients at the real programs: whatever they send, record or occupy, a job beside them notices nothing,
# and they learn nothing. What they are is in tests/support/unauthenticated.c, what they send in tests/bad/http.tsv and
# wire.tsv.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
. "$srcdir/tests/support/service.sh"
rows=$srcdir/tests/bad
replay=$builddir/tests/support/replay
unauthenticated=$builddir/tests/support/unauthenticated
nokey=$(printf %064d 1)
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
MEMORY_KIB=32768 # that unauthenticated clients may cost
export tmp

# What waits for the deadline of a body takes long; a unit test has it.
http_rows() {
    grep -v -e '^#' -e '^B92' "$rows/http.tsv"
}

# Those that are over at once.
prompt_rows() {
    http_rows | awk -F '\t' '$4 != "late"'
}

# kv METHOD PATH [OPTION...]: to the job's store, with its key.
kv() {
    _method=$1 _path=$2
    shift 2
    printf 'header = "Authorization: Bearer %s"\n' "$bearer" >"$tmp/bearer"
    curl -sS -m 10 -K "$tmp/bearer" -X "$_method" "$@" "http://127.0.0.1:$port$_path"
}

# What must not change: the job, and what lies in its store.
state() {
    kv GET "/v1/jobs/$id" | sed -E 's/"(age|joined|heard)(_s|_s_ago)":[0-9.]+//g'
    for _key in known/key unauthenticated/empty unauthenticated/binary; do
        kv GET "/$_key" -w ' %{http_code}\n' | od -c
    done
}

fill_store() {
    kv PUT /known/key --data-binary known
    kv PUT /unauthenticated/empty --data-binary ''
    printf '\000\001\r\n\377' | kv PUT /unauthenticated/binary --data-binary @-
}

# run_rows FILE COMMAND...: with the rows as its input; fills $status.
run_rows() {
    _rows=$rows/$1.tsv status=0
    shift
    "$@" <"$_rows" >"$tmp/found" 2>&1 || status=$?
    [ "$status" = 0 ] || sed 's/^/# /' "$tmp/found"
}

same_answers() {
    diff "$1" "$2" >"$tmp/out"
}

memory_kib() { # VmHWM or VmRSS
    awk -v name="$1:" '$1 == name { print $2 }' "/proc/$service/status"
}

# ---- a job of a service's ----

service_up
id=train bearer=train:$(job_key train)
for name in a b c d; do
    worker $name HOROVOD_SIZE=4 -- init barriers 1 wait "$tmp/go" barriers 1 shutdown
done
is_running() {
    kv GET "/v1/jobs/$id" | grep -q '"running":4'
}
until_true is_running
said_of_others() { grep -vc 'refused a worker' "$tmp/service"; }
fill_store
state >"$tmp/before"
said_before=$(said_of_others)
ok "a job of four has its values" grep -q '"connected":4' "$tmp/before"

http_rows | cut -f1-4 >"$tmp/expected"
http_rows | "$replay" 127.0.0.1 "$port" "$bearer" >"$tmp/answers"
ok "bad requests with a rank's key are answered as told" same_answers "$tmp/expected" "$tmp/answers"
run_rows http "$unauthenticated" 127.0.0.1 "$port" requests "$nokey"
is "without a key none has success" 0 "$status"
grep -v '^#' "$rows/wire.tsv" | cut -f1-4 >"$tmp/expected"
"$unauthenticated" 127.0.0.1 "$port" rows train "${bearer#*:}" <"$rows/wire.tsv" >"$tmp/answers"
ok "bad frames are answered as told" same_answers "$tmp/expected" "$tmp/answers"
run_rows wire "$unauthenticated" 127.0.0.1 "$port" mutants train "${bearer#*:}"
is "a worker's bytes, cut or changed anywhere, are no worker's" 0 "$status"
run_rows wire "$unauthenticated" 127.0.0.1 "$port" replays train "${bearer#*:}"
is "what was recorded is worth nothing" 0 "$status"
run_rows wire "$unauthenticated" 127.0.0.1 "$port" alike train ghost other "$(job_key other)"
is "nobody learns whether there is a job" 0 "$status"

state >"$tmp/after"
ok "of all that the job has noticed nothing" cmp -s "$tmp/before" "$tmp/after"
is "and nobody has been told" "$said_before" "$(said_of_others)"
like "except of those that have the key and are refused" 'train: refused a worker' "$tmp/service"
touch "$tmp/go"
for name in a b c d; do
    ended $name
    cp "$tmp/$name" "$tmp/out"
    is "worker $name works on" 0 "$status"
done
service_down
is "so does the service" 0 "$status"

# ---- a crowd ----

# Sanitizers want addresses without a limit, and keep what is freed.
is_sanitized() {
    case $SANITIZERS in
    *address* | *thread*) true ;;
    *) false ;;
    esac
}

limited() {
    is_sanitized || set -- prlimit --as=268435456 "$@"
    exec "$@"
}

# crowd FILE RATE AUTHORIZATION KIND COUNT...: waits until they are there.
crowd() {
    new_job
    HVD_TEST_JOB=$job "$unauthenticated" 127.0.0.1 "$port" crowd "$@" >"$tmp/crowd" 2>&1 &
    crowd=$!
    until_said '^crowded$' "$tmp/crowd" || cat "$tmp/crowd" >&2
}

disperse() {
    touch "$1"
    wait "$crowd"
    cp "$tmp/crowd" "$tmp/out"
}

# A world of $1 workers comes together; prints how many did not.
comes_together() {
    _size=$1 _failed=0 _key=$(job_key "world$1$2")
    for _i in $(seq "$_size"); do
        worker "w$_i" HVD_JOB_ID="world$1$2" HVD_JOB_KEY="$_key" HOROVOD_SIZE="$_size" -- init barriers 1 shutdown
    done
    for _i in $(seq "$_size"); do
        ended "w$_i"
        [ "$status" = 0 ] || _failed=$((_failed + 1))
    done
    echo "$_failed"
}

on_host=limited
service_up
on_host=
comes_together 2 calm >"$tmp/out" # the first job needs this, not an unauthenticated client
idle_kib=$(memory_kib VmHWM)
crowd "$tmp/enough" 1000 - silent 300 drip 300 head 300 frames 100 open 100 newlines 50 tls 50 scan 50 upload 8 unread 200
for size in 2 5 8; do
    is "$size workers meet in a crowd" 0 "$(comes_together $size crowd)"
done
disperse "$tmp/enough"
like "of which none stayed that dawdles" '^drip: [0-9]+ came, [1-9]' "$tmp/crowd"
used_kib=$(($(memory_kib VmHWM) - idle_kib))
if is_sanitized; then
    skip "and the crowd cost little memory" "sanitizers keep what is freed"
else
    ok "and the crowd cost little memory" [ "$used_kib" -le "$MEMORY_KIB" ]
    echo "# $used_kib KiB"
fi

id=big bearer=big:$(job_key big)
ask /v1/jobs/big -X PUT --data-binary '{"size": 2}' >"$tmp/out"
head -c 4194304 /dev/zero | kv PUT /big/value -H 'Expect:' --data-binary @-
crowd "$tmp/enough2" 100 "Bearer $bearer" heavy 12
is "4 workers meet beside clients that do not read" 0 "$(comes_together 4 heavy)"
disperse "$tmp/enough2"
is "the value is still there" 4194304 "$(kv GET /big/value | wc -c)"
service_down
is "and the service ends well" 0 "$status"

# ---- the rendezvous of a job of hvdrun's ----

# shellcheck disable=SC2016  # for the worker's shell
start "$HVDRUN" -np 4 sh -c 'echo "$HVD_JOB_KEY $HVD_JOB_ID/$HVD_KEY_OF $HOROVOD_GLOO_RENDEZVOUS_PORT" >"$tmp/job.$HOROVOD_RANK"
    exec "$WORLD" init barriers 1 print up wait "$tmp/go2" barriers 1 shutdown'
up() {
    [ "$(grep -c ':up$' "$tmp/out")" = "$1" ]
}
until_true up 4
read -r key owner port <"$tmp/job.0"
id=${owner%/*} bearer=$owner:$key
until_true is_running
fill_store
state >"$tmp/before"
cp "$tmp/err" "$tmp/said"
code_of() { # COMMAND...: how a request without a key ends
    "$@" curl -sS -m 10 -o "$tmp/body" -w '%{http_code}' "http://127.0.0.1:$port/known/key"
}
is "who runs the job needs no key on its host" 200 "$(code_of)"
cp "$unauthenticated" /bin/true "$tmp" && chmod 711 "$tmp"
# shellcheck disable=SC2086  # words
if [ "$(id -u)" = 0 ] && $nobody "$tmp/true"; then
    is "another user of the host does" 401 "$(code_of $nobody 2>"$tmp/curl")"
    run_rows http $nobody "$tmp/unauthenticated" 127.0.0.1 "$port" requests "$nokey"
    is "none of that user's requests has success" 0 "$status"
    run_rows wire $nobody "$tmp/unauthenticated" 127.0.0.1 "$port" mutants "$owner" "$key"
    is "nor do its frames" 0 "$status"
    $nobody "$tmp/unauthenticated" 127.0.0.1 "$port" crowd "$tmp/never" 500 - silent 300 drip 100 open 100 unread 50 >"$tmp/crowd" &
    crowd=$!
    until_said '^crowded$' "$tmp/crowd"
    is "nor does a crowd keep others out" 200 "$(code_of)"
    kill "$crowd"
    wait "$crowd" 2>/dev/null
else
    skip "another user of the host does" "only root can be another"
fi
prompt_rows | cut -f1-4 >"$tmp/expected"
prompt_rows | "$replay" 127.0.0.1 "$port" "$bearer" >"$tmp/answers"
ok "bad requests with the job's key are answered as told" same_answers "$tmp/expected" "$tmp/answers"
state >"$tmp/after"
ok "the job has noticed nothing" cmp -s "$tmp/before" "$tmp/after"
ok "and its user has not been told" cmp -s "$tmp/err" "$tmp/said"
touch "$tmp/go2"
status=0
wait "$pid" || status=$?
is "it ends well" 0 "$status"

# ---- who listens ----

# listeners I: on host I "PROGRAM ADDRESS" of each socket of ours that listens
listeners() {
    on "$1" ss -Hltnp | awk '{ sub(/.*users:\(\("/, "", $6); sub(/".*/, "", $6); sub(/:[0-9]+$/, "", $4); print $6, $4 }' |
        grep -v '^sshd ' | sort -u
}

if ! hosts_up 3 || ! links; then
    skip "who listens" "${hosts_reason:-$no_links}"
    finish
    exit 0
fi
start on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" "$WORLD" init barriers 1 print up wait "$tmp/go3" barriers 1 shutdown
until_true up 3
for i in 0 1 2; do
    listeners $i >"$tmp/listeners"
    sed 's/^/# /' "$tmp/listeners"
    is "on host $i the rendezvous is on the loopback, and nothing but a worker's data elsewhere" \
        "hvdagent 127.0.0.1;world" "$(sed 's/^world .*/world/' "$tmp/listeners" | paste -sd';')"
done
touch "$tmp/go3"
wait "$pid"
on 0 "$HVDRENDEZVOUSD" --key-file "$tmp/key" --port-file "$tmp/port3" 2>"$tmp/service" &
service=$!
until_true [ -s "$tmp/port3" ]
is "a service that is told nothing is on the loopback" "hvdrendezvousd 127.0.0.1" "$(listeners 0)"
kill "$(host_pids_named 0 hvdrendezvousd)"
finish_process "$service"

# On the loopback the kernel takes all that nobody reads; between hosts it stays with us.
ip=$(on 0 ip -4 -o addr show dev eth0 | awk '{ sub(/\/.*/, "", $4); print $4 }')
on_host=limited_host
limited_host() {
    is_sanitized || set -- prlimit --as=268435456 "$@"
    exec on 0 "$@"
}
listen=$ip:0
service_up
on_host=
front=$service
service=$(host_pids_named 0 hvdrendezvousd)
idle_kib=$(memory_kib VmHWM)
on 1 "$unauthenticated" "$ip" "$port" crowd "$tmp/enough3" 1000 - unread 500 head 300 >"$tmp/crowd" 2>&1 &
crowd=$!
until_said '^crowded$' "$tmp/crowd"
run on 1 "$unauthenticated" "$ip" "$port" joins "$(cat "$tmp/key")" 10
is "workers on another host meet beside clients that do not read" 0 "$status"
disperse "$tmp/enough3"
used_kib=$(($(memory_kib VmHWM) - idle_kib))
if is_sanitized; then
    skip "which cost little memory" "sanitizers keep what is freed"
else
    ok "which cost little memory" [ "$used_kib" -le "$MEMORY_KIB" ]
    echo "# $used_kib KiB"
fi
kill "$service"
wait "$front"
is "and the service ends well" 0 $?
finish
