#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A host that is cut off, stops or crashes while a job runs: the job ends, the host is named, nothing is left on any host.
# One that is back soon does not end the job.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"
links || skip_all "$no_links"

busy="$WORLD init barriers 3 print up barriers 100000000"
idle="$WORLD init barriers 3 print up stay"

# More faults: a host that is back at once, but remembers no connection; one that hears nothing, but is heard.
tb_reboot() {
    tb_crash "$1"
    tb_mend "$1"
}
tb_deafen() {
    on "$1" nft 'table ip tb { chain c { type filter hook input priority 0; iif eth0 drop; }; }'
}

# What makes good what a fault did.
undo() {
    case $1 in
    cut) tb_mend 1 ;;
    unplug) tb_plug 1 ;;
    deafen) tb_loss 1 0 ;;
    crash | reboot) hosts_up 3 ;;
    esac
}

for row in 'cut busy' 'crash busy' 'unplug busy --heartbeat-timeout 3' 'pause busy --heartbeat-timeout 3' \
    'cut idle' 'deafen idle --heartbeat-timeout 3' 'pause idle --heartbeat-timeout 3' 'reboot idle'; do
    # shellcheck disable=SC2086  # words
    set -- $row
    fault=$1 how=$2
    shift 2
    [ "$how" = busy ] && act=$busy || act=$idle
    if [ "$fault" = deafen ] && ! command -v nft >/dev/null; then
        skip "$fault of a host, $how ranks" "no nft"
        continue
    fi
    start_world "$act" "$@"
    "tb_$fault" 1
    host_lost "$fault of a host, $how ranks"
    [ "$fault" != pause ] || tb_resume 1
    clean "and nothing is left on any host, the one that was lost included"
    undo "$fault"
done

# A fault that lasts for 2 s, of which none is noticed
for row in 'cut:mend' 'unplug:plug'; do
    start_world "$WORLD init barriers 3 print up wait $tmp/go barriers 100 shutdown"
    "tb_${row%:*}" 1
    sleep 2
    "tb_${row#*:}" 1
    : >"$tmp/go"
    finish_job
    is "${row%:*} for 2 s: an idle job goes on" 0 "$status"
    rm "$tmp/go"
done
start_world "$WORLD init barriers 3 print up barriers 30000 shutdown"
tb_cut 1
sleep 2
tb_mend 1
finish_job
is "and a busy one" 0 "$status"
clean "nothing is left"
finish
