#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starting over hosts, and the end of what runs there, on hosts that tests/testbed.sh makes (as root).
#
#   [BUILD=build] bench/hosts.sh start [-n HOSTS] [-r ROUNDS]    `true`, one rank on each host: hvdrun, mpirun, mpiexec.mpich and
#                                                                plain ssh to all hosts at once, in turn
#   [BUILD=build] bench/hosts.sh end [-r ROUNDS]                 from killing hvdrun -9, cutting a host off, killing its agent, to
#                                                                the end of the last process of the job on any host
#
# Prints a TSV: what, median, worst, in milliseconds, of all rounds; for "start" the ratio to plain ssh. A launcher that is not
# installed is left out by name. The hosts are namespaces of one machine: its cores are shared by all of them.
set -u
cd "$(dirname "$0")/.." || exit 1

usage() { echo "usage: $0 start|end [-n HOSTS] [-r ROUNDS]" >&2; exit 2; }
what=${1-} hosts=4 rounds=11
case $what in start | end) shift ;; *) usage ;; esac
while getopts n:r: option; do
    case $option in
    n) hosts=$OPTARG ;;
    r) rounds=$OPTARG ;;
    *) usage ;;
    esac
done
[ "$what" = start ] || hosts=3
build=${BUILD-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
hvdrun=$build/hvdrun
tmp=$(mktemp -d) || exit 1
TB_NAME=b$$ TB_SELF=$PWD/tests/testbed.sh
. tests/testbed.sh
tb_need || exit 1
trap 'tb_down; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
# One host more: that of the launcher, on which no rank runs.
tb_up $((hosts + 1)) || exit 1
# Logins read no .bashrc: what this machine's does is not what is measured.
sed 's#^root:\(.*\):[^:]*$#root:\1:/bin/sh#' /etc/passwd >"$tmp/passwd"
i=0
while [ $i -le "$hosts" ]; do
    tb_exec $i mount --bind "$tmp/passwd" /etc/passwd || exit 1
    i=$((i + 1))
done

now_ms() { date +%s%N | sed 's/......$//'; }

# note NAME MS: a sample.
note() { echo "$2" >>"$tmp/$1"; }

# statistics NAME: median and worst.
statistics() { sort -n "$tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] "\t" v[NR] }'; }

# ---- start ----

names=$(i=1; while [ $i -le "$hosts" ]; do printf 'host%d ' $i; i=$((i + 1)); done)
list=$(echo "$names" | sed 's/ $//; s/ /,/g')
slots=$(echo "$names" | sed 's/ $//; s/ /:1,/g'):1

run_start() {
    case $1 in
    hvdrun) tb_exec 0 "$hvdrun" -np "$hosts" -H "$slots" true ;;
    mpirun) tb_exec 0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -np "$hosts" -H "$slots" true ;;
    mpiexec.mpich) tb_exec 0 mpiexec.mpich -np "$hosts" -hosts "$list" true ;;
    ssh) tb_exec 0 sh -c "for h in $names; do ssh \$h true & done; wait" ;;
    esac
}

start_once() {
    begin=$(now_ms)
    run_start "$1" </dev/null >"$tmp/said" 2>&1 || { echo "$1 failed: $(tail -n 1 "$tmp/said")" >&2; exit 1; }
    note "$1" $(($(now_ms) - begin))
}

start() {
    peers=
    for p in ssh hvdrun mpirun mpiexec.mpich; do
        case $p in
        *mpi*) command -v $p >/dev/null || { echo "$p is not installed" >&2; continue; } ;;
        esac
        peers="$peers $p"
    done
    i=0
    while [ $i -lt "$rounds" ]; do
        for p in $peers; do start_once "$p"; done
        i=$((i + 1))
    done
    plain=$(statistics ssh | cut -f1)
    printf 'what\tmedian_ms\tworst_ms\tof_ssh\n'
    for p in $peers; do
        statistics "$p" | awk -v p="$p" -v plain="$plain" '{ printf "%s\t%s\t%s\t%.2f\n", p, $1, $2, $1 / plain }'
    done
}

# ---- end ----

# left: processes of the job on the hosts of its ranks, whatever became of their parents.
left() { for p in $(ip netns pids "$(tb_ns 1)" 2>/dev/null; ip netns pids "$(tb_ns 2)" 2>/dev/null); do
    tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" | grep -q "^TOKEN=$tmp" && echo "$p"
done; }

# agents I: hvdagent and its supervisor on host I.
agents() { for p in $(ip netns pids "$(tb_ns "$1")"); do
    [ "$(cat "/proc/$p/comm" 2>/dev/null)" = hvdagent ] && echo "$p"
done; }

end_once() {
    rm -f "$tmp/up"
    tb_exec 0 env TOKEN="$tmp" "$hvdrun" -np 4 -H host1:2,host2:2 sh -c "echo >>$tmp/up; sleep 1000 & wait" \
        </dev/null >"$tmp/said" 2>&1 &
    job=$!
    # shellcheck disable=SC2002  # it may not be there yet
    until [ "$(cat "$tmp/up" 2>/dev/null | wc -l)" = 4 ]; do sleep 0.02; done
    launcher=$(ip netns pids "$(tb_ns 0)" | while read -r p; do
        case $(cat "/proc/$p/comm" 2>/dev/null) in hvdrun*) echo "$p" ;; esac
    done | head -n 1)
    begin=$(now_ms)
    # shellcheck disable=SC2046  # a list of pids; the agent is the supervisor's child and comes later
    case $1 in
    launcher) kill -9 "$launcher" ;;
    cut) tb_cut 1 ;;
    agent) kill -9 $(agents 1 | tail -n 1) ;;
    esac
    until [ -z "$(left)" ]; do sleep 0.01; done
    note "$1" $(($(now_ms) - begin))
    [ "$1" != cut ] || tb_mend 1
    wait "$job" 2>/dev/null
}

end() {
    i=0
    while [ $i -lt "$rounds" ]; do
        for w in launcher agent cut; do end_once $w 2>/dev/null; done
        i=$((i + 1))
    done
    printf 'what\tmedian_ms\tworst_ms\n'
    for w in launcher agent cut; do printf '%s\t%s\n' $w "$(statistics $w)"; done
}

"$what"
