#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unmodified Horovod workers in elastic jobs of hvdrun: they ask for their places over HTTP and are notified of other hosts. The
# workers here are a stand-in that speaks the same bytes (tests/support/elastic_stock_worker.py). The real ones are in
# tests/program/elastic_scenarios_test.sh.
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
until_said ' \(worker 2\) runs ' "$tmp/err"
kill_worker 1
ok "a new worker whose place is wrong by then is replaced" are 0 3
unlike "and has never been in a world" 'worker 2 pid' "$tmp/out"
end_job
is "and its end is no failure" 0 "$status"

finish
