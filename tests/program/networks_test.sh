#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks find each other across hosts without a flag, whatever networks there are, and notice when one is gone. The ranks
# are started by hand; only libhvd is at work here.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 TB_NETS=2 TB_DECOY=1 || skip_all "$hosts_reason"
links || skip_all "$no_links"

# net_address HOST NET
net_address() {
    [ "$2" = 0 ] && echo "198.51.100.$((10 + $1))" || echo "203.0.113.$((10 + $1))"
}

# meets SIZE: a rendezvous on host 2, out of the way of what happens to the others.
meets() {
    rm -f "$tmp"/rank* "$tmp/end" "$tmp/hold" "$tmp/where"
    mkfifo "$tmp/hold"
    size=$1 ranks=
    on 2 "$MEET" "$1" <"$tmp/hold" >"$tmp/where" &
    exec 9>"$tmp/hold"
    until_true [ -s "$tmp/where" ]
    read -r port key <"$tmp/where"
}

# rank R HOST [VARIABLE=VALUE...] -- ACT...: starts a rank.
rank() {
    _r=$1 _h=$2 _set=
    shift 2
    while [ "$1" != -- ]; do
        _set="$_set $1"
        shift
    done
    shift
    # shellcheck disable=SC2086  # assignments
    on "$_h" timeout -k 1 120 env HOROVOD_RANK="$_r" HOROVOD_SIZE="$size" HOROVOD_HOSTNAME="host$_h" \
        HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1 HOROVOD_CROSS_RANK="$_r" HOROVOD_CROSS_SIZE="$size" \
        HOROVOD_GLOO_RENDEZVOUS_ADDR=198.51.100.12 HOROVOD_GLOO_RENDEZVOUS_PORT="$port" HVD_JOB_KEY="$key" \
        $_set "$WORLD" "$@" >"$tmp/rank$_r" 2>"$tmp/rank$_r.err" </dev/null 9>&- &
    eval "pid$_r=$!"
    ranks="$ranks $_r"
}

# Waits for the ranks and fills $statuses; then the rendezvous goes.
wait_for_ranks() {
    statuses=
    for _r in $ranks; do
        eval "_p=\$pid$_r"
        _s=0
        wait "$_p" || _s=$?
        statuses="$statuses${statuses:+ }$_s"
    done
    exec 9>&-
    cat "$tmp"/rank* >"$tmp/out"
    : >"$tmp/err"
}

said() { grep -Eqs "$2" "$tmp/rank$1" "$tmp/rank$1.err"; }
until_rank() { until_true said "$@"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# took SENTENCE: how long ago $then_ms was, for the reader.
took() { echo "# $1 after $(($(now_ms) - then_ms)) ms"; }

# nft_drop I MATCH: host I drops what comes in and matches.
nft_drop() {
    on "$1" nft "table inet t { chain i { type filter hook input priority 0; $2 drop; }; }"
}
nft_clear() { on "$1" nft delete table inet t; }

# links_of HOST: the addresses of other hosts that it has connections with.
links_of() {
    on "$1" ss -Htn state established | awk '{ print $4 }' | sed 's/:[0-9]*$//; s/\[::ffff:\(.*\)\]/\1/; s/[][]//g' | sort -u
}

# doors_of HOST: where its ranks, and nobody else, listen.
doors_of() {
    on "$1" ss -Htlnp | awk '/"world"/ { print $4 }' | sort -u
}

# ---- which network ----

meets 2
rank 0 0 -- init barriers 10 stream "$tmp/end"
rank 1 1 -- init barriers 10 stream "$tmp/end"
until_rank 0 streaming
links_of 0 >"$tmp/links"
touch "$tmp/end"
wait_for_ranks
is "two hosts with two networks and a decoy on each meet without a flag" "0 0" "$statuses"
unlike "not over the decoy" '^172\.17\.' "$tmp/links"

meets 4
for r in 0 1 2 3; do
    rank $r $((r % 2)) HVD_PORT_RANGE=41000-41001 -- init collectives
done
wait_for_ranks
is "four ranks with the same two ports on both hosts" "0 0 0 0" "$statuses"

meets 3
rank 0 0 HVD_PORT_RANGE=41000-41001 -- init
rank 1 0 HVD_PORT_RANGE=41000-41001 -- init
until_true eval '[ "$(on 0 ss -Htln "sport >= :41000 and sport <= :41001" | wc -l)" = 2 ]'
rank 2 0 HVD_PORT_RANGE=41000-41001 -- init
until_rank 2 world:
cp "$tmp/rank2.err" "$tmp/err"
like "a third one on one of them is told" "HVD_PORT_RANGE: no port from 41000 to 41001 is free" "$tmp/err"
exec 9>&- # nobody else will come
wait_for_ranks

meets 2
rank 0 0 HVD_NETWORK_INTERFACES=eth1 -- init stream "$tmp/end"
rank 1 1 HVD_NETWORK_INTERFACES=203.0.113.0/24 -- init stream "$tmp/end"
until_rank 0 streaming
links_of 0 >"$tmp/links"
doors_of 0 >"$tmp/doors"
here=$(sed -n 's/^203\.0\.113\.10://p' "$tmp/doors")
on 1 bash -c "exec 3<>/dev/tcp/203.0.113.10/$here" 2>"$tmp/none" && open=yes || open=no
on 1 bash -c "exec 3<>/dev/tcp/198.51.100.10/$here" 2>"$tmp/none" && open="$open yes" || open="$open no"
touch "$tmp/end"
wait_for_ranks
is "a network may be chosen by name and by address" "0 0" "$statuses"
like "and it is used" '^203\.0\.113\.11$' "$tmp/links"
is "the port is open there and on loopback, and nowhere else" "127.0.0.1:$here 203.0.113.10:$here" \
    "$(paste -sd " " "$tmp/doors")"
is "an unauthenticated client on another network finds none" "yes no" "$open"

for h in 0 1; do
    on $h ip -6 addr add 2001:db8::1$h/64 dev eth0 nodad 2>"$tmp/none" || rm -f "$tmp/none"
done
if [ -e "$tmp/none" ]; then
    meets 2
    rank 0 0 HVD_NETWORK_INTERFACES=2001:db8::/64 -- init stream "$tmp/end"
    rank 1 1 HVD_NETWORK_INTERFACES=2001:db8::/64 -- init stream "$tmp/end"
    until_rank 0 streaming
    links_of 0 >"$tmp/links"
    touch "$tmp/end"
    wait_for_ranks
    is "and IPv6 alone will do" "0 0" "$statuses"
    like "between the two" '^2001:db8::11$' "$tmp/links"
    for h in 0 1; do
        on $h ip -6 addr flush dev eth0 scope global
    done
else
    skip "and IPv6 alone will do" "no IPv6"
    skip "between the two" "no IPv6"
fi

meets 2
rank 0 0 HVD_NETWORK_INTERFACES=ib0 -- init
until_rank 0 world:
cp "$tmp/rank0.err" "$tmp/err"
like "one that is not there is named with the host" \
    "HVD_NETWORK_INTERFACES on host0: no interface 'ib0' \(have: .*eth0 198.51.100.10" "$tmp/err"
ranks=0 && wait_for_ranks

# The first network leads nowhere; the rendezvous is reached all the same.
meets 2
nft_drop 1 'ip saddr 198.51.100.10'
rank 0 0 -- init barriers 10
rank 1 1 -- init barriers 10
wait_for_ranks
is "a network that swallows everything is passed over for the other" "0 0" "$statuses"
nft_clear 1

# ---- a host that is gone ----

# begin: two ranks that move data on the first network.
begin() {
    meets 2
    rank 0 0 HVD_NETWORK_INTERFACES=eth0 -- init stream "$tmp/end"
    rank 1 1 HVD_NETWORK_INTERFACES=eth0 -- init stream "$tmp/end"
    until_rank 0 streaming && until_rank 1 streaming
    then_ms=$(now_ms)
}

begin
tb_cut 1
until_rank 0 world:
took "F68 seen"
cp "$tmp/rank0.err" "$tmp/err"
like "a host that vanishes while data moves is an error that names it" \
    "connection to rank 1 on host1 broke: no acknowledgement" "$tmp/err"
wait_for_ranks
is "for both sides" "1 1" "$statuses"
tb_mend 1

# A busy machine may make it longer than 2 seconds. Then a lost host says nothing, and there is another trial.
statuses=none
for _ in 1 2 3 4 5 6 7 8 9 10; do
    begin
    away_ms=$(tb_away 1 1.8)
    touch "$tmp/end"
    wait_for_ranks
    [ "$statuses" != "0 0" ] && [ "$away_ms" -gt 2000 ] || break
    echo "# away for $away_ms ms: $statuses"
done
sentence="F70: a host that is back within 2 seconds was never gone"
if [ "$statuses" != "0 0" ] && [ "$away_ms" -gt 2000 ]; then
    skip "$sentence" "this machine is too busy to cut a host off for 2 seconds"
else
    is "$sentence" "0 0" "$statuses"
fi

begin
nft_drop 1 'ip saddr 198.51.100.10'
until_rank 0 world: && until_rank 1 world:
took "F71 seen by both"
wait_for_ranks
is "F71: one direction is as good as none" "1 1" "$statuses"
cat "$tmp"/rank*.err >"$tmp/err"
like "and one of the two says why" "connection to rank [01] on host[01] broke: no acknowledgement" "$tmp/err"
nft_clear 1

begin
nft_drop 0 'ip saddr 198.51.100.11'
nft_drop 1 'ip saddr 198.51.100.10'
until_rank 0 world: && until_rank 1 world:
took "F72 seen by both"
cat "$tmp/rank0.err" "$tmp/rank1.err" >"$tmp/err"
like "F72: two that do not reach each other name the pair" "rank [01] on host[01]" "$tmp/err"
wait_for_ranks
nft_clear 0
nft_clear 1

# A host that is back at once, without the rank that was there.
# Rank 0 may name the rendezvous' news as the cause, or its own link's error (connection reset). Two retransmissions with the
# same timeout decide which comes first: that of rank 0's data, and that of the dead rank's FIN to the rendezvous. What is
# recorded first stays, as other threads may have read it, so only the rank that both name is certain.
begin
tb_cut 1
# shellcheck disable=SC2046  # a list of processes
kill -KILL $(host_pids_named 1 world)
tb_mend 1
until_rank 0 world:
took "F74 seen"
cp "$tmp/rank0.err" "$tmp/err"
like "F74: a host that is back at once and knows no connection is an error that names the rank" \
    "rank 1 on host1 (broke|was lost)" "$tmp/err"
wait_for_ranks

# ---- unauthenticated clients ----

meets 2
rank 1 1 HVD_NETWORK_INTERFACES=eth0 HVD_PORT_RANGE=41000-41000 -- init collectives
until_true eval '[ "$(on 1 ss -Htln "sport = :41000" | wc -l)" = 2 ]' # there and on loopback
rm -f "$tmp/enough"
on 2 "$builddir/tests/support/unauthenticated" 198.51.100.11 41000 crowd "$tmp/enough" 1000 - \
    silent 100 scan 100 newlines 30 tls 30 frames 30 head 30 >"$tmp/crowd" 2>&1 &
crowd=$!
until_said '^crowded$' "$tmp/crowd"
rank 0 0 HVD_NETWORK_INTERFACES=eth0 -- init collectives
wait_for_ranks
is "F80: ranks meet while unauthenticated clients crowd at a data port" "0 0" "$statuses"
touch "$tmp/enough"
wait $crowd

# ---- waiting ----

# A rank that waits for bytes, and has sent all of its own.
meets 2
rank 0 0 HVD_NETWORK_INTERFACES=eth0 -- init barriers 1 print waiting barriers 1
rank 1 1 HVD_NETWORK_INTERFACES=eth0 -- init barriers 1 print waiting wait "$tmp/end"
until_rank 0 waiting && until_rank 1 waiting
then_ms=$(now_ms)
tb_cut 1
until_rank 0 world:
took "a silent host seen by one who waits"
cp "$tmp/rank0.err" "$tmp/err"
like "a host that vanishes while another waits for it is named, too" "rank 1 on host1 broke" "$tmp/err"
touch "$tmp/end"
wait_for_ranks
tb_mend 1

# ---- nothing works ----

meets 2
nft_drop 1 'tcp flags syn ip saddr { 198.51.100.10, 203.0.113.10 }'
rank 0 0 -- init
rank 1 1 -- init
until_rank 0 world:
cp "$tmp/rank0.err" "$tmp/err"
like "a rank that nothing leads to is named with each address and cause" \
    "no link from rank 0 on host0 to rank 1 on host1 within 30 s: 198.51.100.11:[0-9]*: no answer; 203.0.113.11:[0-9]*: no answer; 172.17.0.1:[0-9]*: " \
    "$tmp/err"
is "in one line" 1 "$(wc -l <"$tmp/err")"
wait_for_ranks
nft_clear 1
finish
