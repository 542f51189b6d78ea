#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inside an allocation of Slurm, hvdrun runs on its hosts, unless it is told otherwise.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
TS_SELF=$srcdir/tests/slurm-testbed.sh
# shellcheck source=tests/slurm-testbed.sh
. "$TS_SELF"
(ts_need) 2>"$tmp/need" || skip_all "$(cat "$tmp/need")"
hosts_make=ts_up
hosts_up 3 || skip_all "$hosts_reason"

# plan: what a dry run has said, "HOST RANKS" in the order of hosts.
plan() {
    awk '$2 ~ /^host[0-9]/ { if (!ranks[$2]++) order[++n] = $2 } END { for (i = 1; i <= n; i++) printf "%s %d ", order[i], ranks[order[i]] }' "$tmp/out"
}

run on 0 salloc -Q -N3 -n7 srun hostname
expected=$(sort "$tmp/out" | uniq -c | awk '{ printf "%s %d ", $2, $1 }')
run on 0 salloc -Q -N3 -n7 "$HVDRUN" --dry-run true
is "without -np and -H: a rank for each task, where srun would start it" "$expected" "$(plan)"
run on 0 salloc -Q -N2 --ntasks-per-node=2 -w host1,host2 "$HVDRUN" --dry-run true
is "which need not begin with this one" "host1 2 host2 2 " "$(plan)"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" -np 4 --dry-run true
is "-np may be smaller" "host0 2 host1 2 " "$(plan)"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" -np 1 -H host2:1 --dry-run true
is "-H wins" "host2 1 " "$(plan)"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" -np 7 true
is "more ranks than tasks are status 2" 2 "$status"
like "which tells what the allocation has" '6 slots on 3 hosts' "$tmp/err"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" "$WORLD" init barriers 10 print through shutdown
is "and the job runs" "0 6" "$status $(grep -c '>:through$' "$tmp/out")"
printf '#!/bin/sh\nexec "%s" "%s" init barriers 10 print through shutdown\n' "$HVDRUN" "$WORLD" >"$tmp/batch"
run on 0 sbatch -Q -W -N2 -n4 -o "$tmp/batch.out" -e "$tmp/batch.err" "$tmp/batch"
is "from a batch script too" "0 4" "$status $(grep -c '>:through$' "$tmp/batch.out")"
finish
