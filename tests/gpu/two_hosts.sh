#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# two_hosts.sh --job HVDRUN...: runs hvdrun so that its ranks may change the name of their host: in a user namespace unless by root.
# two_hosts.sh COMMAND...: runs it, as a rank of that job, in a UTS namespace in which the name of the host ends in 0, or in 1
# for the upper half of the ranks: the library takes them for ranks on two hosts.
# two_hosts.sh --can: tells by its status whether this machine permits it.
set -eu
in_job() {
    if [ "$(id -u)" = 0 ]; then
        exec "$@"
    else
        exec unshare --map-root-user "$@"
    fi
}
case $1 in
--can) in_job unshare --uts hostname two-hosts ;;
--job)
    shift
    in_job "$@"
    ;;
esac
: "${HOROVOD_RANK:?not a rank of hvdrun}" "${HOROVOD_SIZE:?not a rank of hvdrun}"
exec unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh \
    "$(hostname | cut -c -50)-$((HOROVOD_RANK * 2 / HOROVOD_SIZE))" "$@"
