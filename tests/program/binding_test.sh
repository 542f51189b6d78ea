#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks run where --bind-to says, on hosts in the order of --map-by.
# shellcheck disable=SC2086  # $show is a command of three words
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/hosts.sh"

# cpus FIRST-ROW...: of what ranks have printed, the processors that each may use, by rank.
show='grep Cpus_allowed_list: /proc/self/status'
cpus() {
    sort "$tmp/out" | sed 's/^.*Cpus_allowed_list:[[:space:]]*//' | paste -sd' '
}
own=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
# The first two processors that we may use; the second is empty if there is one only.
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
second=$(echo "$own" | sed -n 's/^\([0-9]*\),\([0-9]*\).*/\2/p; s/^\([0-9]*\)-.*/\1/p')
[ "$second" != "$first" ] || second=$((first + 1))

run "$HVDRUN" -np 2 --bind-to none $show
is "ranks that are not bound may use what hvdrun may use" "$own $own" "$(cpus)"

# One processor, as a container may have; the machine has others.
run taskset -c "$first" "$HVDRUN" -np 1 --bind-to core --report-bindings $show
is "a rank is bound within what hvdrun itself may use" "$first" "$(cpus)"
like "and what it is bound to is said" "^hvdrun: rank 0 on localhost: bound to core [0-9]+ \(cpu $first\)\$" "$tmp/err"
run taskset -c "$first" "$HVDRUN" -np 2 --bind-to core touch "$tmp/started"
is "more ranks than cores are status 2" 2 "$status"
like "in a line that names the host, the ranks and the cores" \
    '^hvdrun: FAILED on localhost: --bind-to core: 2 ranks, but 1 core \(core:overload-allowed ' "$tmp/err"
is "and no other" 1 "$(wc -l <"$tmp/err")"
ok "and no rank is started" [ ! -e "$tmp/started" ]
run taskset -c "$first" "$HVDRUN" -np 2 --bind-to core:overload-allowed $show
is "unless they may share it" "$first $first" "$(cpus)"
run taskset -c "$first" "$HVDRUN" --check-hosts -H localhost:2 --bind-to core
is "--check-hosts looks at it, too" 2 "$status"
like "and names the step" '^localhost: binding: --bind-to core: 2 ranks, but 1 core' "$tmp/out"

if [ -n "$second" ]; then
    run taskset -c "$first,$second" env HWLOC_SYNTHETIC="core:1024 pu:1" "$HVDRUN" -np 2 --bind-to core $show
    is "two ranks have two cores" "$first $second" "$(cpus)"
    run taskset -c "$first,$second" env HWLOC_SYNTHETIC="package:1024 core:1 pu:1" "$HVDRUN" -np 2 --bind-to socket \
        --report-bindings $show
    is "or two sockets, where there are two" "$first $second" "$(cpus)"
    like "which is said" "^hvdrun: rank 1 on localhost: bound to socket $second \(cpu $second\)\$" "$tmp/err"
    run taskset -c "$first,$second" env HWLOC_SYNTHETIC="numa:1 core:1024 pu:1" "$HVDRUN" -np 2 --bind-to numa $show
    is "or share a NUMA node" 1 "$(cpus | tr ' ' '\n' | sort -u | wc -l)"
else
    for _ in 1 2 3 4; do skip "two ranks have two cores" "one processor"; done
fi
# shellcheck disable=SC2016  # expanded by the ranks' shell
told='echo "${HVD_PROCESSORS-unset}"'
processors() {
    sed 's/^.*<stdout>://' "$tmp/out" | paste -sd' '
}
if [ -n "$second" ]; then
    run taskset -c "$first,$second" env HWLOC_SYNTHETIC="package:1024 core:1 pu:1" "$HVDRUN" -np 2 --bind-to socket sh -c "$told"
    is "ranks that are bound are told what they share" "2 2" "$(processors)"
else
    skip "ranks that are bound are told what they share" "one processor"
fi
run env HVD_PROCESSORS=7 "$HVDRUN" -np 2 sh -c "$told"
is "and ranks that are not bound are told nothing" "unset unset" "$(processors)"

# A container without /sys, of which hwloc would say a line of its own.
# shellcheck disable=SC2016
bare='mount -t tmpfs none /sys && exec "$@"'
if unshare -m sh -c "$bare" sh true 2>/dev/null; then
    # shellcheck disable=SC2016
    run unshare -m sh -c "$bare" sh "$HVDRUN" -np 1 --bind-to core --report-bindings sh -c 'echo "hwloc: ${HWLOC_HIDE_ERRORS-unset}"'
    is "without /sys a rank is bound" 0 "$status"
    is "and nothing else is said" "hvdrun: rank 0 on localhost: bound to core" "$(sed 's/ [0-9]* (cpu [0-9]*)$//' "$tmp/err")"
    like "nor is the rank's environment another" 'hwloc: unset$' "$tmp/out"
else
    skip "without /sys a rank is bound" "no mount namespaces"
fi

run "$HVDRUN" -np 1 --report-bindings true
is "a rank that is not bound is told, too" "hvdrun: rank 0 on localhost: not bound" "$(cat "$tmp/err")"

# shellcheck disable=SC2016  # expanded by the ranks' shell
place='echo "$HOROVOD_RANK $HOROVOD_LOCAL_RANK $HOROVOD_LOCAL_SIZE $HOROVOD_CROSS_RANK $HOROVOD_CROSS_SIZE $HOROVOD_HOSTNAME"'

# placed SENTENCE: what ranks have printed of their places is what stands on stdin.
placed() {
    sed 's/^.*<stdout>://' "$tmp/out" | sort >"$tmp/placed"
    cat >"$tmp/expected"
    ok "$1" cmp "$tmp/placed" "$tmp/expected"
}

hosts_up 2 || { skip "ranks by node" "$hosts_reason"; finish; exit; }
run on 0 "$HVDRUN" -np 5 -H "$(slots 2 3)" --map-by node sh -c "$place"
placed "by node each host gets one rank in its turn" <<.
0 0 2 0 2 $(host 0)
1 0 3 1 2 $(host 1)
2 1 2 0 2 $(host 0)
3 1 3 1 2 $(host 1)
4 2 3 0 1 $(host 1)
.
run on 0 "$HVDRUN" -np 3 -H "$(slots 2 2)" --map-by slot sh -c "$place"
placed "by slot the first one is filled" <<.
0 0 2 0 2 $(host 0)
1 1 2 0 1 $(host 0)
2 0 1 1 2 $(host 1)
.
run on 0 "$HVDRUN" -np 5 -H "$(slots 2 3)" --map-by node "$WORLD" init collectives shutdown
is "ranks by node reduce as others do" 0 "$status"
run on 0 "$HVDRUN" -np 2 -H "$(slots 1 1)" --bind-to core --report-bindings true
is "every host binds its own ranks" 2 "$(grep -c 'bound to core 0' "$tmp/err")"
like "and says so" "^hvdrun: rank 1 on $(host 1): bound to core 0 " "$tmp/err"
ok "nothing is left of all these" until_true nothing_left
finish
