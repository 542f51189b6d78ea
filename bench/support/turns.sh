# SPDX-License-Identifier: Apache-2.0
# The turns of bench/run: one program after the other, what they print collected in $tmp/samples, and what else the machine did
# meanwhile. A peer that fails, or takes longer than it may, is named in $tmp/left_out; the others go on.
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

# do_turn WHAT COMMAND...: runs it, keeps its lines, and says how it went. Its status is in $status.
do_turn() {
    _what=$1
    shift
    [ "$quiet_s" = 0 ] || quiet "$quiet_s" >/dev/null
    note_cpu "$tmp/before"
    _begin_ns=$(date +%s%N)
    "$@" >"$tmp/out" 2>"$tmp/said" </dev/null
    status=$?
    _took_ms=$((($(date +%s%N) - _begin_ns) / 1000000))
    note_cpu "$tmp/after"
    _others=$(others "$tmp/before" "$tmp/after")
    echo "$_others" >>"$tmp/others"
    awk -F '\t' 'NF == 8' "$tmp/out" >>"$tmp/samples"
    printf 'round %d of %d: %s: %d.%01d s, %d %% of the machine taken by others\n' "$round" "$rounds" "$_what" \
        $((_took_ms / 1000)) $((_took_ms % 1000 / 100)) "$_others" >&2
}

# A turn of a peer with the items that it has not been too slow for.
collective_turn() {
    peer=$1 way=$2 n=$3
    shift 3
    _skip=$tmp/skip.$peer.$way.$n
    set -- $(unskipped "$_skip" "$@")
    [ $# -gt 0 ] || return 0
    do_turn "$peer/$way, $n ranks" peer_run "$peer" "$way" "$n" "$@"
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

# items_of PEER RANKS collectives|sets
items_of() {
    for _op in $ops; do
        case $3.$_op in
        sets.resnet50 | sets.vgg16) is_one_of "$1" 'bound bound+alloc' || [ "$2" != 2 ] || echo "$_op" ;;
        collectives.allreduce) sizes_of "$2" $_op ;;
        collectives.broadcast | collectives.all* | collectives.reducescatter)
            is_one_of "$1" 'bound bound+alloc hvd+alloc' || sizes_of "$2" $_op ;;
        esac
    done
}

# Of more ranks than cores, --quick has no large vectors.
sizes_of() {
    for _size in $sizes; do
        [ $quick = yes ] && [ "$1" -gt "$cores" ] && [ "$_size" -gt 1048576 ] || echo "$2:$_size"
    done
}

# takes_part PEER RANKS: with --quick once is enough for torch, whose start takes seconds, for the bounds, and for MPICH with more
# ranks than cores, which takes milliseconds for a byte.
takes_part() {
    [ $quick = yes ] && [ "$round" -gt 1 ] || return 0
    [ "$1" != mpich ] || [ "$2" -le "$cores" ] || return 1
    ! is_one_of "$1" 'torch bound bound+alloc'
}

collective_turns() {
    for _kind in collectives sets; do
        for _ranks in $ranks; do
            for _way in $transports; do
                for _peer in $programs_in_turn; do
                    is_one_of "$_way" "$(peer_transports "$_peer")" || continue
                    takes_part "$_peer" "$_ranks" || continue
                    collective_turn "$_peer" "$_way" "$_ranks" $(items_of "$_peer" "$_ranks" $_kind)
                done
            done
        done
    done
}

# start_turns launch|init
start_turns() {
    _op=$1 _list=$launch_ranks
    [ "$_op" = launch ] || _list=$init_ranks
    for _ranks in $_list; do
        for _peer in $programs_in_turn; do
            _command=$(peer_"$_op" "$_peer" "$_ranks")
            [ -z "$_command" ] || [ -e "$tmp/skip.$_op.$_peer.$_ranks" ] || start_turn $_command
        done
    done
}

# start_turn COMMAND...: many ranks are started once in a round. What has failed is not tried again.
start_turn() {
    _times=3
    [ $quick = no ] && [ "$_ranks" -le 16 ] || _times=1
    do_turn "$_op of $_peer, $_ranks ranks" timeout -k 5 "$limit_s" \
        "$programs/wall" "$_peer" "$_op" "$_ranks" $_times "$@"
    [ "$status" != 0 ] || return 0
    : >"$tmp/skip.$_op.$_peer.$_ranks"
    _why="failed: $(tail -n 1 "$tmp/said" | cut -c 1-200)"
    ! is_one_of "$status" '124 137' || _why="did not end within $limit_s s"
    leave_out "$_peer, $_op of $_ranks ranks: $_why"
}
