#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Workers that mpirun of Open MPI (pmix) or mpiexec of MPICH (pmi1) starts, without hvdrun: they meet, and what goes wrong ends
# with one clear line of each worker. slurm_test.sh has srun. And variables that are left over, or are of two launchers.
. "$srcdir/tests/tap.sh"

# As root, and on a machine with fewer processors than ranks, mpirun of Open MPI wants to be asked twice.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
HOROVOD_START_TIMEOUT=60
export HOROVOD_START_TIMEOUT

# Leaks of the libraries of process managers are not ours.
case ${SANITIZERS-} in
*address*)
    LSAN_OPTIONS=${LSAN_OPTIONS:+$LSAN_OPTIONS:}suppressions=$srcdir/tests/libssh2.supp:print_suppressions=0
    export LSAN_OPTIONS
    ;;
esac

# by_rank FILE: writes a script in which $rank is the rank, from stdin.
by_rank() {
    { echo '#!/bin/sh'; echo 'rank=${PMIX_RANK-$PMI_RANK}'; cat; } >"$1"
    chmod +x "$1"
}

# launcher COMMAND: what "mpi N PROGRAM..." stands for from now on
launcher() {
    printf '#!/bin/sh\nn=$1\nshift\nexec %s "$n" "$@"\n' "$1" >"$tmp/mpi"
    chmod +x "$tmp/mpi"
}
PATH=$tmp:$PATH

# These are the same under each launcher: launcher_tests NAME BOOTSTRAP WHAT-IS-SAID-OF-A-RANK-THAT-DOES-NOT-COME
launcher_tests() {
    run mpi 4 "$WORLD" init collectives place shutdown
    is "$1: four workers are a world, whose collectives are right" "0 4" "$status $(grep -c ' of 4, local [0-3] of 4, cross 0 of 1$' "$tmp/out")"
    is "each has a rank of its own" "0 1 2 3 " "$(sed -n 's/.*rank \([0-9]*\) of 4.*/\1/p' "$tmp/out" | sort -n | tr '\n' ' ')"
    run mpi 2 env HOROVOD_LOG_LEVEL=info "$WORLD" init
    like "HOROVOD_LOG_LEVEL=info says which bootstrap, and why" "I\\]: hvd_init: bootstrap $2, because of PMI" "$tmp/err"
    unlike "and no key is in the log" '[0-9a-f]{64}' "$tmp/err"
    unlike "and nobody is warned of lone processes" 'world of 1 rank' "$tmp/err"
    run mpi 1 "$WORLD" alone
    is "one process is a world of one" 0 "$status"
    run mpi 3 "$WORLD" init barriers 3 return 0
    is "and workers may end without hvd_shutdown" 0 "$status"

    printf '#!/bin/sh\nexec "%s" init barriers 10 print through shutdown\n' "$WORLD" >"$tmp/run.sh"
    run mpi 8 bash "$tmp/run.sh"
    is "a script that execs the program is fine, eight times" "0 8" "$status $(grep -c 'through$' "$tmp/out")"

    # A rank dies. The launcher may kill the others at once, and then these would rightly be called dead, too. So they are in a
    # session of their own, where the launcher does not find them, and say which rank they have lost.
    for dead in 2 0; do
        rm -f "$tmp/said."*
        by_rank "$tmp/dies" <<.
[ \$rank = $dead ] && exec "$WORLD" init barriers 3 die 9
setsid "$WORLD" patient init barriers 3 expect PEER_LOST print done >"$tmp/said.\$rank" 2>&1 &
wait
.
        run mpi 3 "$tmp/dies"
        ok "$1: rank $dead dies, which ends the job" [ "$status" -ne 0 ]
        until_true no_survivors_now
        is "and the two others know which it was" "2 2" "$(cat "$tmp/said."* | grep -c "rank $dead on") $(cat "$tmp/said."* | grep -c '^done$')"
    done

    # A rank that never comes: a program without libhvd, or with one that does not know of the launcher.
    by_rank "$tmp/mixed" <<.
[ \$rank = 1 ] && exec tail -f --pid=\$PPID /dev/null
HOROVOD_START_TIMEOUT=5 exec "$WORLD" init
.
    start mpi 3 "$tmp/mixed"
    until_said "$3" "$tmp/err"
    ok "$1: a rank that does not come ends the others' start, with a line that says so" grep -Eq -e "$3" "$tmp/err"
    kill_job

    run mpi 2 env HVD_JOB_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff "$WORLD" init barriers 2
    is "$1: with HVD_JOB_KEY on all ranks no key is published" 0 "$status"
    by_rank "$tmp/one_key" <<.
[ \$rank = 0 ] && export HVD_JOB_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
HOROVOD_START_TIMEOUT=10 exec "$WORLD" init
.
    run mpi 2 "$tmp/one_key"
    like "and a rank without it says what it misses" 'rank 0 has the key in HVD_JOB_KEY, which is not set here' "$tmp/err"
    unlike "without showing the key" '0011223344' "$tmp/err"

    by_rank "$tmp/no_port" <<.
[ \$rank = 0 ] && export HVD_PORT_RANGE=1-1 HVD_NETWORK_INTERFACES=nosuch0
exec "$WORLD" init
.
    run mpi 2 "$tmp/no_port"
    like "$1: what keeps rank 0 from serving is said by rank 0" 'hvd_init: .*nosuch0' "$tmp/err"
    by_rank "$tmp/no_key" <<.
[ \$rank = 0 ] && export HVD_JOB_KEY=0011
exec "$WORLD" init
.
    run mpi 2 "$tmp/no_key"
    like "$1: so is a key that is none" 'hvd_init: .*HVD_JOB_KEY: not 64 hexadecimal digits' "$tmp/err"
}

if command -v mpiexec.mpich >/dev/null; then
    launcher 'mpiexec.mpich -n'
    launcher_tests mpiexec.mpich pmi1 'hvd_init: pmi1: some ranks of the job have not called hvd_init in time'
else
    skip "mpiexec.mpich" "no mpiexec.mpich (mpich)"
fi
if ! command -v mpirun.openmpi >/dev/null; then
    skip "mpirun" "no mpirun of Open MPI (openmpi-bin)"
elif [ "$BUILT_WITH_PMIX" != yes ]; then
    skip "mpirun" "libhvd was built without PMIx"
else
    launcher 'mpirun.openmpi --oversubscribe -np'
    launcher_tests mpirun pmix 'hvd_init: join rank 0 on .*: ranks? 1.* of 3 ha(s|ve) not come within 5 s|rank 0 has not called hvd_init in time'
    run mpirun.openmpi --oversubscribe -np 8 --bind-to numa:overload-allowed bash "$tmp/run.sh"
    is "mpirun --bind-to numa bash run.sh" "0 8" "$status $(grep -c 'through$' "$tmp/out")"
    if [ -n "$PYDIR" ] && "$PYTHON" -c 'import numpy, torch' 2>/dev/null; then
        run mpi 2 env PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR" OMP_NUM_THREADS=1 "$PYTHON" -c '
import os, hvd.torch as hvd, torch
hvd.init()
sum = hvd.allreduce(torch.full((1,), float(hvd.rank())), op=hvd.Sum).item()
os.write(1, b"%d %.1f\n" % (hvd.size(), sum))'
        is "hvd.torch runs under mpirun" "0 2" "$status $(grep -c '^2 1.0$' "$tmp/out")"
    else
        skip "hvd.torch under mpirun" "built without Python, or no numpy or torch"
    fi
fi

# A program that uses MPI too, which speaks to the same process manager
cat >"$tmp/with_mpi.c" <<'END'
#include <hvd.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int one = 1, sum = 0, mpi_first = argc > 1;
    if (mpi_first)
        MPI_Init(&argc, &argv);
    if (hvd_init() != HVD_OK)
        return fprintf(stderr, "hvd_init: %s\n", hvd_last_error()), 1;
    if (!mpi_first)
        MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    hvd_shutdown();
    MPI_Finalize();
    return sum != 2;
}
END
for row in 'mpicc.mpich mpiexec.mpich -n mpi_first' 'mpicc.mpich mpiexec.mpich -n' 'mpicc.openmpi mpirun.openmpi -np mpi_first'; do
    # shellcheck disable=SC2086  # words
    set -- $row
    command -v "$1" >/dev/null && command -v "$2" >/dev/null && [ "$SANITIZERS" = no ] && { [ "$3" = -n ] || [ "$BUILT_WITH_PMIX" = yes ]; } ||
        { skip "MPI and libhvd in one program, $row" "no $1 or $2, or sanitizers"; continue; }
    "$1" -I"$srcdir/lib" "$tmp/with_mpi.c" -o "$tmp/with_mpi" -L"$builddir/lib/.libs" -lhvd >"$tmp/compiled" 2>&1
    if [ -n "${4-}" ]; then run env LD_LIBRARY_PATH="$builddir/lib/.libs" "$2" "$3" 2 "$tmp/with_mpi" "$4"; else run env LD_LIBRARY_PATH="$builddir/lib/.libs" "$2" "$3" 2 "$tmp/with_mpi"; fi
    is "MPI and libhvd work in one program under $2 ${4:+with MPI_Init first}" 0 "$status"
done

# Left over in the environment of a program that is started alone
while IFS='|' read -r variables text; do
    # shellcheck disable=SC2086  # words
    run env $variables "$WORLD" init
    is "with $variables hvd_init() fails" 1 "$status"
    is "in one line" 1 "$(wc -l <"$tmp/err")"
    ok "that says: $text" grep -Fq -e "$text" "$tmp/err"
done <<.
PMI_RANK=0 PMI_SIZE=2 PMI_FD=77|pmi1: PMI_FD is 77, which is not open; if this variable is left over from another program, unset it or set HVD_BOOTSTRAP=alone
PMI_RANK=0 PMI_SIZE=2 PMI_FD=1|pmi1: PMI_FD is 1, which is no socket
PMI_RANK=0 PMI_SIZE=2 PMI_FD=x|pmi1: PMI_FD: 'x' is not a number
PMI_RANK=0 PMI_SIZE=2 PMI_FD=77 PMI_JOBID=1.0|pmi2: PMI_FD is 77, which is not open
PMI_RANK=2 PMI_SIZE=2 PMI_FD=77|pmi1: PMI_RANK: '2' is not a number from 0 to 1
PMIX_RANK=0 PMIX_NAMESPACE=left.over|pmix: 
SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4|pmi1: libpmi.so.0
HVD_BOOTSTRAP=mpi|HVD_BOOTSTRAP: 'mpi' is not one of hvdrun, service, pmix, pmi2, pmi1 and alone
HVD_BOOTSTRAP=pmix|HVD_BOOTSTRAP is pmix but PMIX_RANK is not set
.
if [ "$BUILT_WITH_PMIX" = yes ]; then
    run env PMIX_RANK=0 PMIX_NAMESPACE=left.over "$WORLD" init
    like "PMIx variables without a server are called left over" 'no PMIx server answers: .*left over from another program' "$tmp/err"
fi
run env PMI_RANK=0 PMI_SIZE=2 PMI_FD=77 HVD_BOOTSTRAP=alone "$WORLD" alone
is "HVD_BOOTSTRAP=alone makes a world of one all the same" 0 "$status"

# Two launchers' variables at once: hvdrun inside a rank of another launcher
run env PMI_RANK=0 PMI_SIZE=2 PMI_FD=77 PMIX_RANK=0 PMIX_NAMESPACE=left.over "$HVDRUN" -np 2 --log-level info "$WORLD" init barriers 2
is "hvdrun wins over the variables of others" 0 "$status"
like "which is said" 'hvd_init: bootstrap hvdrun, because of HOROVOD_GLOO_RENDEZVOUS_ADDR; [A-Z_]* is set too, and not used' "$tmp/err"
finish
