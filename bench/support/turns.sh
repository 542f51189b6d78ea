# SPDX-License-Identifier: Apache-2.0
# The turns of bench/run: one program after the other, what they print collected in $tmp/samples, what else the machine did
# meanwhile, and in which state the machine was. A peer that fails, or takes longer than it may, is named in $tmp/left_out; the others go on.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2046,SC2086,SC2154  # the variables are bench/run's; some are lists of words

# ---- what else the machine does ----

note_cpu() {
    head -n 1 /proc/stat >"$1"
    times >>"$1"
}

# others BEFORE AFTER: percent of all cores that were busy between two notes, with what this script has not started.
others() {
    awk -v ticks="$(getconf CLK_TCK)" '
        function seconds(text, part) { split(text, part, /[ms]/); return part[1] * 60 + part[2] }
        $1 == "cpu" { all = 0; for (i = 2; i <= 9; i++) all += $i; busy = all - $5 - $6; row = 0; notes++; next }
        ++row == 2 { a[notes] = all; b[notes] = busy - ticks * (seconds($1) + seconds($2)) }
        END { all = a[2] - a[1]; share = all > 0 ? 100 * (b[2] - b[1]) / all : 0; printf "%.0f", (share > 0 ? share : 0) }' "$1" "$2"
}

# ---- the machine's state ----

# keep_lines: from stdin to the samples, with the state of the machine during the last turn as a ninth column. The lines of the round
# trips themselves have the state "-".
keep_lines() {
    sed "s/\$/	$state/" >>"$tmp/samples"
}

# ---- one turn ----

# missing_items ITEM...: those that the last turn told nothing about.
missing_items() {
    for _item; do
        grep -q "^[^	]*	${_item%%:*}	[^	]*	[0-9]*	${_item#*:}	" "$tmp/out" || grep -q "^[^	]*	$_item	" "$tmp/out" ||
            echo "$_item"
    done
}

# unskipped FILE ITEM...: the items that FILE does not name.
unskipped() {
    _file=$1
    shift
    for _item; do
        grep -qsx "$_item" "$_file" || echo "$_item"
    done
}

# do_turn WHAT COMMAND...: runs it, keeps its lines, and says how it went. Its status is in $status. The state of the machine, from
# the round trip of a cache line before and after, is in $state.
do_turn() {
    _what=$1
    shift
    [ "$quiet_s" = 0 ] || quiet "$quiet_s" >/dev/null
    "$programs/bound_line" >"$tmp/trips"
    note_cpu "$tmp/before"
    _begin_ns=$(date +%s%N)
    "$@" >"$tmp/out" 2>"$tmp/said" </dev/null
    status=$?
    _took_ms=$((($(date +%s%N) - _begin_ns) / 1000000))
    note_cpu "$tmp/after"
    _others=$(others "$tmp/before" "$tmp/after")
    echo "$_others" >>"$tmp/others"
    "$programs/bound_line" >>"$tmp/trips"
    sed 's/$/	-/' "$tmp/trips" >>"$tmp/samples"
    state=$(awk -f bench/support/state.awk -f bench/support/turn_state.awk "$tmp/trips")
    echo "$state" >>"$tmp/states"
    awk -F '\t' 'NF == 8' "$tmp/out" | keep_lines
    printf 'round %d of %d: %s: %d.%01d s, %s state, %d %% of the machine taken by others\n' "$round" "$rounds" "$_what" \
        $((_took_ms / 1000)) $((_took_ms % 1000 / 100)) "$state" "$_others" >&2
}

# A turn of a peer with the items that it has not been too slow for.
collective_turn() {
    peer=$1 way=$2 n=$3
    shift 3
    _skip=$tmp/skip.$peer.$way.$n
    set -- $(unskipped "$_skip" "$@")
    [ $# -gt 0 ] || return 0
    do_turn "$peer/$way, $n ranks, ${1%%:*}" peer_run "$peer" "$way" "$n" "$@"
    [ $status != 0 ] || return 0
    set -- $(missing_items "$@")
    case $status.${1-} in
    124. | 137.) return ;; # all is told that was asked for
    124.* | 137.*)
        printf '%s\n' "$@" >>"$_skip"
        leave_out "$peer/$way, $n ranks, $1 and the $(($# - 1)) items after it: did not end within $limit_s s" ;;
    *) leave_out "$peer/$way, $n ranks: failed: $(tail -n 1 "$tmp/said" | cut -c 1-200)" ;;
    esac
    case $peer in hvd*) ours_failed=yes ;; esac
}

# ---- all turns of a round ----

was_asked_for() { is_one_of "$1" "$asked_for"; }

# What the command line did not name takes part only where the table of aims has it. op_takes_part OP RANKS
op_takes_part() {
    case $1 in
    allreduce) return 0 ;;
    vgg16) [ "$2" -le 2 ] || was_asked_for --ranks || return 1 ;;
    esac
    [ "$2" -le "$few_ranks" ] || { was_asked_for --ranks && was_asked_for --ops; }
}

# transport_takes_part TRANSPORT RANKS
transport_takes_part() {
    [ "$1" != unix ] || [ "$2" -le "$few_ranks" ] || was_asked_for --transports
}

# peer_takes_part PEER WAY RANKS OP. MPICH with more ranks than cores takes milliseconds for a byte, torch seconds to start: with
# --quick and --aims once is enough for torch, the former is left out, and --quick has the bounds once.
peer_takes_part() {
    is_one_of "$2" "$(peer_transports "$1")" || return 1
    case $1.$4 in
    bound*.allreduce) [ "$3" -le 16 ] || return 1 ;;
    bound*) return 1 ;;
    hvd+alloc.broadcast | hvd+alloc.all[gt]* | hvd+alloc.reducescatter) return 1 ;;
    esac
    was_asked_for --peers || [ "$3" -le "$few_ranks" ] || is_one_of "$1" 'hvd openmpi gloo' || return 1
    case $preset.$1 in
    full.*) ;;
    *.mpich) [ "$3" -le "$cores" ] || was_asked_for --peers ;;
    *.torch | quick.bound*) [ "$round" = 1 ] ;;
    esac
}

# sizes_of OP RANKS. Of more ranks than cores --quick has no large vectors.
sizes_of() {
    for _size in $sizes; do
        case $(was_asked_for --sizes && echo asked).$1.$_size in
        asked.*) ;;
        .allreduce.* | *.8 | *.65536) [ "$2" -le "$few_ranks" ] || [ "$_size" = 8 ] || [ "$_size" = 65536 ] || continue ;;
        *.4096 | *.67108864) continue ;;
        *) [ "$2" -le "$few_ranks" ] || continue ;;
        esac
        [ "$preset" = quick ] && [ "$2" -gt "$cores" ] && [ "$_size" -gt 1048576 ] || echo "$1:$_size"
    done
}

# items_of OP RANKS
items_of() {
    case $1 in
    resnet50 | vgg16) echo "$1" ;;
    *) sizes_of "$1" "$2" ;;
    esac
}

# collective_turns OP: for each number of ranks and each transport all programs in turn.
collective_turns() {
    for _ranks in $ranks; do
        op_takes_part "$1" "$_ranks" || continue
        for _way in $ways; do
            transport_takes_part "$_way" "$_ranks" || continue
            for _peer in $programs_in_turn; do
                ! peer_takes_part "$_peer" "$_way" "$_ranks" "$1" ||
                    collective_turn "$_peer" "$_way" "$_ranks" $(items_of "$1" "$_ranks")
            done
        done
    done
}

# start_turns launch|init
start_turns() {
    _op=$1 _list=$launch_ranks
    [ "$_op" = launch ] || _list=$init_ranks
    for _ranks in $_list; do
        [ "$_op" != init ] || [ "$_ranks" -le 16 ] || [ "$preset" = full ] || [ "$round" = 1 ] || continue
        for _peer in $programs_in_turn; do
            _command=$(peer_"$_op" "$_peer" "$_ranks")
            [ -z "$_command" ] || [ -e "$tmp/skip.$_op.$_peer.$_ranks" ] || start_turn $_command
        done
    done
}

# start_turn COMMAND...: what takes long is started once in a round. What has failed is not tried again.
start_turn() {
    case $preset.$_op in
    quick.*) _times=1 ;;
    *.launch) _times=5 ;;
    full.init) _times=3 ;;
    *) _times=1 ;;
    esac
    [ "$_op" = launch ] || [ "$_ranks" -le 16 ] || _times=1
    do_turn "$_op of $_peer, $_ranks ranks" timeout -k 5 "$limit_s" \
        "$programs/wall" "$_peer" "$_op" "$_ranks" $_times "$@"
    [ "$status" != 0 ] || return 0
    : >"$tmp/skip.$_op.$_peer.$_ranks"
    _why="failed: $(tail -n 1 "$tmp/said" | cut -c 1-200)"
    ! is_one_of "$status" '124 137' || _why="did not end within $limit_s s"
    leave_out "$_peer, $_op of $_ranks ranks: $_why"
}
