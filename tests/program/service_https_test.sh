#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HTTPS for hvdrendezvousd by stunnel: the configurations of doc/https.md, with ports and files of the test.
. "$srcdir/tests/tap.sh"
for program in stunnel openssl curl; do
    command -v $program >/dev/null || { echo "1..0 # SKIP no $program"; exit 0; }
done
. "$srcdir/tests/support/service.sh"

# configuration FILE: as the page has it.
configuration() {
    sed -n "\\|^    ; /etc/stunnel/$1|,/^\$/s/^    //p" "$srcdir/doc/https.md"
}

# listens CONFIGURATION PORT: starts it, on the first port from there on that is free; $found is the port.
stunnels=
trap 'kill $stunnels $service 2>/dev/null; rm -rf "$tmp"' EXIT
listens() {
    found=$2
    while :; do
        sed "s/^accept = .*/accept = 127.0.0.1:$found/" "$1" >"$1.$found"
        stunnel "$1.$found" >"$tmp/stunnel.log" 2>&1 </dev/null &
        _stunnel=$!
        until_true answers_or_ended
        if kill -0 $_stunnel 2>/dev/null; then
            stunnels="$stunnels $_stunnel"
            return
        fi
        found=$((found + 1))
        [ "$found" -lt $(($2 + 100)) ] || exit 99
    done
}
answers_or_ended() {
    ss -Hltnp "sport = :$found" | grep -q "pid=$_stunnel," || ! kill -0 "$_stunnel" 2>/dev/null
}

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/tls.key" -out "$tmp/tls.crt" -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost >"$tmp/openssl" 2>&1
cat "$tmp/tls.key" "$tmp/tls.crt" >"$tmp/tls.pem"
service_up
configuration hvdrendezvousd.conf |
    sed "s/^connect = .*/connect = 127.0.0.1:$port/; s|^cert = .*|cert = $tmp/tls.pem|" >"$tmp/server.conf"
listens "$tmp/server.conf" $((24000 + $$ % 4000))
https=$found
run curl -sS --cacert "$tmp/tls.crt" "https://localhost:$https/healthz"
is "a client reaches the service by HTTPS" 0 "$status"
run curl -sS --cacert "$tmp/tls.crt" -o /dev/null -w '%{http_code}' "https://localhost:$https/v1/jobs"
is "which asks for the key as before" 401 "$(cat "$tmp/out")"
run curl -sS --cacert "$tmp/tls.crt" -H "Authorization: Bearer $(cat "$tmp/key")" "https://localhost:$https/v1/jobs"
like "and takes it" '^\{"jobs":' "$tmp/out"
run curl -sS "https://localhost:$https/healthz"
is "a client that does not trust the certificate does not go on" 60 "$status"

configuration hvd-client.conf |
    sed "s/^connect = .*/connect = 127.0.0.1:$https/; s|^CAfile = .*|CAfile = $tmp/tls.crt|; s/^checkHost = .*/checkHost = localhost/" \
        >"$tmp/client.conf"
listens "$tmp/client.conf" $((28000 + $$ % 4000))
port=$found
worker a -- init place collectives shutdown
worker b -- init place collectives shutdown
ended a
is "workers meet through the tunnel" 0 "$status"
ended b
is "both of them" 0 "$status"
finish
