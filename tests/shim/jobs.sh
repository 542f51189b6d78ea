# SPDX-License-Identifier: Apache-2.0
# The jobs in which calls fail; sourced by shim.sh and shim_test.sh, which have set $tmp.
#
#   run_job KIND every OPTION...     runs tests/shim/enumerate on a job
#     local    two ranks on this machine, over shared memory
#     network  the same over TCP
#     hosts    on two hosts, each with a supervisor, which a command reaches: they are this machine, over TCP
#     ssh      on two hosts of tests/hosts.sh, after hosts_up 2; only calls of hvdrun and of its own host can fail
#
# The programs lie in one folder, so that hvdrun finds the agent whose calls can be made to fail.

# shellcheck shell=sh
folder=$tmp/shim
mkdir -p "$folder"
cp "$builddir/hvdrun" "$builddir/hvdssh" "$folder"
cp "$builddir/tests/shim/hvdagent" "$folder/hvdagent"
worker=$builddir/tests/shim/worker
elements= # of the larger tensors; the worker's default
preload=$builddir/tests/shim/.libs/libshim.so
case ${SANITIZERS-} in
*address*)
    preload="$(${CC:-cc} -print-file-name=libasan.so) $preload"
    # What a process has when it gives up is not freed.
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    export ASAN_OPTIONS
    ;;
esac

cat >"$folder/every" <<.
#!/bin/sh
exec "$builddir/tests/shim/enumerate" --preload "$preload" --jobs "${SHIM_JOBS:-2}" "\$@"
.
chmod +x "$folder/every"

every() {
    "$folder/every" "$@"
}

# run_job KIND COMMAND...: the command, with the job of that kind behind it.
run_job() {
    kind=$1
    shift
    # shellcheck disable=SC2086  # a word, or none
    case $kind in
    local) "$@" "$folder/hvdrun" -np 2 -H localhost:2 "$worker" $elements ;;
    network) "$@" "$folder/hvdrun" -np 2 -H localhost:2 env HVD_TRANSPORT=tcp "$worker" $elements ;;
    hosts) "$@" "$folder/hvdrun" --remote-shell "sh -c 'shift; exec \"\$@\"' sh %h" \
        -np 2 -H 192.0.2.201:1,192.0.2.202:1 "$worker" $elements ;;
    ssh)
        shift
        on 0 "$folder/every" "$@" "$folder/hvdrun" -np 2 -H "$(slots 1 1)" "$worker" $elements
        ;;
    esac
}
