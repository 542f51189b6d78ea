#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Horovod workers in elastic jobs of hvdrun: they ask for their places over HTTP and are notified of other hosts. The
# workers here are a stand-in that speaks the same bytes (tests/support/elastic_stock_worker.py). The real ones run Horovod's eight
# scenarios (test/integration/elastic_common.py of 0.28.1) if HVD_TEST_STOCK_PYTHON names a Python that imports horovod.torch.
. "$srcdir/tests/tap.sh"

python=$(command -v python3) || python=
if [ -z "$python" ] || ! "$python" -c 'import http.client, pickle' 2>/dev/null; then
    skip "unmodified workers in elastic jobs" "there is no python3"
    finish
fi

# elastic ARGUMENT...: starts a job whose workers go on until end_job.
elastic() {
    rm -f "$tmp/end"
    start "$HVDRUN" --grace 1 "$@" "$python" "$srcdir/tests/support/elastic_stock_worker.py" "$tmp"
}

# hosts LINE...: what the script prints from now on, all at once.
hosts() {
    printf '%s\n' "$@" >"$tmp/hosts.new"
    mv "$tmp/hosts.new" "$tmp/hosts"
}

# are WORKER...: the workers of a world, in order of rank.
are() {
    _rank=0
    for _worker in "$@"; do
        until_said "rank $_rank of $# worker $_worker pid " || return 1
        _rank=$((_rank + 1))
    done
}

# kill_worker NUMBER
kill_worker() {
    kill -KILL "$(sed -n "s/.*worker $1 pid \([0-9]*\) .*/\1/p" "$tmp/out" | head -n 1)"
}

end_job() {
    : >"$tmp/end"
    finish_job
}

# ---- ranks that are lost ----

elastic -np 4 --min-np 2 -H localhost:2,127.0.0.2:2
ok "four unmodified workers are a world" are 0 1 2 3
kill_worker 0
ok "one is killed, and those of the other host are the next world" are 2 3
ok "the other of its host hears that it was removed, and aborts" until_said 'removed worker 1 \(200\)'
end_job
is "which is no failure" 0 "$status"
ok "and nobody is left behind" no_survivors

elastic -np 3 --min-np 1 -H localhost:3
are 0 1 2
kill_worker 0
ok "local ranks change when one of the same host is lost" are 1 2
kill_worker 1
ok "and the new local rank names the worker from then on" until_said 'rank 0 of 1 worker 2 pid [0-9]* local 0 of 1 across 0 of 1'
end_job
is "the job ends well" 0 "$status"

elastic -np 2 --min-np 1 -H localhost:2 --blacklist-cooldown-range 1 1
are 0 1
kill_worker 1
ok "a slot is taken again by a new worker, which the other waits for" are 0 2
kill_worker 0
# Alone, or with the next worker if the machine pauses for as long as the cool-down.
ok "its local rank is its own, not that of the former" until_said 'rank 0 of [12] worker 2 '
ok "and a further one takes the slot before it, and a later rank" are 2 3
end_job
is "and the job ends well" 0 "$status"

# ---- hosts that come and go ----

hosts localhost:2
elastic -np 2 --min-np 1 --max-np 4 --verbose --host-discovery-script "cat '$tmp/hosts'"
are 0 1
ok "a worker that listens is pinged" until_said 'worker [01] can be notified' "$tmp/err"
hosts localhost:2 127.0.0.2:2
ok "rank 0 is notified of a new host, and its workers join" are 0 1 2 3
ok "it has acknowledged that" until_said 'worker 0 knows that hosts have changed' "$tmp/err"
hosts 127.0.0.2:2
ok "a host is left, and rank 0 is another" are 2 3
ok "its workers are removed" until_said 'removed worker 0 \(200\)'
ok "both" until_said 'removed worker 1 \(200\)'
hosts 127.0.0.2:2 localhost:1
ok "a later rank 0 is notified where it listens since its first world" are 2 3 4
end_job
is "and the job ends well" 0 "$status"
ok "without anybody left behind" no_survivors

hosts localhost:2
: >"$tmp/hold.2"
elastic -np 2 --min-np 1 --max-np 4 --verbose --host-discovery-script "cat '$tmp/hosts'"
are 0 1
hosts localhost:2 127.0.0.2:1
until_said ': rank 2 runs ' "$tmp/err"
kill_worker 1
ok "a new worker whose place is wrong by then is replaced" are 0 3
unlike "and has never been in a world" 'worker 2 pid' "$tmp/out"
end_job
is "and its end is no failure" 0 "$status"

# ---- Horovod itself ----

if [ -z "${HVD_TEST_STOCK_PYTHON-}" ]; then
    skip "Horovod's scenarios with its own workers" "HVD_TEST_STOCK_PYTHON names no Python with Horovod"
    finish
    exit
fi

# hosts.sh prints the line of the schedule for the epoch that comes next: the log has a line for each that is over.
cat >"$tmp/hosts.sh" <<END
#!/bin/sh
log=\$(wc -l <"$tmp/log")
last=\$(wc -l <"$tmp/schedule")
[ "\$log" -lt "\$last" ] || log=\$((last - 1))
sed -n "\$((log + 1))p" "$tmp/schedule" | tr ' ' '\\n'
END
chmod +x "$tmp/hosts.sh"

# scenario SCHEDULE CHANGES EPOCHS FAULTS ARGUMENT...: SCHEDULE has the hosts of each epoch, with ';' between them; after the epochs
# in CHANGES rank 0 waits for its notification; FAULTS are those of elastic_stock_train.py.
scenario() {
    printf '%s\n' "$1" | tr ';' '\n' >"$tmp/schedule"
    printf '%s\n' "$2" | tr ' ' '\n' | grep . >"$tmp/log.hosts"
    : >"$tmp/log"
    _epochs=$3 _faults=$4
    shift 4
    # shellcheck disable=SC2086 # several words
    run "$HVDRUN" "$@" "$HVD_TEST_STOCK_PYTHON" "$srcdir/tests/support/elastic_stock_train.py" "$tmp/log" \
        "$_epochs" $_faults
}

# logs LINE...: epoch, commits, host, rank at the start, rank, size, worlds
logs() {
    [ "$(printf '%s\n' "$@")" = "$(cat "$tmp/log")" ]
}

with_script() {
    scenario "$@" --host-discovery-script "$tmp/hosts.sh"
}

scenario_of_slots() { # SLOTS
    with_script "localhost:$1;localhost:$1 127.0.0.1:$1;127.0.0.1:$1" "0 1" 3 "" \
        -np "$1" --min-np "$1" --max-np $((2 * $1))
}

for slots in 2 1; do
    scenario_of_slots $slots
    ok "hosts added and removed, $slots slots" logs "0 10 localhost 0 0 $slots 1" \
        "1 21 localhost 0 0 $((2 * slots)) 2" "2 32 127.0.0.1 $slots 0 $slots 3"
    is "ends well ($slots)" 0 "$status"
done
for how in raise kill; do
    with_script "localhost:2 127.0.0.1:2" "" 3 "1:0:0:$how" -np 2 --min-np 2 --max-np 4
    ok "a single rank fails ($how)" logs "0 10 localhost 0 0 4 1" "1 21 127.0.0.1 2 0 2 2" "2 32 127.0.0.1 2 0 2 2"
    is "and the job ends well ($how)" 0 "$status"
    scenario "" "" 3 "1:0:0:$how" -np 4 --min-np 2 -H localhost:2,127.0.0.1:2
    ok "a single rank of fixed hosts fails ($how)" logs "0 10 localhost 0 0 4 1" "1 21 127.0.0.1 2 0 2 2" "2 32 127.0.0.1 2 0 2 2"
    is "and that job ends well, too ($how)" 0 "$status"
done
with_script "localhost:2 127.0.0.1:2" "" 3 "1:0:0:raise 1:0:1:raise 1:0:2:raise 1:0:3:raise" -np 2 --min-np 2 --max-np 4
ok "when all ranks fail the job fails" [ "$status" -ne 0 ]
with_script "localhost:2 127.0.0.1:2" "" 3 "1:0:0:raise 1:0:2:raise" -np 2 --min-np 2 --max-np 4 --elastic-timeout 3
ok "when a rank of each host fails and no host comes, the job ends after --elastic-timeout" [ "$status" -ne 0 ]
with_script "localhost:2 127.0.0.1:2" "" 3 "1:0:0:raise" -np 4 --min-np 4 --max-np 4 --elastic-timeout 3
ok "below the minimum the job ends after --elastic-timeout" [ "$status" -ne 0 ]
with_script "localhost:2;localhost:2 127.0.0.1:2;127.0.0.1:2" "0 1" 3 "" -np 2 --min-np 2 --max-np 4 --reset-limit 2
is "two changes of hosts are within a limit of two resets" 0 "$status"
ok "and as without a limit" logs "0 10 localhost 0 0 2 1" "1 21 localhost 0 0 4 2" "2 32 127.0.0.1 2 0 2 3"
with_script "localhost:2;localhost:2 127.0.0.1:2;127.0.0.1:2" "0 1" 3 "" -np 2 --min-np 2 --max-np 4 --reset-limit 1
ok "and beyond a limit of one" [ "$status" -ne 0 ]
like "which is said" 'a further world is needed after 1 reset \(--reset-limit\)' "$tmp/err"
with_script "localhost:2 127.0.0.1:2" "" 15 "1:0:2:kill" -np 2 --min-np 2 --max-np 4 --blacklist-cooldown-range 1 2
is "a host comes back after its cool-down" 0 "$status"
like "the world was small in between, or grew again" '^1 21 localhost 0 0 [24] ' "$tmp/log"
finish
