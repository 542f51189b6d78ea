# SPDX-License-Identifier: Apache-2.0
# The TSV of bench/run from the lines of all turns, sorted by operation, ranks, bytes, peer, algorithm, state
# and median.
#
# median_us is the median over the turns of what each told as its median, min_us the least of all; spread_pct tells how far the
# turns lie apart, in percent of the median.
BEGIN {
    FS = OFS = "\t"
    print "peer", "op", "algorithm", "ranks", "bytes", "median_us", "min_us", "spread_pct", "turns", "state"
}

function finish(    middle) {
    if (!turns)
        return
    middle = turns % 2 ? median[(turns + 1) / 2] : (median[turns / 2] + median[turns / 2 + 1]) / 2
    print last, sprintf("%.3f", middle), sprintf("%.3f", least),
        sprintf("%.0f", middle > 0 ? 100 * (median[turns] - median[1]) / middle : 0), turns, state
    turns = 0
}

{ key = $1 OFS $2 OFS $3 OFS $4 OFS $5 }
key != last || $9 != state { finish(); last = key; state = $9; least = $7 }
{ median[++turns] = $6; if ($7 + 0 < least + 0) least = $7 }
END { finish() }
