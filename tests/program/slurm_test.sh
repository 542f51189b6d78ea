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

# One srun reaches the hosts, also where there is no key of ssh.
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" --log-level info true
like "all hosts are those of the allocation: hvdrun takes srun" '^hvdrun: hosts are reached by srun, because all are in this' "$tmp/err"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" --log-level info -H host0:1,host1:1 -p 22 true
like "but ssh if an option of ssh is given" '^hvdrun: hosts are reached by ssh, not by srun: options of ssh are given' "$tmp/err"
run on 0 salloc -Q -N3 --ntasks-per-node=2 env HOME=/nonexistent SSH_AUTH_SOCK= "$HVDRUN" --report "$tmp/report" --prefix-output-with-timestamp \
    sh -c 'echo "to stdout"; echo "to stderr" >&2; exit 0'
is "no ssh key is needed, and the output of all ranks is there" "0 6 6" \
    "$status $(grep -c '<stdout>:to stdout' "$tmp/out") $(grep -c '<stderr>:to stderr' "$tmp/err")"
is "the report says so" 2 "$(grep -c '"srun"' "$tmp/report")"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" sh -c 'exit $((HOROVOD_RANK == 5 ? 9 : 0))'
is "the exit status of a rank is hvdrun's" 9 "$status"
like "which names it" 'FAILED rank 5 on host2 ' "$tmp/err"
run on 0 salloc -Q -N3 --ntasks-per-node=2 "$HVDRUN" --check-hosts true
is "--check-hosts reaches them too" "0 3" "$status $(grep -c '^host[012] .* ok ' "$tmp/out")"
head -c 3000000 /dev/zero | tr '\0' x | fold -w 99 >"$tmp/long"
run on 0 salloc -Q -N2 --ntasks-per-node=1 "$HVDRUN" -np 2 sh -c 'cat "$0"; cat >/dev/null' "$tmp/long"
is "much output comes whole" "0 60608" "$status $(grep -c '<stdout>:x' "$tmp/out")"

# allocated ARGUMENT...: a job whose ranks sleep, on three hosts; $slurm_job is its number.
allocated() {
    start on 0 salloc -Q -N3 --ntasks-per-node=1 "$@" "$HVDRUN" sh -c 'trap "exit 3" USR1; echo up; while :; do sleep 0.1; done'
    three_up() { [ "$(grep -c 'up$' "$tmp/out")" = 3 ]; }
    until_true three_up
    slurm_job=$(on 0 squeue -h -o %i)
}
none_left() { not pgrep -x hvdagent >/dev/null || [ -z "$(survivors)" ]; }

allocated
on 0 scancel "$slurm_job"
finish_job
like "a job that scancel ends is named so" 'hvdrun: (FAILED|stopped).*Slurm: (STEP|Job step aborted)' "$tmp/err"
ok "and nothing is left" until_true no_survivors
allocated
on 0 scancel --signal=USR1 "$slurm_job"
finish_job
like "a signal of scancel reaches the ranks, and no agent dies of it" 'FAILED rank [012] on host[012] .*exited with status 3' "$tmp/err"
allocated
on 0 scontrol update nodename=host2 state=down reason=test
finish_job
like "a node that Slurm declares down is named" 'Slurm: (STEP .*NODE FAILURE|Node failure on host2|Job step aborted)' "$tmp/err"
ok "and nothing is left on the others" until_true no_survivors
on 0 scontrol update nodename=host2 state=idle
allocated
on 1 pkill -KILL -x hvdagent
finish_job
like "an agent that is killed costs its host" 'FAILED on host1: host lost: .*(Killed|Job step|its agent)' "$tmp/err"
ok "and nothing is left there" until_true no_survivors
allocated
kill -KILL "$(survivors | cut -d/ -f3 | while read -r p; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" != hvdrun ] || echo "$p"; done | head -n 1)"
finish_job
ok "when hvdrun is killed nothing is left on any host" until_true no_survivors

# An allocation that shrinks: an elastic job goes on with the hosts that are left.
start on 0 salloc -Q -N3 --ntasks-per-node=1 --no-kill "$HVDRUN" --min-np 1 --verbose sh -c 'echo up; until [ -e "$0" ]; do sleep 0.1; done' "$tmp/go"
until_true three_up
on 0 scontrol update nodename=host2 state=down reason=test
until_said 'host2: host lost: .*Slurm: Node failure on host2' "$tmp/err"
: >"$tmp/go"
finish_job
is "an elastic job survives a node that Slurm has lost" 0 "$status"
like "and says why" 'host2: host lost: .*Slurm: Node failure on host2' "$tmp/err"
on 0 scontrol update nodename=host2 state=idle

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
        is "srun --mpi=$mpi: rank $dead dies, and the three others know which it was" 3 "$(grep -c "rank $dead on host[012] " "$tmp/out")"
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
