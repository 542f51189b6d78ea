# SPDX-License-Identifier: Apache-2.0
# The table of aims from the TSV of bench/run: what, the aim, what it must not be above, what was measured, whether that is met.
#
# A ratio is libhvd's median beside that of the best peer in the same run (both with their best algorithm), with the two medians
# and the peer's name behind it. "met?" is "aim" if the aim is reached, "yes" if what it must not be above is kept, "no", or
# "not measured". Where a row stands for several cases each must hold, and the worst is what counts.
BEGIN {
    FS = "\t"
    tcp = "openmpi/tcp mpich/tcp gloo/tcp torch/tcp"
    shm = "openmpi/shm mpich/shm"
    kib64 = 65536; mib = 1048576
}

/^#/ || $1 == "peer" { next }
{
    key = $1 SUBSEP $2 SUBSEP $4
    keep(key SUBSEP $5, $6, $3)
    keep(key, $6, $3) # gradient sets and starts: of whatever bytes
    if (!((key, "sizes") in n) || !((key, $5) in known)) {
        known[key, $5] = 1
        sizes[key, ++n[key, "sizes"]] = $5
    }
    if ($2 == "join" || $2 == "init")
        points[$1, $2, $3, ++n[$1, $2, $3]] = $4 "\t" $6
}

function keep(key, us, algorithm) {
    if (key in median && median[key] <= us + 0)
        return
    median[key] = us + 0
    way[key] = algorithm
}

function time(us) {
    return us < 10 ? sprintf("%.2f us", us) : us < 10000 ? sprintf("%.0f us", us) : sprintf("%.1f ms", us / 1000)
}

# ---- a row: begin(), cases, end() ----

function begin(what, aim, limit) {
    row = "| " what " | " aim " | " limit " | "
    said = ""
    met = 2
    cases = 0
}

# One more case: `text` is told, and the row is as well met as its worst case.
function add(text, reaches_aim, keeps_limit) {
    said = said (said == "" ? "" : "; ") text
    if (!reaches_aim && met > 1)
        met = 1
    if (!keeps_limit)
        met = 0
    cases++
}

function end() {
    print row (cases ? said : "-") " | " (cases ? met == 2 ? "aim" : met ? "yes" : "no" : "not measured") " |"
}

# ---- ratios ----

# Sets rival, ratio and detail for libhvd's median of `ours` beside the best of the peers. False if one of them is not there.
function compare(ours, peers, rest,    list, i, count, best) {
    rival = ""
    if (!((ours SUBSEP rest) in median))
        return 0
    count = split(peers, list, " ")
    for (i = 1; i <= count; i++)
        if ((list[i] SUBSEP rest) in median && (rival == "" || median[list[i] SUBSEP rest] < best)) {
            rival = list[i]
            best = median[list[i] SUBSEP rest]
        }
    if (rival == "" || best <= 0)
        return 0
    ratio = median[ours SUBSEP rest] / best
    detail = sprintf("%.2f (%s beside %s of %s%s)", ratio, time(median[ours SUBSEP rest]), time(best), rival,
        way[rival SUBSEP rest] ~ /^(auto|-)$/ ? "" : " " way[rival SUBSEP rest])
    return 1
}

function add_ratio(label, ours, peers, rest, aim, limit) {
    if (compare(ours, peers, rest))
        add(label detail, ratio <= aim, ratio <= limit)
}

function allreduce(ours, peers, bytes, aim, limit) {
    add_ratio("", ours, peers, "allreduce" SUBSEP 2 SUBSEP bytes, aim, limit)
}

function row_allreduce(what, aim_text, limit_text, ours, peers, bytes, aim, limit) {
    begin(what, aim_text, limit_text)
    allreduce(ours, peers, bytes, aim, limit)
    end()
}

# Of all sizes over one transport, the worst.
function worst_of_sizes(ours, peers,    key, i, worst, text) {
    key = ours SUBSEP "allreduce" SUBSEP 4
    worst = -1
    for (i = 1; i <= n[key, "sizes"]; i++)
        if (compare(ours, peers, "allreduce" SUBSEP 4 SUBSEP sizes[key, i]) && ratio > worst) {
            worst = ratio
            text = sizes[key, i] " B: " detail
        }
    if (worst >= 0)
        add(substr(ours, 5) ", at worst " text, worst <= 0.7, worst <= 1)
}

# ---- growth ----

# The power of N with which the times grow: the line through the larger half of the sizes, both axes logarithmic. 0 if there are
# too few of them.
function growth(series,    count, i, from, part, x, y, sx, sy, sxx, sxy, used) {
    count = n[series]
    from = int(count / 2) + 1
    for (i = from; i <= count; i++) {
        split(points[series, i], part, "\t")
        x = log(part[1]); y = log(part[2])
        sx += x; sy += y; sxx += x * x; sxy += x * y
        used++
    }
    return used > 1 ? (used * sxy - sx * sy) / (used * sxx - sx * sx) : 0
}

# ---- rows ----

END {
    print "| what | aim | not above | measured ratio | met? |"
    print "|---|---|---|---|---|"

    begin("allreduce over TCP, 2 ranks, 8 B", "1.3 x best MPI over TCP (and 0.1 x Gloo)", "2.5 x")
    allreduce("hvd/tcp", "openmpi/tcp mpich/tcp", 8, 1.3, 2.5)
    if (compare("hvd/tcp", "gloo/tcp", "allreduce" SUBSEP 2 SUBSEP 8))
        add(detail, ratio <= 0.1, 1)
    end()
    row_allreduce("the same, 64 KiB", "0.9 x", "1.2 x", "hvd/tcp", tcp, kib64, 0.9, 1.2)
    row_allreduce("the same, 1 MiB", "0.8 x", "1.1 x", "hvd/tcp", tcp, mib, 0.8, 1.1)
    row_allreduce("the same, 64 MiB", "0.85 x", "1.0 x", "hvd/tcp", tcp, 64 * mib, 0.85, 1)

    begin("allreduce, shared memory, 2 ranks, 8 B", "3 x Open MPI's 0.2 us", "2 us, or 10 x")
    if (compare("hvd/shm", "openmpi/shm", "allreduce" SUBSEP 2 SUBSEP 8))
        add(detail, ratio <= 3, ratio <= 10 || median["hvd/shm" SUBSEP "allreduce" SUBSEP 2 SUBSEP 8] <= 2)
    end()
    row_allreduce("the same, 64 KiB", "0.7 x", "1.1 x", "hvd/shm", shm, kib64, 0.7, 1.1)
    row_allreduce("the same, 1 MiB", "0.6 x", "1.0 x", "hvd/shm", shm, mib, 0.6, 1)
    row_allreduce("the same, 64 MiB, user buffers", "0.5 x", "0.8 x", "hvd/shm", shm, 64 * mib, 0.5, 0.8)
    row_allreduce("the same, 64 MiB, buffers from `hvd_alloc`", "0.15 x", "0.3 x", "hvd+alloc/shm", shm, 64 * mib, 0.15, 0.3)

    begin("4 ranks on 2 cores, any size, either transport", "0.7 x", "1.0 x")
    worst_of_sizes("hvd/tcp", tcp)
    worst_of_sizes("hvd/shm", shm)
    end()

    begin("ResNet-50 gradients, named and asynchronous, any order, 2 ranks, shared memory", "0.9 x Open MPI tensor by tensor", "1.3 x")
    add_ratio("", "hvd/shm", shm, "resnet50" SUBSEP 2, 0.9, 1.3)
    end()
    begin("the same over TCP", "0.7 x", "1.0 x")
    add_ratio("", "hvd/tcp", tcp, "resnet50" SUBSEP 2, 0.7, 1)
    end()
    begin("VGG-16 gradients, the same two", "0.6 x, 0.7 x", "1.0 x")
    add_ratio("", "hvd/shm", shm, "vgg16" SUBSEP 2, 0.6, 1)
    add_ratio("", "hvd/tcp", tcp, "vgg16" SUBSEP 2, 0.7, 1)
    end()

    begin("idle world", "0 wake-ups a second apart from heartbeats", "2")
    key = "hvd" SUBSEP "idle" SUBSEP 4
    if (key in median)
        add(sprintf("%.1f a second, heartbeats among them", median[key]), median[key] == 0, median[key] <= 2)
    end()

    begin("hvdrun of 2, 16, 64 local `true`", "0.8 x hydra, 0.3 x mpirun", "2 x hydra, 1.0 x mpirun")
    split("2 16 64", starts, " ")
    for (i = 1; i <= 3; i++) {
        add_ratio(starts[i] ": ", "hvd", "mpich", "launch" SUBSEP starts[i], 0.8, 2)
        add_ratio("", "hvd", "openmpi", "launch" SUBSEP starts[i], 0.3, 1)
    }
    end()
    begin("launch over ssh, 4 and 16 hosts", "0.7 x plain `ssh HOST true` in parallel", "1.0 x")
    add_ratio("4: ", "hvd", "ssh", "ssh" SUBSEP 4, 0.7, 1)
    add_ratio("16: ", "hvd", "ssh", "ssh" SUBSEP 16, 0.7, 1)
    end()

    begin("init + barrier, 2 ... 128 local ranks", "0.1 x the best peer at 64 and 128, growth not above N^1.1", "0.5 x")
    add_ratio("64: ", "hvd", "openmpi mpich gloo", "init" SUBSEP 64, 0.1, 0.5)
    add_ratio("128: ", "hvd", "openmpi mpich gloo", "init" SUBSEP 128, 0.1, 0.5)
    power = growth("hvd" SUBSEP "init" SUBSEP "-")
    if (power)
        add(sprintf("N^%.2f", power), power <= 1.1, 1)
    end()
    begin("join of N simulated workers", "linear to 10 000", "N^1.2")
    power = growth("hvd" SUBSEP "join" SUBSEP "-")
    if (power)
        add(sprintf("N^%.2f", power), power <= 1.05, power <= 1.2)
    power = growth("hvd" SUBSEP "join" SUBSEP "declared")
    if (power)
        add(sprintf("declared, N^%.2f", power), power <= 1.05, power <= 1.2)
    end()
}
