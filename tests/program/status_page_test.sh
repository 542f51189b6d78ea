#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The status page in a browser: a job of four workers at a daemon, looked at before, while and after one is killed; then a
# job of hvdrun's, to its verdict. The browser is Chromium without a window, told what to do over WebDriver.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "the status page in a browser" "nothing of it depends on sanitizers"
    finish
    exit 0
fi
if ! command -v chromedriver >/dev/null || ! command -v chromium >/dev/null; then
    skip "the status page in a browser" "there is no chromedriver"
    finish
    exit 0
fi

# A browser that shows no page at all here, whatever it misses, tells nothing of ours.
if ! HOME=$tmp timeout -k 5 "$PATIENCE_S" chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$tmp/alone" --dump-dom 'data:text/html,<p>seen' >"$tmp/out" 2>"$tmp/err" ||
    ! grep -q '<p>seen' "$tmp/out"; then
    skip "the status page in a browser" "chromium shows no page here: $(tail -n 1 "$tmp/err" | tr -d '#' | cut -c1-200)"
    finish
    exit 0
fi

driver='' daemon='' workers='' session='' hvdrun=''
clean_up() {
    [ -z "$session" ] || driver_says DELETE "/session/$session"
    # shellcheck disable=SC2086  # processes
    kill_children $driver $daemon $workers $hvdrun
    rm -rf "$tmp"
}
trap clean_up EXIT

# driver_says METHOD PATH [JSON]: the answer in $tmp/said, without {"value": and }.
driver_says() {
    printf '%s' "${3-}" | curl -sS --noproxy '*' -m "$PATIENCE_S" -X "$1" -H 'Content-Type: application/json' \
        ${3:+--data-binary @-} "http://127.0.0.1:$driver_port$2" 2>&1 | tr -d '\n' | sed 's/^{"value"://; s/}$//' >"$tmp/said"
}

# js EXPRESSION, without double quotes and backslashes: its value, as JSON.
js() {
    driver_says POST "/session/$session/execute/sync" "{\"script\": \"return $1\", \"args\": []}" && cat "$tmp/said"
}

# page SENTENCE EXPRESSION: comes true in the page.
page() {
    ok "$1" until_true true_in_page "$2"
    true_in_page "$2" || js "document.body.innerText" | sed 's/\\n/\n/g; s/^/# /'
}
true_in_page() {
    [ "$(js "$1")" = true ]
}

# on ELEMENT ACTION [JSON]: click or value (typing) on the first element of that selector.
on() {
    driver_says POST "/session/$session/element" "{\"using\": \"css selector\", \"value\": \"$1\"}"
    element=$(sed 's/.*:"\([^"]*\)".*/\1/' "$tmp/said")
    driver_says POST "/session/$session/element/$element/$2" "${3-{\}}"
}

open_browser() {
    : >"$tmp/driver"
    HOME=$tmp chromedriver --port=0 >"$tmp/driver" 2>&1 &
    driver=$!
    until_true grep -q 'started successfully on port' "$tmp/driver"
    driver_port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' "$tmp/driver")
    driver_says POST /session '{"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": ["--headless=new",
        "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server", "--window-size=1000,800",
        "--user-data-dir='"$tmp"'/browser"]}}}}'
    session=$(sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p' "$tmp/said")
}

# worker NUMBER: of four, on two hosts that are one, in job "demo".
worker() {
    HVD_RENDEZVOUS=127.0.0.1:$port HVD_JOB_ID=demo HVD_JOB_KEY=$job_key HOROVOD_SIZE=4 HOROVOD_RANK=$1 \
        HOROVOD_HOSTNAME=node$(($1 / 2)) "$WORLD" init print up stay >"$tmp/worker.$1" 2>&1 &
    eval "pid_$1=$!"
    workers="$workers $!"
}

"$HVDRENDEZVOUSD" --new-key "$tmp/key"
"$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen 127.0.0.1:0 --port-file "$tmp/port" >"$tmp/out" 2>&1 &
daemon=$!
until_true [ -s "$tmp/port" ]
port=$(cat "$tmp/port")
job_key=$("$HVDRENDEZVOUSD" --key-file "$tmp/key" --job-key demo)
open_browser
ok "a browser opens" [ -n "$session" ]
[ -n "$session" ] || { head -c 2000 "$tmp/said" | sed 's/^/# /'; finish; exit 1; }

driver_says POST "/session/$session/url" "{\"url\": \"http://127.0.0.1:$port/\"}"
page "the page asks for a key" "document.activeElement.id === 'key' && document.querySelector('#main').hidden"
on '#key' value "{\"text\": \"nonsense\\ue007\"}"
page "what is no key is said to be none" "document.querySelector('#why-key').textContent === 'That is no key.'"
js "document.querySelector('#key').value = ''" >/dev/null
on '#key' value "{\"text\": \"$(printf '%064d' 7)\\ue007\"}"
page "a wrong key is refused" "document.querySelector('#why-key').textContent === 'That key was refused.'"
on '#key' value "{\"text\": \"$(cat "$tmp/key")\\ue007\"}"
page "with the service's key there are no jobs yet" \
    "document.querySelector('#ask-key').hidden && !document.querySelector('#none').hidden"

for number in 0 1 2; do worker $number; done
page "three workers have come" "document.querySelectorAll('.cell.waiting').length === 3 && \
    document.querySelector('#about').textContent.includes('1 missing')"
worker 3
page "four ranks run" "document.querySelectorAll('.cell.running').length === 4"
page "on their hosts" "Array.from(document.querySelectorAll('#hosts h3'), h => h.textContent).join() === 'node0,node1'"
page "a cell says its rank and state without colour" \
    "document.querySelectorAll('.cell')[3].innerText === '3 R'"
page "and to who cannot see it" \
    "document.querySelectorAll('.cell')[3].getAttribute('aria-label') === 'rank 3 running'"
page "requests are counted" "/[0-9.]+ requests.s.. in .*.. out /.test(document.querySelector('#rates').textContent)"
on '.cell:nth-child(2)' click
page "a cell that is clicked says what its rank does" \
    "document.querySelector('#which').textContent === 'rank 1 on node0: running' && \
    document.querySelector('#place').textContent.includes('pid ${pid_1-}') && \
    document.querySelector('#status-text').textContent.length > 0 && \
    document.querySelector('#status-text').textContent !== 'is being asked ...'"

kill -9 "${pid_2-}"
page "the rank that was killed is lost" "document.querySelectorAll('.cell')[2].dataset.state === 'lost'"
page "the job has failed, and the page says why" "document.querySelector('#about').textContent.startsWith('failed') && \
    document.querySelector('#cause').textContent.includes('rank 2 on node1')"
page "the others are still there, and have been told" "document.querySelectorAll('.cell.running').length === 3 && \
    document.querySelector('#status-text').textContent.startsWith('the world is broken: the connection to rank 2 on node1')"
js "document.querySelectorAll('.cell')[2].focus()" >/dev/null
page "a cell that is focused says what is known of its rank" \
    "document.querySelector('#which').textContent === 'rank 2 on node1: lost' && \
    document.querySelector('#status-text').textContent === 'its connection broke'"

kill "$daemon"
page "a rendezvous that is gone is said to be" "!document.querySelector('#banner').hidden && \
    /^The rendezvous does not answer for [0-9]+ s now$/.test(document.querySelector('#banner').textContent)"

"$HVDRUN" --status-page -np 3 "$WORLD" init print up but 1 barriers 1 all stay >"$tmp/hvdrun" 2>&1 &
hvdrun=$!
until_true grep -q '^hvdrun: status page: ' "$tmp/hvdrun"
address=$(sed -n 's/^hvdrun: status page: //p' "$tmp/hvdrun")
ok "hvdrun tells the address of its status page" [ "${address#http://127.0.0.1:}" != "$address" ]
driver_says POST "/session/$session/url" "{\"url\": \"$address\"}"
page "its three ranks have come" "document.querySelector('#about').textContent.includes('3 of 3 connected')"
page "what they run, and for whom, can be read" \
    "document.querySelector('#command').textContent.endsWith(' init print up but 1 barriers 1 all stay') && \
    document.querySelector('#about').textContent.includes('user $(id -un)')"
page "stalled ranks are named with the rank for which they wait" \
    "/^Stalled: ranks 0, 2 wait for rank 1, tensor .+, for [0-9.]+ s$/.test(document.querySelector('#stalls').textContent) && \
    cells[0].className === 'cell stalled' && /^0 S.+ 1$/.test(cells[0].textContent) && \
    cells[0].getAttribute('aria-label') === 'rank 0 stalled, waits for rank 1'"
page "and the rank for which they wait is marked" \
    "cells[1].className === 'cell running awaited' && cells[1].textContent === '1 R!awaited'"
page "a rank that waits far less than the others is said to be slow" \
    "(samples = [0, 1, 2].map(() => [{ bytes: 0, waiting_s: 0, uptime_s: 0 }]), \
    workers.forEach((w, i) => { w.stalled = null; w.stats = { bytes: 4e6, waiting_s: i === 2 ? 0.1 : 1.6, uptime_s: 2 }; }), \
    drawCells(), cells[2].textContent === '2 Rslow 5 %' && cells[0].textContent === '0 Rwaits 80 %' && \
    document.querySelector('#slow').textContent.startsWith('Slow: others wait for rank 2 on'))"
on '.cell:nth-child(2)' click
page "a rank that is chosen shows what it has written last" \
    "document.querySelector('#output').textContent.startsWith('stdout:')"
kill -9 "$(js "workers[1].pid")"
status=0
wait "$hvdrun" || status=$?
hvdrun=
is "hvdrun ends with the status of the rank that was killed" 137 "$status"
page "the page has the verdict, after hvdrun's end" \
    "document.querySelector('#verdict').textContent.startsWith('FAILED rank 1 on ') && \
    document.querySelector('#verdict').textContent.includes('SIGKILL') && document.querySelector('#about').textContent.startsWith('failed')"
page "and how each rank has ended" \
    "cells[1].textContent === '1 F' && /^0 [TF]$/.test(cells[0].textContent) && /^2 [TF]$/.test(cells[2].textContent)"
page "the last lines of the rank that failed can be read without a click" \
    "document.querySelectorAll('#ends details').length === 3 && document.querySelectorAll('#ends details[open]').length === 1 && \
    document.querySelector('#ends details[open] summary').textContent.includes('rank 1 on') && \
    document.querySelector('#ends details[open] pre').textContent.startsWith('stdout:')"
js "setTimeout(tick)" >/dev/null
page "and nobody is said not to answer" "document.querySelector('#banner').hidden"

status=0
"$HVDRUN" --status-port "$driver_port" -np 1 touch "$tmp/started" 2>"$tmp/taken" || status=$?
is "a port that is taken is a failure" 71 "$status"
is "which names the port" "hvdrun: error: --status-port: listen on 127.0.0.1:$driver_port: Address already in use" "$(cat "$tmp/taken")"
ok "and nothing is started" [ ! -e "$tmp/started" ]
is "the page asked for nothing that it may not" '' "$(driver_says POST "/session/$session/se/log" '{"type": "browser"}' &&
    tr '}' '\n' <"$tmp/said" | grep -i 'security policy')"
finish
