#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inside an allocation of Slurm, hvdrun runs on its hosts, unless it is told otherwise. And srun starts workers without it.
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

# Without hvdrun: srun starts the workers itself, of which two are on each of two hosts.
HOROVOD_START_TIMEOUT=60
export HOROVOD_START_TIMEOUT
for mpi in pmi2 pmix none; do
    [ "$mpi" != pmix ] || [ "$BUILT_WITH_PMIX" = yes ] || { skip "srun --mpi=pmix" "libhvd was built without PMIx"; continue; }
    [ "$mpi" != none ] || ls /usr/lib/*/libpmi.so.0 >/dev/null 2>&1 || { skip "srun" "no libpmi.so.0 (libpmi0)"; continue; }
    run on 0 srun -Q --mpi=$mpi -N2 -n4 --ntasks-per-node=2 "$WORLD" init collectives place shutdown
    is "srun --mpi=$mpi: four workers are a world, whose collectives are right" "0 4" "$status $(grep -c 'of 4, local [01] of 2, cross [01] of 2$' "$tmp/out")"
    run on 0 srun -Q --mpi=$mpi -N1 -n2 env HOROVOD_LOG_LEVEL=info "$WORLD" init
    like "and HOROVOD_LOG_LEVEL=info says which bootstrap" "hvd_init: bootstrap pmi[12x], because of [PS]" "$tmp/err"
    for dead in 0 3; do
        printf '#!/bin/sh\n[ "$SLURM_PROCID" = %d ] && exec "%s" init barriers 3 die 9\nexec "%s" init barriers 3 expect PEER_LOST\n' \
            $dead "$WORLD" "$WORLD" >"$tmp/dies"
        run on 0 srun -Q --mpi=$mpi --kill-on-bad-exit=0 -N2 -n4 --ntasks-per-node=2 sh "$tmp/dies"
        like "srun --mpi=$mpi: rank $dead dies, and the others know which it was" "rank $dead on host[01] " "$tmp/out"
    done
    printf '#!/bin/sh\n[ "$SLURM_PROCID" = 1 ] && exit 0\nHOROVOD_START_TIMEOUT=10 exec "%s" init\n' "$WORLD" >"$tmp/mixed"
    run on 0 srun -Q --mpi=$mpi --kill-on-bad-exit=0 -N2 -n4 --ntasks-per-node=2 sh "$tmp/mixed"
    ok "srun --mpi=$mpi: a rank that does not come ends the job" [ "$status" -ne 0 ]
    like "with a line that says so" 'not called hvd_init in time|ranks? .*1.* of 4 ha(s|ve) not come within 10 s' "$tmp/err"
done

# mpirun of Open MPI over the same hosts, by ssh
# What libpmix does not free is reported by the sanitizer there; process_managers_test.sh suppresses it.
if [ "$SANITIZERS" = no ] && command -v mpirun.openmpi >/dev/null && [ "$BUILT_WITH_PMIX" = yes ]; then
    run on 0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun.openmpi -np 4 -H host1:2,host2:2 "$WORLD" init collectives place shutdown
    is "mpirun -H: four workers on two hosts" "0 4" "$status $(grep -c 'of 4, local [01] of 2, cross [01] of 2$' "$tmp/out")"
else
    skip "mpirun -H" "no mpirun of Open MPI (openmpi-bin), libhvd without PMIx, or sanitizers"
fi
finish
