# SPDX-License-Identifier: Apache-2.0
# The scenarios of Horovod's test/integration/elastic_common.py (0.28.1), for tests/program/elastic_scenarios_test.sh and
# bench/elastic_scenarios.sh. Workers are tests/support/elastic_scenario.c and tests/python/elastic_scenario.py, which write a line
# after each epoch: epoch, commits so far, host, rank at the start, rank, size, worlds so far. Commits that are missing there would be
# training that is lost.

# shellcheck shell=sh disable=SC2034 # for those who source this

# scenarios FUNCTION: calls FUNCTION SENTENCE STATUS for each, with STATUS 0 or "failed", and
#   $hosts     a line of hosts for each epoch and the later ones, with ';' between them; empty with fixed hosts
#   $epochs    how many there are, $sizes those that begin when the world has a size, $faults what fails when
#   $options   of the launcher
#   $expected  a pattern for each line of the log. A world may grow in two steps if two new workers come more than a second apart.
scenarios() {
    _both='localhost:2 127.0.0.1:2' _four='-np 2 --min-np 2 --max-np 4'
    epochs=3
    for _slots in 2 1; do
        scenario_of_changes $_slots
        "$1" "hosts are added and removed, $_slots each" 0
    done
    for _how in raise kill; do
        hosts=$_both sizes=- faults=1:0:0:$_how options=$_four
        expected='0 10 localhost 0 0 4 1
1 21 127.0.0.1 2 0 2 2
2 32 127.0.0.1 2 0 2 2'
        "$1" "a rank fails ($_how)" 0
        hosts='' options='-np 4 --min-np 2 -H localhost:2,127.0.0.1:2'
        "$1" "a rank of fixed hosts fails ($_how)" 0
    done
    expected='0 10 localhost 0 0 4 1' faults='1:0:0:raise 1:0:1:raise 1:0:2:raise 1:0:3:raise'
    scenario_of_failures "$_four" '-np 4 --min-np 2'
    "$1" "all ranks fail" failed
    faults='1:0:0:raise 1:0:2:raise'
    "$1" "a rank of each host fails" failed
    faults=1:0:0:raise
    scenario_of_failures '-np 4 --min-np 4' '-np 4 --min-np 4'
    "$1" "fewer than the minimum are left" failed
    scenario_of_changes 1
    options="$options --reset-limit 2"
    "$1" "two changes within a limit of two resets" 0
    options="-np 1 --min-np 1 --max-np 2 --reset-limit 1"
    expected='0 10 localhost 0 0 1 1
1 21 localhost 0 0 2 2'
    "$1" "two changes, a limit of one reset" failed
    # The second world has two ranks, or more if the machine pauses for as long as the cool-down.
    hosts=$_both sizes=2:4 faults=1:0:2:kill options="$_four --blacklist-cooldown-range 1 2"
    expected='0 10 localhost 0 0 4 1
1 21 localhost 0 0 [234] [23]
2 32 localhost 0 0 4 [234]'
    "$1" "a host comes back after its cool-down" 0
}

# scenario_of_changes SLOTS
scenario_of_changes() {
    hosts="localhost:$1;localhost:$1 127.0.0.1:$1;127.0.0.1:$1" faults=''
    sizes="1:$((2 * $1)),2:$1" options="-np $1 --min-np $1 --max-np $((2 * $1))"
    expected="0 10 localhost 0 0 $1 1
1 21 localhost 0 0 $((2 * $1)) [23]
2 32 127.0.0.1 $1 0 $1 [34]"
}

# scenario_of_failures OPTIONS FIXED_OPTIONS: a job whose hosts become too few. With $elastic_timeout, in seconds, a script names the
# hosts, as in Horovod's scenarios. Else they are fixed, and the job ends at once.
scenario_of_failures() {
    if [ -n "${elastic_timeout-}" ]; then
        hosts=$_both options="$1 --elastic-timeout $elastic_timeout"
    else
        hosts='' options="$2 -H localhost:2,127.0.0.1:2"
    fi
}

# scenario_begin FOLDER: makes the files of a scenario, and $arguments for the launcher. FOLDER/hosts.sh prints the hosts of the epoch
# that comes next: the log has a line for each that is over.
scenario_begin() {
    : >"$1/log"
    printf '%s\n' "$hosts" | tr ';' '\n' >"$1/schedule"
    cat >"$1/hosts.sh" <<EOF
#!/bin/sh
log=\$(wc -l <"$1/log")
last=\$(wc -l <"$1/schedule")
[ "\$log" -lt "\$last" ] || log=\$((last - 1))
sed -n "\$((log + 1))p" "$1/schedule" | tr ' ' '\\n'
EOF
    chmod +x "$1/hosts.sh"
    arguments="$options${hosts:+ --host-discovery-script $1/hosts.sh}"
}

# scenario_log_is_expected FOLDER: the log has these lines, and no more.
scenario_log_is_expected() {
    [ "$(wc -l <"$1/log")" = "$(printf '%s\n' "$expected" | wc -l)" ] || return
    printf '%s\n' "$expected" | {
        _line=0
        while read -r _pattern; do
            _line=$((_line + 1))
            sed -n "${_line}p" "$1/log" | grep -qx -e "$_pattern" || return
        done
    }
}
