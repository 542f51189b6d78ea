#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs chaos where nobody else is: /dev/shm is this campaign's own, and the hosts of --hosts are made for it, each with
# a /tmp of its own; the last of them has no hvdagent, so that one is sent there. Needs what tests/testbed.sh needs.
#
#   chaos.sh [--hosts N] [OPTION OF CHAOS...]
#
# $CHAOS is the program; $STAGE, $HVDRUN and so on are as in the tests; without them those of the build in $PWD are.
: "${builddir:=$PWD}" "${srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${STAGE:=$builddir/tests/stage}" "${PREFIX:=/usr/local}"
: "${HVDRUN:=$STAGE$PREFIX/bin/hvdrun}" "${HVDAGENT:=$STAGE$PREFIX/libexec/hvdrun/hvdagent}"
: "${CHAOS:=$builddir/tests/chaos/chaos}"

count=0
[ "${1-}" != --hosts ] || { count=$2; shift 2; }

if [ -z "${CHAOS_ALONE-}" ] && unshare --mount true 2>/dev/null; then
    CHAOS_ALONE=1 srcdir=$srcdir builddir=$builddir exec unshare --mount sh "$0" --hosts "$count" "$@"
fi
[ -z "${CHAOS_ALONE-}" ] || mount -t tmpfs -o mode=1777 chaos /dev/shm

. "$srcdir/tests/tap.sh"
case " $* " in *" --program "*) ;; *) set -- --program "$HVDRUN" "$@" ;; esac
if [ "$count" = 0 ]; then
    [ -z "${CHAOS_ALONE-}" ] || set -- --watch /dev/shm "$@"
    "$CHAOS" --folder "$tmp" "$@"
    exit $?
fi

. "$srcdir/tests/hosts.sh"
TB_NAME=c$(printf %05d $(($$ % 100000)))
TB_TTL=604800 # a campaign may take days
TB_DIR=${TMPDIR:-/tmp}/testbed-$TB_NAME-$(id -u)
hosts_up "$count" || { echo "$hosts_reason" >&2; exit 77; }
links || { echo "$no_links" >&2; exit 77; }
for i in $(seq $((count - 1)) -1 0); do # put in front, one after the other
    init=$(tb_pid "$i")
    [ "$i" = 0 ] || own_tmp "$i" size=64m
    user "$i" /bin/sh "$tmp" # what the own shell reads at login may leave locks when it is killed
    set -- --host "host$i=$init" --watch "/proc/$init/root/dev/shm" --watch "/proc/$init/root/run" "$@"
    [ "$i" = 0 ] || set -- --watch "/proc/$init/root/tmp" "$@"
done
case " $* " in
*" --uncontained "*)
    for i in $(seq 0 $((count - 1))); do
        on "$i" sh -c 'umount -l /sys/fs/cgroup/unified || umount -l /sys/fs/cgroup' 2>/dev/null
    done ;;
esac
on $((count - 1)) mount -t tmpfs none "$(dirname "$HVDAGENT")"
PATH=$TB_DIR/bin:$PATH "$CHAOS" --folder "$tmp" "$@"
