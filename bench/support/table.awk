# SPDX-License-Identifier: Apache-2.0
# For people, from the TSV of bench/run: a table for each operation, number of ranks, kind of transport and state of the machine,
# with the median of each peer's best algorithm and, in parentheses, the least. "ratio" is libhvd beside the best peer of the row,
# below 1 is faster; "spread" how far the turns of these two lie apart, the worse one. Turns during which the machine changed its
# state are only counted.
BEGIN {
    FS = "\t"
    ncolumns = split("hvd hvd+alloc hvd/unix openmpi mpich gloo torch ssh bound bound+alloc bound/unix", columns, " ")
    split("openmpi mpich gloo torch ssh", rivals, " ")
}

# What is shown in one column: hvd/shm, hvd/tcp and hvd/tcp-reno as hvd, in tables of their own.
function column_of(peer) {
    sub(/\/(tcp|tcp-reno|shm)$/, "", peer)
    return peer
}

function kind_of(peer) {
    return peer ~ /\/shm$/ ? "shared memory" : peer ~ /-reno$/ ? "TCP with reno" : peer ~ /\// ? "TCP, or unix sockets" : ""
}

function number(us) { return us < 10 ? sprintf("%.2f", us) : us < 1000 ? sprintf("%.1f", us) : sprintf("%.0f", us) }

function cell(row, column) {
    return (row, column) in median ? number(median[row, column]) " (" number(least[row, column]) ")" : "-"
}

/^#/ { print; next }
$1 == "peer" || $1 == "machine" { next }
$10 == "changed" { nchanged++; next }
{
    starts = $1 !~ /\//
    table = (starts ? $2 : $2 ", " $4 " ranks, " kind_of($1)) (NF > 9 ? ", " $10 " state" : "")
    row = table SUBSEP (starts ? $4 : $5)
    column = column_of($1)
    if (!(table in rows)) { order[++ntables] = table; first[table] = starts ? "ranks" : "bytes" }
    if (!(row in seen)) { seen[row] = 1; list[table, ++rows[table]] = row }
    if (!((row, column) in median) || $6 + 0 < median[row, column]) {
        median[row, column] = $6 + 0
        least[row, column] = $7 + 0
        spread[row, column] = $8 + 0
    }
    present[table, column] = 1
}

# The column of the best peer, or "".
function best_of(row,    i, best) {
    best = ""
    for (i = 1; i in rivals; i++)
        if ((row, rivals[i]) in median && (best == "" || median[row, rivals[i]] < median[row, best]))
            best = rivals[i]
    return best
}

function ratio(row, column, best) {
    return (row, column) in median && best != "" ? sprintf("%.2f", median[row, column] / median[row, best]) : "-"
}

function print_table(table,    i, j, row, best, parts, worst) {
    printf "\n%s (us)\n%10s", table, first[table]
    for (i = 1; i <= ncolumns; i++)
        if ((table, columns[i]) in present)
            printf " %18s", columns[i]
    for (i = 1; i <= 3; i++)
        if ((table, columns[i]) in present)
            printf " %9s", i == 1 ? "ratio" : substr(columns[i], 5)
    printf " %9s\n", "spread"
    for (j = 1; j <= rows[table]; j++) {
        row = list[table, j]
        split(row, parts, SUBSEP)
        best = best_of(row)
        printf "%10s", parts[2]
        for (i = 1; i <= ncolumns; i++)
            if ((table, columns[i]) in present)
                printf " %18s", cell(row, columns[i])
        for (i = 1; i <= 3; i++)
            if ((table, columns[i]) in present)
                printf " %9s", ratio(row, columns[i], best)
        worst = spread[row, "hvd"]
        if (best != "" && spread[row, best] > worst)
            worst = spread[row, best]
        printf " %7d %%\n", worst
    }
}

END {
    for (t = 1; t <= ntables; t++)
        print_table(order[t])
    if (nchanged)
        printf "\n%d lines were measured while the machine changed its state, and are left out.\n", nchanged
}
