#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rendezvous of a job: offered on the loopback address of each host, and on no network.
. "$srcdir/tests/tap.sh"

# shellcheck disable=SC2016
url='http://$HOROVOD_GLOO_RENDEZVOUS_ADDR:$HOROVOD_GLOO_RENDEZVOUS_PORT'
run "$HVDRUN" -np 1 sh -c "curl -sS -i $url/healthz"
like "GET /healthz is answered" '^\[0\]<stdout>:HTTP/1.1 200 OK' "$tmp/out"
like "with a status" '"status": *"ok"' "$tmp/out"
run "$HVDRUN" -np 1 sh -c "curl -sS -o /dev/null -w '%{http_code}\n' $url/nothing"
is "anything else is not found" '[0]<stdout>:404' "$(cat "$tmp/out")"
run "$HVDRUN" -np 2 -H localhost:1,127.0.0.2:1 sh -c "curl -sS $url/healthz"
is "every host offers it" 2 "$(grep -c ok "$tmp/out")"

start "$HVDRUN" -np 2 "$WORLD" init print up stay
until_said '\[0\].*up' && until_said '\[1\].*up'
listening=$(ss -Hltnp | grep -E "pid=($(survivors | sed 's|/proc/||; s|/environ||' | paste -sd'|'))," | awk '{ print $4 }')
ok "processes of the job listen" [ -n "$listening" ]
is "on the loopback address only" '' "$(printf '%s\n' "$listening" | grep -v '^127\.0\.0\.1:')"
is "hvdrun itself on nothing" '' "$(ss -Hlnp | grep "pid=$pid,")"
port=$(ss -Hltnp | grep "pid=$(pgrep -P "$pid" hvdagent)," | awk '{ sub(/.*:/, "", $4); print $4 }')
head -c 100000 /dev/urandom | curl -sS -m 20 "telnet://127.0.0.1:$port" >/dev/null 2>&1
printf 'HVD1garbage' | curl -sS -m 5 "telnet://127.0.0.1:$port" >/dev/null 2>&1
ok "an unauthenticated client's noise does the job no harm" kill -0 "$pid"
is "the rendezvous still answers" 200 "$(curl -sS -o "$tmp/body" -w '%{http_code}' "http://127.0.0.1:$port/healthz")"
stop_with TERM
is "and the job ends as it is told" 143 "$status"
finish
