#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong on hvdrun's command line or in a hostfile: each row of tests/bad/hvdrun.tsv ends with the row's status, says so in one
# short line and starts nothing. So does what is wrong in a configuration file: each row of tests/bad/config.tsv.
#
# Columns, between single tabs, "-" for none: id, variable, arguments (as a shell reads them), contents of the file "hosts" (with
# printf's escapes), exit status, part of the line on stderr. Of the other table: id, contents of the file, part of the line.
srcdir=$(cd "${srcdir:-.}" && pwd)
HVDRUN=$(cd "$(dirname "$HVDRUN")" && pwd)/${HVDRUN##*/}
. "$srcdir/tests/tap.sh"
unset HOROVOD_START_TIMEOUT HOROVOD_STALL_CHECK_TIME_SECONDS HOROVOD_STALL_CHECK_DISABLE
unset HVD_REMOTE_SHELL HVD_NETWORK_INTERFACES HVD_PORT_RANGE OMPI_MCA_plm_rsh_agent
unset SLURM_JOB_NODELIST SLURM_NODELIST LSB_DJOB_HOSTFILE LSB_MCPU_HOSTS LSB_HOSTS PBS_NODEFILE PE_HOSTFILE

host_names() { # COUNT SEPARATOR
    seq -s "$2" -f 'h%.0f' "$1"
}

# Runs a row in a folder of its own, so that no file of another row is in its way.
run_row() { # ID VARIABLE ARGUMENTS HOSTS STATUS PATTERN
    mkdir "$tmp/row" && cd "$tmp/row" || exit 99
    [ "$2" = - ] && variable=NOTHING= || variable=$2
    [ "$3" = - ] && arguments= || arguments=$3
    [ "$4" = - ] || printf '%b' "$4" >hosts
    eval "run timeout 20 env \"\$variable\" \"\$HVDRUN\" $arguments"
    ok "$1: $6" refused hvdrun "$5" "$6"
    cd "$tmp" && rm -r row
}

while IFS='	' read -r id variable arguments hosts expected pattern; do
    case $id in '#'*) continue ;; esac
    run_row "$id" "$variable" "$arguments" "$hosts" "$expected" "$pattern"
done <"$srcdir/tests/bad/hvdrun.tsv"
ok "the table was read" [ "$tests" -gt 180 ]

while IFS='	' read -r id contents pattern; do
    case $id in '#'*) continue ;; esac
    mkdir "$tmp/row" && cd "$tmp/row" || exit 99
    printf '%b' "$contents" >c.yaml
    run timeout 20 "$HVDRUN" -np 1 --config-file c.yaml echo started
    ok "$id: $pattern" refused hvdrun 2 "$pattern"
    cd "$tmp" && rm -r row
done <"$srcdir/tests/bad/config.tsv"
ok "the table of configuration files was read" [ "$tests" -gt 240 ]
finish
