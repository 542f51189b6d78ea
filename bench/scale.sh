#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many hosts, played by this machine: an agent for each, reached by a shell, with a rank on each.
#
#   [BUILD=build] bench/scale.sh [-n HOSTS] [-r ROUNDS] [-w WIDTH,...] [true|init|kill|host...]
#
#   true   `true` on every host, from start to end
#   init   hvd_init, a barrier, hvd_shutdown
#   kill   from killing hvdrun -9, with a rank asleep on every host, to the end of the last process of the job
#   host   the same from killing -9 all processes of the first host, which in a tree has others below it
#
# HOSTS (1000) for each --tree-width (0,32), in turn, ROUNDS times (3). Prints a TSV: what, width, median and worst in seconds; for
# "kill" also how many children hvdrun has (one watches over it), and its peak memory in MiB.
set -u
cd "$(dirname "$0")/.." || exit 1

hosts=1000 rounds=3 widths=0,32
while getopts n:r:w: option; do
    case $option in
    n) hosts=$OPTARG ;;
    r) rounds=$OPTARG ;;
    w) widths=$OPTARG ;;
    *) echo "usage: $0 [-n HOSTS] [-r ROUNDS] [-w WIDTH,...] [true|init|kill|host...]" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- true init kill host
build=${BUILD-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
printf '#!/bin/sh\nexec /bin/sh\n' >"$tmp/way"
chmod 755 "$tmp/way"
names=$(seq -f 'node%g.invalid:1' 1 "$hosts" | paste -sd,)

now_ms() { date +%s%N | sed 's/......$//'; }

# job WIDTH COMMAND...
job() {
    width=$1
    shift
    env HVD_SCALE=$$ "${build:+$build/}hvdrun" -np "$hosts" -H "$names" --remote-shell "$tmp/way %h" --tree-width "$width" "$@" \
        </dev/null
}

# left: whether a process of the job is left.
left() {
    grep -qsza "^HVD_SCALE=$$\$" /proc/[0-9]*/environ
}

# note NAME MS: a sample.
note() { echo "$2" >>"$tmp/$1"; }

run_to_end() {
    began=$(now_ms)
    job "$2" "$3" || exit 1
    note "$1.$2" $(($(now_ms) - began))
}

# sleepers WIDTH: a job with a rank asleep on every host, as $!; $tmp/out has their agents.
sleepers() {
    : >"$tmp/out"
    # shellcheck disable=SC2016
    job "$1" sh -c 'echo $PPID; exec sleep 1000' >"$tmp/out" 2>/dev/null &
    until [ "$(wc -l <"$tmp/out")" -ge "$hosts" ]; do sleep 0.2; done
}

kill_it() {
    sleepers "$1"
    # The name may be cut: it is the process with the most children.
    pid=$(pgrep -P $! -x hvdrun || echo $!)
    pgrep -c -P "$pid" >"$tmp/children.$1"
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" >"$tmp/memory.$1"
    began=$(now_ms)
    kill -KILL "$pid"
    while left; do :; done
    note "kill.$1" $(($(now_ms) - began))
}

kill_host() {
    sleepers "$1"
    agent=$(sed -n 's/^\[0\]<stdout>://p' "$tmp/out")
    began=$(now_ms)
    # shellcheck disable=SC2046 # words
    kill -KILL $(ps -o ppid= -p "$agent") "$agent" $(pgrep -P "$agent")
    while left; do :; done
    note "host.$1" $(($(now_ms) - began))
}

printf 'what\twidth\tmedian_s\tworst_s\tchildren\tMiB\n'
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for width in $(echo "$widths" | tr , ' '); do
        for what in "$@"; do
            case $what in
            true) run_to_end true "$width" true ;;
            init) run_to_end init "$width" "${build:-build}/bench/init" ;;
            kill) kill_it "$width" 2>/dev/null ;;
            host) kill_host "$width" 2>/dev/null ;;
            esac
        done
    done
done
for what in "$@"; do
    for width in $(echo "$widths" | tr , ' '); do
        sort -n "$tmp/$what.$width" | awk -v what="$what" -v width="$width" \
            -v children="$([ "$what" != kill ] || cat "$tmp/children.$width")" \
            -v memory="$([ "$what" != kill ] || cat "$tmp/memory.$width")" '
            { ms[NR] = $1 }
            END { printf "%s\t%d\t%.2f\t%.2f\t%s\t%s\n", what, width, ms[int((NR + 1) / 2)] / 1e3, ms[NR] / 1e3,
                  children, memory == "" ? "" : int(memory / 1024 + 0.5) }'
    done
done
