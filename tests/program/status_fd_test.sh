#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrun --status-fd: a program that starts hvdrun learns the port of the status page from a descriptor.
. "$srcdir/tests/tap.sh"

run "$HVDRUN" --status-fd 3 -np 1 sh -c '[ ! -e /proc/self/fd/3 ] || [ ! /proc/self/fd/3 -ef "$0" ]' "$tmp/port" 3>"$tmp/port"
is "the job runs, and no rank has the descriptor" 0 "$status"
like "the descriptor has the port" '^[0-9]+$' "$tmp/port"
is "in one line" 1 "$(wc -l <"$tmp/port")"
is "and nothing is printed" '' "$(cat "$tmp/err")"

run "$HVDRUN" --status-fd 9 -np 1 touch "$tmp/started" 9>&-
is "a descriptor that is closed is status 2" 2 "$status"
is "in a line that names it" 'hvdrun: error: --status-fd: descriptor 9 is not open' "$(cat "$tmp/err")"
ok "and nothing is started" [ ! -e "$tmp/started" ]

run "$HVDRUN" --status-fd 3 -np 1 touch "$tmp/started" 3>/dev/full
is "one that takes nothing is status 71" 71 "$status"
is "in a line that says why" 'hvdrun: error: --status-fd: write to descriptor 3: No space left on device' "$(cat "$tmp/err")"
ok "nor is anything started then" [ ! -e "$tmp/started" ]

mkfifo "$tmp/fifo"
"$HVDRUN" --status-fd 3 -np 1 sh -c 'read -r line <"$0"; echo "$line"' "$tmp/fifo" 3>"$tmp/running" >"$tmp/out" &
hvdrun=$!
until_true [ -s "$tmp/running" ]
ok "the port is served while the job runs" grep -q "^ *[0-9]*: 0100007F:$(printf %04X "$(cat "$tmp/running")") 00000000:0000 0A" /proc/net/tcp
echo released >"$tmp/fifo"
wait "$hvdrun"
like "until the job ends" 'released' "$tmp/out"
finish
