# SPDX-License-Identifier: Apache-2.0
# With state.awk: the table of aims from the TSV of bench/run: what, the aim, what is required, and what was measured in the fast
# state of the machine, in the slow one, and with reno.
#
# A ratio is libhvd's median beside that of the best peer in the same run and the same state, both with their best algorithm. A
# cell says the ratios, then "won" if all reach the aim, "required" if all keep what is required, or "missed"; "-" was not measured.
# A row with many cases tells the worst and those that are missed. What was measured in neither state is left out.
#
# the_rows() is the only place that knows the aims: row() opens a row, cases() adds to it
#     SERIES OPERATIONS RANKS BYTES AIM REQUIRED [BESIDE]
# where lists have commas, and AIM and REQUIRED are a number, or two of them, FAST/SLOW. BESIDE is a list of the peers, which
# otherwise follow from the transport. AIM "user" means: as fast as the same without hvd_alloc(). Bytes "-" are any.
function the_rows() {
    row("allreduce, 2 ranks, shared memory, 8 B")
    cases("hvd/shm allreduce 2 8 1.0 2.0")
    row("4 KiB")
    cases("hvd/shm allreduce 2 4096 0.8 1.0")
    row("64 KiB, 256 KiB")
    cases("hvd/shm allreduce 2 65536,262144 0.25 0.4")
    row("1 MiB")
    cases("hvd/shm allreduce 2 1048576 0.6/0.5 0.75")
    row("16 MiB")
    cases("hvd/shm allreduce 2 16777216 0.6 0.8")
    row("64 MiB")
    cases("hvd/shm allreduce 2 67108864 0.3/0.45 0.5")
    row("`hvd_alloc`, 64 KiB to 1 MiB")
    cases("hvd+alloc/shm allreduce 2 65536,262144,1048576 user 0.6")
    row("`hvd_alloc`, 64 MiB")
    cases("hvd+alloc/shm allreduce 2 67108864 0.15 0.25/0.35")
    row("4 ranks on 2 cores, shared memory, 8 B")
    cases("hvd/shm allreduce 4 8 0.6 1.0")
    row("1 MiB, 16 MiB, 64 MiB")
    cases("hvd/shm allreduce 4 1048576 0.6 0.9")
    cases("hvd/shm allreduce 4 16777216 0.7 0.9")
    cases("hvd/shm allreduce 4 67108864 0.35 0.9")
    row("8, 16, 32 ranks on 2 cores, 8 B and 64 KiB, shared memory and TCP")
    cases("hvd/shm,hvd/tcp allreduce 8,16,32 8,65536 0.7 1.0")
    row("TCP, 2 ranks, 8 B")
    cases("hvd/tcp allreduce 2 8 0.9 1.1")
    row("64 KiB, 256 KiB")
    cases("hvd/tcp allreduce 2 65536,262144 0.8 1.0")
    row("1 MiB")
    cases("hvd/tcp allreduce 2 1048576 0.85 1.0")
    row("16 MiB, 64 MiB")
    cases("hvd/tcp allreduce 2 16777216,67108864 0.6 0.85")
    row("TCP, 4 ranks, any size")
    cases("hvd/tcp allreduce 4 8,4096,65536,262144,1048576,16777216,67108864 0.6 0.85")
    row("ResNet-50 gradients, 2 ranks: shared memory, TCP")
    cases("hvd/shm resnet50 2 - 0.5 0.8")
    cases("hvd/tcp resnet50 2 - 0.75 0.95")
    row("ResNet-50, 4 ranks: shared memory, TCP")
    cases("hvd/shm resnet50 4 - 0.6 0.9")
    cases("hvd/tcp resnet50 4 - 0.6 0.8")
    row("VGG-16, 2 ranks: shared memory, TCP")
    cases("hvd/shm,hvd/tcp vgg16 2 - 0.3 0.4")
    row("broadcast, allgather, alltoall, reduce-scatter, 2 and 4 ranks, both ways, 64 KiB to 16 MiB")
    cases("hvd/shm,hvd/tcp broadcast,allgather,alltoall,reducescatter 2,4 65536,262144,1048576,16777216 0.8 1.0")
    row("the same at 8 B over shared memory")
    cases("hvd/shm broadcast,allgather,alltoall,reducescatter 2,4 8 1.5 2.5")
    row("`hvdrun -np 2`, 16, 64 `true` beside hydra")
    cases("hvd launch 2,16,64 - 0.7 1.0 mpich")
    row("init + barrier, 64 and 128 ranks")
    cases("hvd init 64,128 - 0.05 0.1")
    growth_case("hvd init", "init", 1.05, 1.2)
    growth_case("hvd join", "joining", 1.05, 1.2)
    row("idle world, context switches a second")
    level_case("hvd idle 4 0", 0, 1)
    row("any allreduce from 64 KiB beside its bound program")
    cases("hvd/shm allreduce 2,4 65536,262144,1048576,16777216,67108864 1.3 2.0 bound/shm")
    cases("hvd/tcp allreduce 2,4 65536,262144,1048576,16777216,67108864 1.3 2.0 bound/tcp")
    cases("hvd/unix allreduce 2,4 65536,262144,1048576,16777216,67108864 1.3 2.0 bound/unix")
    finish_row()
}

BEGIN {
    FS = "\t"
    beside["shm"] = "openmpi/shm,mpich/shm"
    beside["tcp"] = "openmpi/tcp,mpich/tcp,gloo/tcp,torch/tcp"
    beside["init"] = "openmpi,mpich,gloo"
    ncolumns = split("fast slow reno", columns, " ")
    few_cases = 4 # more are not told one by one
}

# ---- reading ----

# A TSV without states has that of the round trips in its head.
/^# round trip of a cache line, us:/ {
    split($0, words, /[ ,]+/)
    state_before = state_of(words[9], words[11])
}
/^#/ || $1 == "peer" || $1 == "machine" { next }
{
    state = NF > 9 ? $10 : state_before
    if (state == "mixed" || state == "changed")
        nleft_out++
    series = state SUBSEP $1 " " $2
    keep(series " " $4 " " $5, $6 + 0)
    keep(series " " $4 " -", $6 + 0) # of whatever bytes
    if ($3 == "-")
        ranks_of[series, ++npoints[series]] = $4
}

function keep(key, us) {
    if (!(key in median) || us < median[key])
        median[key] = us
}

# ---- a row: row(), its cases; the next row() prints it ----

function row(what,    i) {
    finish_row()
    row_what = what
    row_aim = row_required = ""
    for (i = 1; i <= ncolumns; i++)
        ncases[columns[i]] = nmissed[columns[i]] = nshort[columns[i]] = 0
}

function finish_row(    i, line) {
    if (row_what == "")
        return
    line = "| " row_what " | " row_aim " | " row_required " |"
    for (i = 1; i <= ncolumns; i++)
        line = line " " cell(columns[i]) " |"
    print line
    row_what = ""
}

function cell(column,    i, text) {
    if (!ncases[column])
        return "-"
    for (i = 1; i <= ncases[column]; i++)
        text = text (i > 1 ? "; " : "") told[column, i]
    if (ncases[column] == 1)
        text = only[column]
    if (ncases[column] > few_cases)
        text = "worst " worst[column] ", " (ncases[column] - nshort[column]) " of " ncases[column] " won"
    if (ncases[column] > few_cases && nmissed[column])
        text = text ", " nmissed[column] " missed: " missed[column]
    return text ": " (nmissed[column] ? "**missed**" : nshort[column] ? "required" : "won")
}

# head_add LIST TEXT: what the row says of aims or requirements, each once.
function head_add(list, text,    part, i) {
    if (split(text, part, "/") == 2)
        text = part[1] " F, " part[2] " S"
    if (text == "user")
        text = "as user buffers or better"
    for (i = split(list, part, /, /); i > 0; i--)
        if (part[i] == text)
            return list
    return list (list == "" ? "" : ", ") text
}

# One more result in a column: how it is called, its text, whether it reaches the aim and keeps what is required, and how far it
# is from that.
function add(column, name, text, wins, keeps, badness) {
    only[column] = text
    text = name (name == "" ? "" : " ") text
    if (!ncases[column] || badness > worst_badness[column]) {
        worst_badness[column] = badness
        worst[column] = text
    }
    told[column, ++ncases[column]] = text
    nshort[column] += !(wins && keeps)
    if (!keeps)
        missed[column] = (nmissed[column]++ ? missed[column] "; " : "") text
}

# ---- ratios ----

function cases(spec,    part, i, j, k, l, all_series, operations, ranks, bytes) {
    split(spec, part, " ")
    row_aim = head_add(row_aim, part[5])
    row_required = head_add(row_required, part[6])
    split(part[1], all_series, ","); split(part[2], operations, ",")
    split(part[3], ranks, ","); split(part[4], bytes, ",")
    for (i = 1; i in all_series; i++)
        for (j = 1; j in operations; j++)
            for (k = 1; k in ranks; k++)
                for (l = 1; l in bytes; l++)
                    one_case(all_series[i], operations[j], ranks[k], bytes[l], part[5], part[6], part[7])
}

# With the default congestion control in both states; and with reno, which only TCP has.
function one_case(series, operation, ranks, bytes, aim, required, peers,    transport, rest, name) {
    transport = series
    sub(/^[^\/]*\/?/, "", transport)
    if (peers == "")
        peers = beside[transport == "" ? operation : transport]
    rest = operation " " ranks " " bytes
    name = case_name(transport, operation, ranks, bytes)
    compare("fast", "fast", name, series, peers, rest, aim, required)
    compare("slow", "slow", name, series, peers, rest, aim, required)
    if (transport != "tcp")
        return
    gsub(/\/tcp/, "/tcp-reno", series)
    gsub(/\/tcp/, "/tcp-reno", peers)
    compare("reno", "fast", name " F", series, peers, rest, aim, required)
    compare("reno", "slow", name " S", series, peers, rest, aim, required)
}

function case_name(transport, operation, ranks, bytes,    text) {
    text = transport (transport == "" ? "" : " ") (operation == "allreduce" ? "" : operation " ") ranks " ranks"
    return bytes == "-" ? text : text " " size_text(bytes)
}

function size_text(bytes) {
    return bytes < 1024 ? bytes " B" : bytes < 1048576 ? bytes / 1024 " KiB" : bytes / 1048576 " MiB"
}

# The part of AIM or REQUIRED that is for a state.
function for_state(text, state,    part) {
    return split(text, part, "/") == 2 ? part[state == "slow" ? 2 : 1] + 0 : text + 0
}

# The best median of some series, or 0.
function best_of(state, list, rest,    part, i, key, best) {
    best = 0
    split(list, part, ",")
    for (i = 1; i in part; i++) {
        key = state SUBSEP part[i] " " rest
        if (key in median && (!best || median[key] < best))
            best = median[key]
    }
    return best
}

function compare(column, state, name, series, peers, rest, aim, required,    ours, best, ratio, limit, wins) {
    ours = best_of(state, series, rest)
    best = best_of(state, peers, rest)
    if (!ours || !best)
        return
    ratio = ours / best
    limit = for_state(required, state)
    wins = ratio <= for_state(aim, state)
    if (aim == "user") {
        sub(/\+alloc/, "", series)
        wins = ours <= best_of(state, series, rest)
    }
    add(column, name, sprintf("%.2f", ratio), wins, ratio <= limit, ratio / limit)
}

# ---- other figures ----

# A figure that is beside nothing, e.g. of an idle world.
function level_case(key, aim, required,    i, at) {
    row_aim = head_add(row_aim, aim)
    row_required = head_add(row_required, required)
    for (i = 1; i <= 2; i++) {
        at = columns[i] SUBSEP key
        if (at in median)
            add(columns[i], "", sprintf("%.2f", median[at]), median[at] <= aim, median[at] <= required, median[at])
    }
}

function growth_case(series, name, aim, required,    i, power) {
    row_aim = head_add(row_aim, "N^1")
    for (i = 1; i <= 2; i++) {
        power = growth(columns[i] SUBSEP series)
        if (power)
            add(columns[i], name, sprintf("N^%.2f", power), power <= aim, power <= required, power / required)
    }
}

# The power of N with which the times grow: the line through the larger half of the sizes, both axes logarithmic. 0 if there are
# too few of them.
function growth(series,    i, ranks, x, y, sx, sy, sxx, sxy, used) {
    for (i = int(npoints[series] / 2) + 1; i <= npoints[series]; i++) {
        ranks = ranks_of[series, i]
        x = log(ranks); y = log(median[series " " ranks " -"])
        sx += x; sy += y; sxx += x * x; sxy += x * y
        used++
    }
    return used > 1 ? (used * sxy - sx * sy) / (used * sxx - sx * sx) : 0
}

END {
    print "| what | aim | required | fast state | slow state | reno |"
    print "|---|---|---|---|---|---|"
    the_rows()
    if (nleft_out)
        printf "\n%d lines were measured while the machine was in neither state, or changed, and are left out.\n", nleft_out
}
