#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Networks that lose packets, and firewalls that forget: a job goes on as if nothing were. LOSSY_NETWORK_S=3600 makes
# the loss last an hour ("make lossy-network").
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
[ "${SANITIZERS:-no}" = no ] || skip_all "nothing here is about memory"
: "${LOSSY_NETWORK_S:=3}"
TB_TTL=$((TB_TTL + 2 * LOSSY_NETWORK_S)) # hosts live as long as both losses
hosts_up 2 || skip_all "$hosts_reason"
links || skip_all "$no_links"
command -v nft >/dev/null || skip_all "no nft"
PATIENCE_S=$((PATIENCE_S + LOSSY_NETWORK_S))

# goes_on SENTENCE ACT...: a job on both hosts ends well, and hvdrun has nothing to say.
goes_on() {
    sentence=$1
    shift
    run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" "$WORLD" "$@"
    is "$sentence" 0 "$status"
    grep -v '^\[' "$tmp/err" >"$tmp/said"
    ok "and nobody is suspected" [ ! -s "$tmp/said" ]
}

# ---- packets are lost ----

# With 5 % each way one of ten attempts of TCP has no answer. Links allow for that (lib/link/tcp_unanswered.h).
percents='1 5'
[ "$LOSSY_NETWORK_S" -ge 60 ] || percents=2
for percent in $percents; do
    tb_loss 0 "$percent"
    tb_loss 1 "$percent"
    { sleep "$LOSSY_NETWORK_S"; touch "$tmp/end$percent"; } &
    goes_on "F73: $percent % of all packets are lost each way" init barriers 20 stream "$tmp/end$percent" shutdown
done
tb_loss 0 0
tb_loss 1 0

# ---- a firewall that forgets ----

# What is not the beginning of a connection, and belongs to none that host 1 remembers, is dropped.
forgets() {
    on 1 sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 net.netfilter.nf_conntrack_tcp_timeout_established="$1" &&
        on 1 nft 'table inet f { chain i { type filter hook input priority 0;
            iif lo accept; ct state established,related accept; meta l4proto tcp ct state new tcp flags syn accept;
            meta l4proto tcp drop; }; }'
}

if forgets 5 2>"$tmp/err"; then
    mkfifo "$tmp/idle"
    on 0 timeout $((PATIENCE_S * 2)) ssh "$(target 1)" cat <"$tmp/idle" >"$tmp/forgotten" 2>/dev/null &
    idle=$!
    exec 9>"$tmp/idle"
    echo one >&9
    until_said one "$tmp/forgotten"
    rm -f "$tmp/go"
    { sleep 8; touch "$tmp/go"; } &
    goes_on "F75: connections of a job that is idle for longer than a firewall remembers" \
        init barriers 3 wait "$tmp/go" collectives shutdown
    echo two >&9 # after 8 s
    sleep 2
    is "which forgets others" one "$(cat "$tmp/forgotten")"
    on 1 nft delete table inet f
    exec 9>&-
    wait "$idle"
else
    skip "F75: connections of a job that is idle for longer than a firewall remembers" "no nf_conntrack"
fi
clean "nothing is left"
finish
