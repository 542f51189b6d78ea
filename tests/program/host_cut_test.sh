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

for row in 'F68: cut busy' 'F68: crash busy' 'F68: unplug busy --heartbeat-timeout 3' 'F68: pause busy --heartbeat-timeout 3' \
    'F69: cut idle' 'F71: deafen idle --heartbeat-timeout 3' 'F69: pause idle --heartbeat-timeout 3' 'F74: reboot idle'; do
    # shellcheck disable=SC2086  # words
    set -- $row
    number=$1 fault=$2 how=$3
    shift 3
    [ "$how" = busy ] && act=$busy || act=$idle
    if [ "$fault" = deafen ] && ! command -v nft >/dev/null; then
        skip "$number $fault of a host, $how ranks" "no nft"
        continue
    fi
    start_world "$act" "$@"
    "tb_$fault" 1
    host_lost "$number $fault of a host, $how ranks"
    [ "$fault" != pause ] || tb_resume 1
    clean "and nothing is left on any host, the one that was lost included"
    undo "$fault"
done

# survives SENTENCE FAULT ACTS: of a fault that lasts for at most 2 s nothing is noticed. A busy machine may make it longer.
# Then a lost host says nothing, and there is another trial. Before Linux 6.15 a busy machine may also make TCP try again so
# late that the usual heartbeat timeout has passed.
survives() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        start_world "$WORLD init barriers 3 print up $3" --heartbeat-timeout 8
        _away_ms=$("tb_$2" 1 1.8)
        : >"$tmp/go"
        finish_job
        rm "$tmp/go"
        [ "$status" != 0 ] && [ "$_away_ms" -gt 2000 ] || break
        echo "# away for $_away_ms ms: status $status"
    done
    if [ "$status" != 0 ] && [ "$_away_ms" -gt 2000 ]; then
        skip "$1" "this machine is too busy to cut a host off for 2 seconds"
    else
        is "$1" 0 "$status"
    fi
}
survives "F70: a host that is cut off within 2 s: an idle job goes on" away "wait $tmp/go barriers 100 shutdown"
survives "F70: one whose cable is pulled likewise" unplugged "wait $tmp/go barriers 100 shutdown"
survives "F70: and a busy job" away "barriers 30000 shutdown"
clean "nothing is left"

# Told to stop before the host is lost: 4 s are unusual, 10 s are the end. Again where hvdrun itself did not run for a while:
# the heartbeat timeout is counted from then on.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    start_world "$idle" --heartbeat-timeout 10 --grace 0
    tb_cut 1
    sleep 5
    signal_hvdrun INT
    finish_job
    tb_mend 1
    ! grep -q 'nothing was heard of host1' "$tmp/err" || break
    until_true nothing_left
done
like "a host of which nothing was heard is named when somebody has waited long enough" \
    "^hvdrun: stopped by signal 2 \(SIGINT\) after [0-9.]+ s, when nothing was heard of host1 for [0-9.]+ s; 4 ranks" "$tmp/err"
clean "and nothing is left there either"
finish
