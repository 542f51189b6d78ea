#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Horovod workers under hvdrun: they find each other without a flag, and nobody else finds them. What stands for them is
# tests/support/horovod_worker.c.
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/hosts.sh"
export HOROVOD_GLOO_TIMEOUT_SECONDS=$((PATIENCE_S * 2))

# meets SENTENCE SIZE GETS [INITS]: all have met so often, and have asked as often as the real ones: 12 PUTs and 6 DELETEs each, and
# GETS of what was there, together.
meets() {
    is "$1" 0 "$status"
    is "all $2 of them" $(($2 * ${4-1})) "$(grep -Ec "^\[[0-9]*\]<stdout>:rank [0-9]* of $2 meets " "$tmp/out")"
    is "with so many requests" "$((12 * $2 * ${4-1})) $(($3 * ${4-1})) $((6 * $2 * ${4-1})) 0" "$(sed 's/[a-z_]*=//g' "$tmp/out" |
        awk '/ meets / { puts += $(NF - 4); gets += $(NF - 3); deletes += $(NF - 1); failures += $NF }
            END { print puts, gets, deletes, failures }')"
}

run "$HVDRUN" -np 1 "$HOROVOD_WORKER" init
meets "one worker meets itself" 1 0
run "$HVDRUN" -np 2 "$HOROVOD_WORKER" init
meets "two workers meet" 2 20
run "$HVDRUN" -np 16 "$HOROVOD_WORKER" init
meets "sixteen workers meet" 16 2400
run "$HVDRUN" -np 4 "$HOROVOD_WORKER" init init
meets "four workers meet twice" 4 120 2
run "$HVDRUN" -np 3 "$HOROVOD_WORKER" desert init desert
meets "who hangs up without listening harms nobody" 3 60
run "$HVDRUN" -np 3 -H localhost:2,127.0.0.2:1 "$HOROVOD_WORKER" reset
is "each may ask for its place again" "/rank_and_size/127.0.0.2:0 is 200 2,3,0,1,1,2
/rank_and_size/localhost:0 is 200 0,3,0,2,0,2
/rank_and_size/localhost:1 is 200 1,3,1,2,0,1" "$(sed 's/.*>://' "$tmp/out" | sort)"

# What they find in their environment, whatever an outer job has left behind.
# shellcheck disable=SC2016 # for the ranks' shell
run env HOROVOD_HOSTNAME=stale HOROVOD_RANK=7 HOROVOD_SIZE=9 HOROVOD_LOCAL_RANK=7 HOROVOD_LOCAL_SIZE=9 HOROVOD_CROSS_RANK=7 \
    HOROVOD_CROSS_SIZE=9 HOROVOD_GLOO_RENDEZVOUS_ADDR=198.51.100.7 HOROVOD_GLOO_RENDEZVOUS_PORT=7 HOROVOD_CONTROLLER=mpi \
    HOROVOD_CPU_OPERATIONS=ccl HOROVOD_GLOO_IFACE=stale0 NCCL_SOCKET_IFNAME=stale0 \
    "$HVDRUN" -np 2 sh -c '[ "$HOROVOD_RANK" = 0 ] || env'
sed -n 's/^\[1\]<stdout>://p' "$tmp/out" | grep -E '^(HOROVOD_|NCCL_|PYTHONUNBUFFERED=)' | grep -Ev '^HOROVOD_(WORKER|GLOO_TIMEOUT_SECONDS)=' | sort >"$tmp/found"
is "every variable that Horovod reads is hvdrun's" "HOROVOD_CONTROLLER=gloo
HOROVOD_CPU_OPERATIONS=gloo
HOROVOD_CROSS_RANK=0
HOROVOD_CROSS_SIZE=1
HOROVOD_GLOO_IFACE=lo
HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1
HOROVOD_GLOO_RENDEZVOUS_PORT=N
HOROVOD_HOSTNAME=localhost
HOROVOD_LOCAL_RANK=1
HOROVOD_LOCAL_SIZE=2
HOROVOD_RANK=1
HOROVOD_SIZE=2
NCCL_SOCKET_IFNAME=lo
PYTHONUNBUFFERED=1" "$(sed 's/PORT=[1-9][0-9]*$/PORT=N/' "$tmp/found")"

# Two workers, of which one does not come to the second rendezvous until it may.
# shellcheck disable=SC2016 # for the ranks' shell
start "$HVDRUN" -np 2 sh -c '[ "$HOROVOD_RANK" = 1 ] || env >"$0/env"; exec "$@"' "$tmp" "$HOROVOD_WORKER" init await "$tmp/go" init
variable() {
    sed -n "s/^$1=//p" "$tmp/env"
}
: >"$tmp/go.0"
until_said '\[0\].* meets' && until_said '\[1\].* meets'
url=http://127.0.0.1:$(variable HOROVOD_GLOO_RENDEZVOUS_PORT)
printf 'Authorization: Bearer /%s:%s\n' "$(variable HVD_KEY_OF)" "$(variable HVD_JOB_KEY)" >"$tmp/key"

# code URL [OPTION...]: the status that curl gets.
code() {
    curl -sS -m 20 -o "$tmp/body" -w '%{http_code}' "$@" 2>>"$tmp/curl" </dev/null
}
there() {
    [ "$(code "$url/global/0")" = 200 ]
}
ok "the first waits for the second" until_true there
is "their own user may read" 200 "$(code "$url/global/0")"
is "what a worker has put" 136 "$(wc -c <"$tmp/body")"
is "but not as a page from elsewhere" 401 "$(code -H 'Origin: http://example.com' "$url/global/0")"
is "nor when a browser says that another page asks" 403 "$(code -H 'Sec-Fetch-Site: cross-site' "$url/global/0")"
is "nor with the key then" 403 "$(code -H 'Sec-Fetch-Site: same-site' -H "@$tmp/key" "$url/global/0")"
is "nor under another name" 401 "$(code -H 'Host: example.com' "$url/global/0")"
is "the key of a rank opens it to these as well" 200 "$(code -H 'Host: example.com' -H "@$tmp/key" "$url/global/0")"

# As another user.
other_user() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
strange_code() {
    other_user curl -sS -m 20 -w '%{http_code}' "$@" 2>>"$tmp/curl" | tail -c 3
}
if [ "$(id -u)" = 0 ] && other_user true 2>/dev/null; then
    is "another user may not read" 401 "$(strange_code "$url/global/0" </dev/null)"
    is "nor write" 401 "$(strange_code -X PUT --data-binary evil "$url/global/1" </dev/null)"
    is "nor delete" 401 "$(strange_code -X DELETE "$url/global/0" </dev/null)"
    is "nor ask for a place" 401 "$(strange_code "$url/rank_and_size/localhost:0" </dev/null)"
    is "nor with a key that is not the job's" 401 "$(strange_code -H "Authorization: Bearer $(printf %064d 1)" "$url/global/0" </dev/null)"
    is "with the key it may" 200 "$(strange_code -H @- "$url/global/0" <"$tmp/key")"
    grep '^HOROVOD_' "$tmp/env" >"$tmp/theirs"
    status=0
    # shellcheck disable=SC2046
    other_user env -i $(cat "$tmp/theirs") HOROVOD_RANK=1 HOROVOD_LOCAL_RANK=1 /proc/self/fd/3 init \
        3<"$HOROVOD_WORKER" >"$tmp/strange" 2>&1 || status=$?
    is "a worker of another user does not join" 1 "$status"
    like "because it may not" 'PUT /global/rank_1: HTTP request failed, status 401' "$tmp/strange"
else
    skip "another user may not read, write or join" "needs root and setpriv"
fi
is "nothing that was not put is there" 404 "$(code "$url/global/1")"
: >"$tmp/go.1"
status=0
wait "$pid" || status=$?
meets "and the workers meet again as if nothing had been" 2 20 2

hosts_up 4 || { skip "eight workers on four hosts meet" "$hosts_reason"; finish; exit; }
run on 0 "$HVDRUN" -np 8 -H "$(slots 2 2 2 2)" "$HOROVOD_WORKER" init
meets "eight workers on four hosts meet" 8 440
run on 0 "$HVDRUN" -np 8 -H "$(slots 2 2 2 2)" "$HOROVOD_WORKER" init init
meets "twice" 8 440 2
finish
