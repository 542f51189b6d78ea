#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong on a command line, in a hostfile, in a configuration file or in the environment: each row of the tables ends with
# the row's status, says so in one short line, starts nothing and leaves nothing behind. tests/bad/README.md says what the tables hold
# and how their rows are written.
srcdir=$(cd "${srcdir:-.}" && pwd)
for name in HVDRUN HVDRENDEZVOUSD HVD_BANDWIDTH WORLD; do
    eval "program=\$$name"
    [ -x "$program" ] && export "$name=$(cd "$(dirname "$program")" && pwd)/${program##*/}" || exit 99
done
LD_LIBRARY_PATH=$STAGE$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
unset HOROVOD_START_TIMEOUT HOROVOD_STALL_CHECK_TIME_SECONDS HOROVOD_STALL_CHECK_DISABLE
unset HVD_REMOTE_SHELL HVD_NETWORK_INTERFACES HVD_PORT_RANGE OMPI_MCA_plm_rsh_agent
unset SLURM_JOB_NODELIST SLURM_NODELIST LSB_DJOB_HOSTFILE LSB_MCPU_HOSTS LSB_HOSTS PBS_NODEFILE PE_HOSTFILE
unset NOTIFY_SOCKET CREDENTIALS_DIRECTORY

# What rows of hvdrendezvousd's name.
keys=$(mktemp -d) || exit 99
trap 'rm -rf "$keys"' EXIT
trap 'exit 99' HUP INT TERM
(
    cd "$keys" || exit 99
    printf '%064x\n' 1 >key
    printf '%064x\n' 1 >open
    : >empty
    printf '%064x%064x\n' 1 1 >long
    printf '%063x\n' 1 >short
    chmod 600 key empty long short
    chmod 644 open
    ln -s open link
    mkdir folder
) || exit 99

bad=$srcdir/tests/bad
"$builddir/tests/bad/refusals" \
    "$bad/hvdrun.tsv" 'hvdrun: error: ' - "$HVDRUN" -- \
    "$bad/config.tsv" 'hvdrun: error: ' - "$HVDRUN" -np 1 --config-file c.yaml echo started -- \
    "$bad/hvdrendezvousd.tsv" 'hvdrendezvousd: error: ' "$keys" "$HVDRENDEZVOUSD" -- \
    "$bad/hvd-bandwidth.tsv" 'hvd-bandwidth: ' - "$HVD_BANDWIDTH" -- \
    "$bad/library.tsv" 'world: hvd_init: ' - "$WORLD" init -- \
    "$bad/bare.tsv" 'hvdrun: error: ' - "$builddir/tests/bad/bare"
