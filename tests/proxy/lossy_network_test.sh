#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Networks that lose packets, and firewalls that forget: a job goes on as if nothing were, unless a host vanishes, too.
# LOSSY_NETWORK_S=3600 makes the loss last an hour ("make lossy-network"), LOSSY_NETWORK_PERCENTS='1 5' says how many.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
. "$srcdir/tests/support/service.sh"
[ "${SANITIZERS:-no}" = no ] || skip_all "nothing here is about memory"
: "${LOSSY_NETWORK_S:=3}"
: "${LOSSY_NETWORK_PERCENTS:=2}"
for percent in $LOSSY_NETWORK_PERCENTS; do TB_TTL=$((TB_TTL + LOSSY_NETWORK_S)); done # hosts live as long as all losses
hosts_up 3 || skip_all "$hosts_reason"
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

# all_lose PERCENT: of all packets that come in, on every host.
all_lose() {
    for i in 0 1 2; do tb_loss $i "$1"; done
}

# ---- packets are lost ----

# With 5 % each way one of ten attempts of TCP has no answer. Connections allow for that (lib/base/tcp_attempts.h, and
# lib/link/tcp_unanswered.h for links). The second job has a rendezvous on another host, one rank that waits for the other, and
# no traffic: keepalive alone tells each of its hosts that the others are there.
service_up_on 2
for percent in $LOSSY_NETWORK_PERCENTS; do
    worker_on 0 waiting HOROVOD_HOSTNAME=host0 HOROVOD_RANK=0 -- init barriers 3 print up barriers 1 shutdown
    worker_on 1 late HOROVOD_HOSTNAME=host1 HOROVOD_RANK=1 -- init barriers 3 print up wait "$tmp/end$percent" barriers 1 shutdown
    ok "two ranks have met at a rendezvous, $percent %" eval 'until_said "^up$" "$tmp/waiting" && until_said "^up$" "$tmp/late"'
    all_lose "$percent"
    { sleep "$LOSSY_NETWORK_S"; touch "$tmp/end$percent"; } &
    goes_on "F73: $percent % of all packets are lost each way" init barriers 20 stream "$tmp/end$percent" shutdown
    statuses=
    for name in waiting late; do
        ended $name
        statuses="$statuses $status"
        cp "$tmp/$name" "$tmp/out"
    done
    is "F73: ranks that are idle meanwhile, and their rendezvous on a third host, lose nobody" " 0 0" "$statuses"
    unlike "nor does it say so" 'lost' "$tmp/service"
done
all_lose 0

# ---- a host vanishes after losses ----

# The link of a rank on host I has lost packets: the kernel has sent data again, and the peer has not got it twice.
link_lost_packets() {
    on "$1" ss -HOtinp state established | awk '
        function number(key) { return match($0, key "[0-9]+") ? substr($0, RSTART, RLENGTH) : "" }
        /"world"/ {
            match($0, /retrans:[0-9]+\/[0-9]+/)
            again = substr($0, RSTART, RLENGTH)
            twice = number("dsack_dups:")
            sub(/.*\//, "", again)
            sub(/.*:/, "", twice)
            if (again - twice >= 2) lost = 1
        }
        END { exit !lost }'
}

# Packets between ranks are lost, then all of them are. The rendezvous is reached by both, so that only the link can tell.
worker_on 0 a HOROVOD_HOSTNAME=host0 HOROVOD_RANK=0 -- init stream "$tmp/never"
worker_on 1 b HOROVOD_HOSTNAME=host1 HOROVOD_RANK=1 -- init stream "$tmp/never"
ok "two ranks stream" eval 'until_said "^streaming$" "$tmp/a" && until_said "^streaming$" "$tmp/b"'
all_lose 5
ok "F73: a network loses packets of a link in both directions" eval 'until_true link_lost_packets 0 && until_true link_lost_packets 1'
for i in 0 1; do
    on $i nft "table inet pair { chain i { type filter hook input priority 0; ip saddr 198.51.100.$((11 - i)) drop; }; }"
done
ended a
statuses=$status
ended b
cat "$tmp/a" "$tmp/b" >"$tmp/out"
is "F73: a link that lost packets before and is then cut for good is an error for both sides" "1 1" "$statuses $status"
like "that names the host" "connection to rank [01] on host[01] broke: no acknowledgement" "$tmp/out"
for i in 0 1; do on $i nft delete table inet pair; done
all_lose 0
service_ends 2

start on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" "$WORLD" init stream "$tmp/never"
until_said '\[0\].*streaming' && until_said '\[1\].*streaming'
all_lose 5
ok "a link under hvdrun loses packets in both directions" eval 'until_true link_lost_packets 0 && until_true link_lost_packets 1'
tb_cut 1
host_lost "F68 F73: a host vanishes after losses"
all_lose 0
tb_mend 1
clean "and nothing is left on any host, the one that was lost included"

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
