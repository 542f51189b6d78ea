#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs across hosts work: places, collectives, networks, environment, output, ends, secrets, many hosts.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 4 TB_NETS=2 TB_DECOY=1 || skip_all "$hosts_reason"

# Places
# shellcheck disable=SC2016  # expanded by the ranks' shell
table='echo "$HOROVOD_RANK $HOROVOD_SIZE $HOROVOD_LOCAL_RANK $HOROVOD_LOCAL_SIZE $HOROVOD_CROSS_RANK $HOROVOD_CROSS_SIZE $HOROVOD_HOSTNAME"'
run on 0 "$HVDRUN" -np 7 -H "$(slots 2 1 3 1)" sh -c "$table"
is "a job on four hosts with unequal slots ends well" 0 "$status"
sed 's/^.*<stdout>://' "$tmp/out" | sort >"$tmp/sorted"
cat >"$tmp/expected" <<-.
	0 7 0 2 0 4 $(host 0)
	1 7 1 2 0 2 $(host 0)
	2 7 0 1 1 4 $(host 1)
	3 7 0 3 2 4 $(host 2)
	4 7 1 3 1 2 $(host 2)
	5 7 2 3 0 1 $(host 2)
	6 7 0 1 3 4 $(host 3)
.
ok "each rank is told its place" cmp "$tmp/sorted" "$tmp/expected"
run on 0 "$HVDRUN" -np 3 -H "$(slots 0 1 1 1)" hostname
if links; then
    is "and is there" "host1 host2 host3" "$(sed 's/^.*<stdout>://' "$tmp/out" | sort | paste -sd' ')"
else
    skip "and is there" "$no_links"
fi
run on 0 "$HVDRUN" -np 2 -H "$(slots 0 2)" sh -c "$table"
is "a job may have no rank on hvdrun's own host" 0 "$status"
run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" pwd
is "ranks run in hvdrun's working directory on every host" 2 "$(grep -c ">:$PWD\$" "$tmp/out")"
(umask 027 && run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" sh -c umask)
is "and with its umask" 2 "$(grep -c ':0027$' "$tmp/out")"

# Collectives
run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" "$HELLO"
is "two hosts reduce: with two networks, and a docker0 of the same address on both" 0 "$status"
run on 0 "$HVDRUN" -np 6 -H "$(slots 2 1 2 1)" "$WORLD" init collectives shutdown
is "four hosts: every operation, type and count gives the reference's result" 0 "$status"
run on 0 "$HVDRUN" -np 3 -H "$(slots 0 1 0 2)" "$WORLD" init collectives shutdown
is "and without hvdrun's own host" 0 "$status"
ok "nothing is left of all these" until_true nothing_left

# Networks
# received I INTERFACE: bytes that host I has got there
received() {
    on "$1" cat "/sys/class/net/$2/statistics/rx_bytes"
}
mostly_over_eth1() {
    [ $(($(received 1 eth1) - before_eth1)) -gt $(($(received 1 eth0) - before_eth0)) ]
}
if links; then
    for choice in eth1 203.0.113.0/24; do
        before_eth0=$(received 1 eth0) before_eth1=$(received 1 eth1)
        run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" --network-interfaces $choice "$WORLD" init collectives shutdown
        is "--network-interfaces $choice" 0 "$status"
        ok "is where ranks meet" mostly_over_eth1
    done
    on 2 sh -c 'ip link set eth1 down && ip link set eth1 name ib7 && ip link set ib7 up'
    run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" --network-interfaces eth1 touch "$tmp/started"
    is "an interface that one host has not is status 2" 2 "$status"
    like "in a line that names both" "^hvdrun: .*host2.*'eth1'" "$tmp/err"
    is "and no other" 1 "$(wc -l <"$tmp/err")"
    ok "and no rank is started" [ ! -e "$tmp/started" ]
    run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" --network-interfaces eth1 --network-interfaces host2=ib7 \
        "$WORLD" init barriers 10 shutdown
    is "interfaces may differ by host" 0 "$status"

    run on 0 "$HVDRUN" -np 2 -H host0:1,198.51.100.11:1 --network-interfaces lo touch "$tmp/started"
    is "loopback alone is status 2 where one host is here and the other one is the address of another machine" \
        "2 hvdrun: error: --network-interfaces: only loopback on host0, which ranks on 198.51.100.11 do not reach: 'lo'" \
        "$status $(cat "$tmp/err")"
    ok "before a rank is started" [ ! -e "$tmp/started" ]

    # told SENTENCE INTERFACES HOSTS OPTION...: the interfaces that Horovod's own ranks and NCCL find named, rank by rank
    told() {
        _sentence=$1 _expected=$2 _hosts=$3
        shift 3
        # shellcheck disable=SC2016
        run on 0 "$HVDRUN" -np "$(echo "$_expected" | wc -w)" -H "$_hosts" "$@" \
            sh -c 'echo "$HOROVOD_RANK $HOROVOD_GLOO_IFACE,$NCCL_SOCKET_IFNAME"'
        is "$_sentence" "$_expected" "$(sed 's/^.*<stdout>://' "$tmp/out" | sort | cut -d' ' -f2 | paste -sd' ')"
    }
    told "Horovod and NCCL are told the network by which hosts are reached" "eth0,eth0 eth0,eth0 eth0,eth0" \
        host0:1,host1:1,host2:1
    ib=host0-ib:1,host1-ib:1,host2-ib:1
    told "also if that is the second one, with other names on other hosts" "eth1,eth1 eth1,eth1 ib7,ib7" $ib
    told "and without hvdrun's own host" "eth1,eth1 ib7,ib7" host1-ib:1,host2-ib:1
    told "and by the external ssh" "eth1,eth1 eth1,eth1 ib7,ib7" $ib --remote-shell 'ssh %h'
    told "a shell that says nothing of the login leaves the first one" "eth0,eth0 eth0,eth0 eth0,eth0" \
        $ib --remote-shell 'ssh %h env -u SSH_CONNECTION'
    told "a host on which another one is asked for gets that" "eth1,eth1 eth0,eth0 ib7,ib7" \
        $ib --network-interfaces host1-ib=eth0
    told "-x wins over all" "told0,eth1 told0,eth1 told0,ib7" $ib -x HOROVOD_GLOO_IFACE=told0

    start on 0 "$HVDRUN" -np 4 -H "$(slots 0 2 2)" --port-range 30000-30009 \
        "$WORLD" init barriers 10 print up wait "$tmp/go" barriers 10 shutdown
    for rank in 0 1 2 3; do until_said "\\[$rank\\].*up"; done
    is "--port-range keeps the job's ports that other hosts can reach within it" "" \
        "$(on 1 ss -Hltn | awk '$4 !~ /^127/ { sub(/.*:/, "", $4); if ($4 != 22 && ($4 < 30000 || $4 > 30009)) print $4 }')"
    is "two ranks have two of them" 2 "$(on 1 ss -Hltn | grep -c ':3000[0-9] ')"
    : >"$tmp/go"
    finish_job
    is "and the job works" 0 "$status"
    run on 0 "$HVDRUN" -np 3 -H "$(slots 1 2)" --port-range 30050-30050 "$WORLD" init shutdown
    is "a range with too few ports is refused" 2 "$status"
    like "with the host that needs more" "'30050-30050' has 1 port, and the ranks on host1 need 2\$" "$tmp/err"
    for i in 0 1; do on $i ip -6 addr add fd00::1$i/64 dev eth0 nodad; done 2>/dev/null
    if on 0 ssh -o HostKeyAlias=host1 fd00::11 true 2>/dev/null; then
        ssh_config "$tmp/ipv6" '' 'Host fd00::11' 'HostKeyAlias host1' 'Host *'
        run on 0 with_config "$tmp/ipv6" "$HVDRUN" -np 2 -H 'host0:1,[fd00::11]:1' --network-interfaces fd00::/64 \
            "$WORLD" init barriers 10 shutdown
        is "a host with an IPv6 address, and ranks that meet over IPv6" 0 "$status"
    else
        skip "a host with an IPv6 address, and ranks that meet over IPv6" "no IPv6 here"
    fi
else
    skip "--network-interfaces and --port-range" "$no_links"
fi

# The environment
long=$(head -c 100000 /dev/zero | tr '\0' x)
odd=$(printf '\001\377two\nlines\t"$x`\\ %%n')
expected=$(printf %s "$odd" | cksum)
# shellcheck disable=SC2016
run on 0 env A="$long" B="$long" C="$long" ODD="$odd" "$HVDRUN" -np 2 -H "$(slots 1 1)" \
    sh -c 'echo ${#A} ${#B} ${#C} $(printf %s "$ODD" | cksum)'
is "300 kB of environment with any bytes arrive on every host" 2 "$(grep -c ">:100000 100000 100000 $expected\$" "$tmp/out")"
# shellcheck disable=SC2016
run on 0 env CUDA_VISIBLE_DEVICES=3 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" -x NEW='a b=c' -x CUDA_VISIBLE_DEVICES \
    sh -c 'echo "$NEW|$CUDA_VISIBLE_DEVICES"'
is "-x sets a variable, and passes on what else would stay behind" 2 "$(grep -c '>:a b=c|3$' "$tmp/out")"
ok "which needs no warning" [ ! -s "$tmp/err" ]
# shellcheck disable=SC2016
run on 0 env CUDA_VISIBLE_DEVICES=3 ZE_AFFINITY_MASK=0 "$HVDRUN" -np 2 -H "$(slots 1 1)" sh -c 'echo "${CUDA_VISIBLE_DEVICES-unset}"'
is "the accelerators that may be used are told to ranks on this machine, to no others" '[0]<stdout>:3 [1]<stdout>:unset' "$(sort "$tmp/out" | paste -sd' ')"
like "which is said once" "^hvdrun: warning: CUDA_VISIBLE_DEVICES, ZE_AFFINITY_MASK: for ranks on this machine only, not on $(host 1) \\(-x passes it on to all\\)\$" "$tmp/err"
run on 0 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" "$ACT" fds
is "a rank on another host has descriptors 0, 1 and 2 and no other" 2 "$(grep -c '>:0 1 2 $' "$tmp/out")"
run on 0 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" "$ACT" ignored
is "and no signal ignored or blocked" 2 "$(grep -c '>:$' "$tmp/out")"

# Output, input, ends
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" "$ACT" lines 5000
is "every line of every rank arrives" 15000 "$(grep -c '^\[[012]\]<stdout>:' "$tmp/out")"
mkfifo "$tmp/fifo"
new_job
env HVD_TEST_JOB="$job" on 0 "$HVDRUN" --heartbeat-timeout 3 -np 3 -H "$(slots 1 1 1)" "$ACT" lines 5000 \
    >"$tmp/fifo" 2>"$tmp/err" </dev/null &
pid=$!
exec 9<"$tmp/fifo"
sleep 4 # longer than hosts may be silent
is "F63: a reader that does not read for longer than hosts may be silent gets every line" 15000 \
    "$(cat <&9 | grep -c '^\[[012]\]<stdout>:')"
exec 9<&-
finish_job
is "and the job ends well" 0 "$status"
run on 0 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" sh -c 'echo to stdout; echo to stderr >&2'
is "stdout and stderr stay apart" "2 2" "$(grep -c '<stdout>:to stdout$' "$tmp/out") $(grep -c '<stderr>:to stderr$' "$tmp/err")"
printf 'first\nsecond\n' | on 0 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" cat >"$tmp/out" 2>"$tmp/err"
is "rank 0 on another host reads hvdrun's stdin, to its end" '[0]<stdout>:first [0]<stdout>:second' "$(paste -sd' ' "$tmp/out")"
head -c 3000000 /dev/zero | on 0 "$HVDRUN" -np 1 -H "$(slots 0 1)" wc -c >"$tmp/out" 2>"$tmp/err"
is "megabytes of it" '[0]<stdout>:3000000' "$(cat "$tmp/out")"
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" sh -c '[ $HOROVOD_RANK = 1 ] && { echo "it broke" >&2; exit 42; }; sleep 1000'
is "the status of a rank on another host is hvdrun's" 42 "$status"
like "which names rank and host" "^hvdrun: FAILED rank 1 on $(host 1) \\(pid [0-9]+\\): exited with status 42" "$tmp/err"
is "and what it said last is told once" 1 "$(grep -c 'it broke$' "$tmp/err")"
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" "$ACT" only 2 die 11
is "so is its signal" 139 "$status"
clean "and nothing is left on any host"
run on 0 "$HVDRUN" -np 2 -H "$(slots 0 1 1)" sh -c "$ACT daemon; $ACT holder; sleep 1000 & exit 0"
is "what ranks leave behind does not keep the job from ending" 0 "$status"
clean "and is ended with it, on every host"
start on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" "$ACT" say-signals
for rank in 0 1 2; do until_said "\\[$rank\\].*listening"; done
signal_hvdrun USR1
ok "SIGUSR1 is passed on to every host" until_said '\[2\]<stdout>:got SIGUSR1'
signal_hvdrun TERM
finish_job
is "SIGTERM ends the job with status 143" 143 "$status"
clean "and leaves nothing on any host"

# Secrets
CANARY=canary$$x$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
export CANARY
start on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" "$WORLD" init barriers 10 print up stay
for rank in 0 1 2; do until_said "\\[$rank\\].*up"; done
echo "$CANARY" >"$tmp/secrets"
for p in $(job_pids world); do tr '\0' '\n' <"/proc/$p/environ" | sed -n 's/^HVD_JOB_KEY=//p'; done | sort -u >>"$tmp/secrets"
is "three ranks have three keys" 4 "$(wc -l <"$tmp/secrets")"
is "the environment reaches every host" 3 "$(for p in $(job_pids world); do tr '\0' '\n' <"/proc/$p/environ"; done | grep -c "$CANARY")"
ok "neither it nor the key is on a command line of any host" not grep -qsaF -f "$tmp/secrets" /proc/[0-9]*/cmdline
signal_hvdrun TERM
finish_job
unset CANARY

# Hosts that are only looked at
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" --check-hosts touch "$tmp/checked"
is "--check-hosts ends with status 0 if a job could run" 0 "$status"
is "prints a line for every host" "$(host 0) $(host 1) $(host 2)" "$(sed '1d; /^CUDA on /d' "$tmp/out" | cut -d' ' -f1 | paste -sd' ')"
run on 0 "$HVDRUN" -np 3 -H "$(slots 1 1 1)" --check-hosts "$tmp/no-such-command"
is "and with the status that a job would have" 127 "$status"
is "after all hosts were looked at" 3 "$(grep -Ec '^[^ ]+: command not found: ' "$tmp/out")"
ok "and starts nothing" [ ! -e "$tmp/checked" ]

# Two jobs at once on the same hosts
run on 0 sh -c 'for n in 1 2 3; do "$@" & done; wait' sh "$HVDRUN" -np 4 -H "$(slots 1 1 2)" "$WORLD" init barriers 100 print through shutdown
is "F57: three jobs at once on the same hosts" 12 "$(grep -c '>:through$' "$tmp/out")"
clean "and nothing is left"

# Hosts of another kind: one has full disks and a home directory that cannot be written to, the other's clock is a year off.
if links; then
    mkdir "$tmp/home"
    own_tmp 1 size=64k
    user 1 '' "$tmp/home"
    on 1 sh -c "mount -t tmpfs -o ro none '$tmp/home'; mount -o remount,size=64k /dev/shm
        for place in /tmp /dev/shm; do head -c 100000 /dev/zero >\$place/fill; done" 2>/dev/null
    run on 0 "$HVDRUN" -np 3 -H host0:1,host1:2 "$WORLD" init barriers 10 shutdown
    is "F53: a host whose disks are full runs ranks that share memory" 0 "$status"
fi
if links && [ "$SANITIZERS" = no ]; then # theirs must be loaded first
    cat >"$tmp/year.c" <<-.
	#include <dlfcn.h>
	#include <sys/time.h>
	#include <time.h>
	static const time_t year = 365 * 86400;
	int clock_gettime(clockid_t id, struct timespec *now)
	{
	    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	    int rc = real(id, now);
	    now->tv_sec += id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? year : 0;
	    return rc;
	}
	int gettimeofday(struct timeval *restrict now, void *restrict zone)
	{
	    struct timespec exact;
	    (void)zone;
	    int rc = clock_gettime(CLOCK_REALTIME, &exact);
	    *now = (struct timeval){ exact.tv_sec, exact.tv_nsec / 1000 };
	    return rc;
	}
	time_t time(time_t *now)
	{
	    struct timespec exact;
	    clock_gettime(CLOCK_REALTIME, &exact);
	    return now ? *now = exact.tv_sec : exact.tv_sec;
	}
	.
    # shellcheck disable=SC2086  # CC may have options
    $CC -D_GNU_SOURCE -shared -fPIC -o "$tmp/year.so" "$tmp/year.c"
    printf '#!/bin/sh\nLD_PRELOAD=%s exec /bin/sh "$@"\n' "$tmp/year.so" >"$tmp/later"
    chmod +x "$tmp/later"
    user 2 "$tmp/later"
    run on 0 "$HVDRUN" -np 2 -H host0:1,host2:1 date +%s
    ok "the clock of a host is a year ahead" [ "$(sed 's/.*://' "$tmp/out" | sort -n | paste -sd- |
        awk -F- '{ print int(($2 - $1) / 86400 / 10) }')" = 36 ]
    run on 0 "$HVDRUN" -np 3 -H host0:1,host2:2 "$WORLD" init barriers 10 shutdown
    is "F54: that is no harm" 0 "$status"
    ok "and nothing is said about it" [ ! -s "$tmp/err" ]
else
    skip "F54: a host whose clock is a year ahead" "needs a host of its own, and no sanitizers"
fi

# Many hosts
hosts_up 16
run on 0 "$HVDRUN" --start-timeout 120 -np 16 -H "$(slots 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1)" "$WORLD" init barriers 10 shutdown
is "sixteen hosts" 0 "$status"
clean "and nothing is left on any of them"
finish
