#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The output of ranks: whole lines, the right prefix, nothing lost, and an honest status when something is.
. "$srcdir/tests/tap.sh"

# What each rank prints in the flood, in lines of 100 bytes; sanitizers make everything slower.
[ "$SANITIZERS" = no ] && : "${FLOOD_LINES:=1000000}" || : "${FLOOD_LINES:=100000}"

# shellcheck disable=SC2016
run "$HVDRUN" -np 2 sh -c 'echo to stdout; echo to stderr >&2'
is "stdout goes to stdout with horovodrun's prefix" '[0]<stdout>:to stdout [1]<stdout>:to stdout' \
    "$(sort "$tmp/out" | paste -sd' ')"
is "stderr to stderr" '[0]<stderr>:to stderr [1]<stderr>:to stderr' "$(sort "$tmp/err" | paste -sd' ')"

run "$HVDRUN" -np 1 --prefix-output-with-timestamp echo text
like "a time stamp stands before the prefix" \
    '^[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}\[0\]<stdout>:text$' "$tmp/out"

run "$HVDRUN" -np 1 "$ACT" text 'no end'
is "a last line without an end arrives as it is" '[0]<stdout>:no end' "$(cat "$tmp/out")"
is "without an end" 0 "$(wc -l <"$tmp/out")"
run "$HVDRUN" -np 2 sh -c '[ $HOROVOD_RANK = 1 ] || { printf "no end"; exit; }
    while [ -e /proc/$PPID ] && ! grep -qs "no end" "$0"; do sleep 0.05; done; echo whole' "$tmp/out"
is "and whatever comes next begins a line of its own" '[0]<stdout>:no end [1]<stdout>:whole' "$(paste -sd' ' "$tmp/out")"

run "$HVDRUN" -np 1 "$ACT" text '10%\r20%\rdone\n'
printf '[0]<stdout>:10%%\r[0]<stdout>:20%%\r[0]<stdout>:done\n' >"$tmp/expected"
ok "a carriage return ends a record, as progress bars want it" cmp "$tmp/out" "$tmp/expected"

run "$HVDRUN" -np 1 "$ACT" bytes
{ printf '[0]<stdout>:'; "$ACT" bytes; } >"$tmp/expected"
ok "bytes of any value arrive unchanged" cmp "$tmp/out" "$tmp/expected"

run "$HVDRUN" -np 2 "$ACT" long 1000000
is "lines of a million bytes arrive whole" 2 "$(grep -Ec '^\[[01]\]<stdout>:x+$' "$tmp/out")"
is "with every byte" 2000026 "$(wc -c <"$tmp/out")"

"$HVDRUN" -np 2 "$ACT" lines "$FLOOD_LINES" 2>"$tmp/err" |
    awk -v n="$FLOOD_LINES" '
        length($0) != 111 { bad++ }
        { rank = substr($0, 2, 1); if ($2 + 0 != next_[rank]++) bad++ }
        END { print bad + 0, next_[0] + 0, next_[1] + 0 }' >"$tmp/out"
is "when two ranks print $FLOOD_LINES lines each, every line is whole and in order" "0 $FLOOD_LINES $FLOOD_LINES" "$(cat "$tmp/out")"

# Both streams in one pipe: two writers would mix their lines.
new_job
# shellcheck disable=SC2016
env HVD_TEST_JOB="$job" "$HVDRUN" -np 2 sh -c 'yes AAAAAAAAAAAAAAAAAAAAAAAAAAAA | head -c 2000000 &
    yes BBBBBBBBBBBBBBBBBBBBBBBBBBBB | head -c 2000000 >&2; wait' 2>&1 </dev/null | cat >"$tmp/out"
is "lines of stdout and stderr do not mix in one pipe" 0 \
    "$(grep -Evc '^\[[01]\]<std(out>:A+|err>:B+)$' "$tmp/out" | awk '{ print ($1 > 4) }')"
run sh -c '"$HVDRUN" -np 1 sh -c "printf part; exit 3" 2>&1'
like "hvdrun's own lines begin a line, also after an unfinished one" '^hvdrun: FAILED rank 0' "$tmp/out"

# What is in the pipe when a rank is killed.
for _ in 1 2 3 4 5; do
    run "$HVDRUN" -np 1 "$ACT" lines 600 text 'last words' die 9
    echo "$(wc -l <"$tmp/out") $(tail -n 1 "$tmp/out")" >>"$tmp/ends"
done
is "F66: what was written just before SIGKILL is not lost" '600 [0]<stdout>:last words' "$(sort -u "$tmp/ends")"

# A rank that was quiet for long speaks last, on a machine that is slow to look.
run "$HVDRUN" -np 1 sh -c 'sleep 1.2; kill -STOP $PPID; echo last words
    (sleep 1.2; kill -CONT $PPID) >/dev/null 2>&1 &'
is "what a rank says last is not lost, however late it is looked at" '[0]<stdout>:last words' "$(cat "$tmp/out")"

# A reader that does not read: the ranks wait, hvdrun's memory stays bounded.
mkfifo "$tmp/fifo"
new_job
env HVD_TEST_JOB="$job" "$HVDRUN" -np 2 "$ACT" lines 200000 >"$tmp/fifo" 2>"$tmp/err" </dev/null &
pid=$!
exec 9<"$tmp/fifo"
rank_waits() { # both ranks hang in a write to a full pipe
    [ "$(grep -ls '^pipe_write\|^anon_pipe_write\|^pipe_wait' /proc/[0-9]*/wchan 2>/dev/null |
        sed 's/wchan/environ/' | xargs grep -lsza "^HVD_TEST_JOB=$job\$" 2>/dev/null | wc -l)" -ge 2 ]
}
if cat /proc/self/wchan >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    ok "a reader that does not read makes the ranks wait" until_true rank_waits
else
    skip "a reader that does not read makes the ranks wait" "no wchan"
fi
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
if [ "${SANITIZERS:-no}" = no ]; then
    ok "and hvdrun does not grow ($rss kB)" [ "$rss" -lt 32768 ]
else
    skip "and hvdrun does not grow ($rss kB)" "built with $SANITIZERS"
fi
is "once it reads, everything arrives" 400000 "$(cat <&9 | wc -l)"
exec 9<&-
wait "$pid"
is "and the job ends well" 0 $?

# Output that cannot be written
"$HVDRUN" -np 2 echo lost >/dev/full 2>"$tmp/err"
is "F59: a full device is status 74" 74 $?
is "said once" 1 "$(grep -c 'stdout: cannot be written, its output is lost: No space left on device' "$tmp/err")"
"$HVDRUN" -np 2 sh -c 'echo lost; exit 3' >/dev/full 2>"$tmp/err"
is "but a failing rank's status counts more" 3 $?
"$HVDRUN" -np 1 echo lost >&- 2>"$tmp/err"
is "F61: a closed stdout is status 74 if something was written" 74 $?
"$HVDRUN" -np 2 sh -c 'echo lost; echo lost' >&- 2>"$tmp/err"
is "F61: which is said once" 1 "$(grep -c '^hvdrun: stdout: cannot be written, its output is lost: Bad file descriptor$' "$tmp/err")"
is "and nothing else but the verdict" 2 "$(wc -l <"$tmp/err")"
"$HVDRUN" -np 1 true >&- 2>"$tmp/err"
is "and 0 if nothing was" 0 $?
"$HVDRUN" -np 1 true 2>&-
is "a closed stderr likewise" 0 $?
new_job
{ env HVD_TEST_JOB="$job" "$HVDRUN" -np 2 yes 2>"$tmp/err"; echo $? >"$tmp/status"; } | head -n 1 >"$tmp/out"
is "F60: when the reader goes away the job ends as by SIGPIPE" 141 "$(cat "$tmp/status")"
ok "and leaves nothing behind" no_survivors
{
    "$HVDRUN" --report "$tmp/report" -np 1 sh -c 'echo first >&2; until [ -e "$0" ]; do sleep 0.02; done
        echo second >&2; sleep 0.1; echo third' "$tmp/gone" 2>&1 >"$tmp/out"
    echo $? >"$tmp/status"
} | { read -r _; exec <&-; : >"$tmp/gone"; }
is "F60: without a reader of stderr it goes on" "[0]<stdout>:third" "$(cat "$tmp/out")"
is "F60: and ends with 74, for something was lost" 74 "$(cat "$tmp/status")"
like "F60: which only the report can say" '"text":.*"FAILED: output was lost; all ranks exited with status 0"' "$tmp/report"
rm "$tmp/fifo" && mkfifo "$tmp/fifo"
exec 8<>"$tmp/fifo" 9>"$tmp/fifo" 8<&- # a pipe that nobody reads any more
for _ in 1 2 3 4 5 6 7 8; do
    "$HVDRUN" -np 1 echo hi >&9 2>"$tmp/err"
    echo $? >>"$tmp/statuses"
done
exec 9>&-
is "also when it turns out at the very end" 141 "$(sort -u "$tmp/statuses")"

# Files
run "$HVDRUN" -np 2 --output-filename "$tmp/a/b" sh -c 'echo to stdout; echo to stderr >&2'
is "--output-filename writes a file per rank and stream" \
    'rank.0/stderr rank.0/stdout rank.1/stderr rank.1/stdout' "$(cd "$tmp/a/b" && echo */*)"
is "with the same prefix" '[1]<stdout>:to stdout' "$(cat "$tmp/a/b/rank.1/stdout")"
is "and still prints" 2 "$(wc -l <"$tmp/out")"
run "$HVDRUN" -np 11 --output-filename "$tmp/eleven" true
ok "the number has as many digits as the highest rank" [ -f "$tmp/eleven/rank.02/stdout" ]
run "$HVDRUN" -np 1 --output-filename "$tmp/one" echo one
is "one rank will do" '[0]<stdout>:one' "$(cat "$tmp/one/rank.0/stdout")"
echo old >"$tmp/one/rank.0/stdout"
run "$HVDRUN" -np 1 --output-filename "$tmp/one" echo new
is "old files are replaced" '[0]<stdout>:new' "$(cat "$tmp/one/rank.0/stdout")"
rm "$tmp/one/rank.0/stdout"
ln -s /dev/full "$tmp/one/rank.0/stdout"
run "$HVDRUN" -np 2 --output-filename "$tmp/one" "$ACT" lines 1000
is "F59: a file for which no space is left is status 74" 74 "$status"
is "F59: which is said once, with its name" 1 "$(grep -c "$tmp/one/rank.0/stdout: .*No space left on device" "$tmp/err")"
is "F59: what the other ranks print is in their files" 1000 "$(wc -l <"$tmp/one/rank.1/stdout")"
is "F59: and everything on stdout" 2000 "$(wc -l <"$tmp/out")"
: >"$tmp/file"
run "$HVDRUN" -np 1 --output-filename "$tmp/file" touch "$tmp/started"
is "a file in the way is status 73" 73 "$status"
like "which names it" "$tmp/file.*Not a directory" "$tmp/err"
ok "and nothing is started" [ ! -e "$tmp/started" ]

# Links of one's own are followed, to a directory and to a file.
mkdir "$tmp/real" && ln -s real "$tmp/own" && ln -s "$tmp/own/deep" "$tmp/real/far"
run "$HVDRUN" -np 1 --output-filename "$tmp/own/far" echo text
is "a link of one's own on the way is followed" '[0]<stdout>:text' "$(cat "$tmp/real/deep/rank.0/stdout")"
ln -s loop "$tmp/loop"
run "$HVDRUN" -np 1 --output-filename "$tmp/loop" touch "$tmp/started"
is "one that leads to itself is status 73" 73 "$status"
like "which names it" "$tmp/loop.*Too many levels of symbolic links" "$tmp/err"
mkdir -p "$tmp/pipe/rank.0" && mkfifo "$tmp/pipe/rank.0/stdout"
run "$HVDRUN" -np 1 --output-filename "$tmp/pipe" touch "$tmp/started"
is "a FIFO that nobody reads is status 73" 73 "$status"
like "and not waited for" "$tmp/pipe/rank.0/stdout': a pipe that no process reads\$" "$tmp/err"
(umask 002 && mkdir "$tmp/group")
run sh -c "umask 002; exec \"$HVDRUN\" -np 1 --output-filename \"$tmp/group\" echo text"
is "a directory that the group may write to will do" 0 "$status"
mkdir "$tmp/open" && chmod 777 "$tmp/open"
run "$HVDRUN" -np 1 --output-filename "$tmp/open" touch "$tmp/started"
is "one that all may write to is status 73" 73 "$status"
like "with the reason" "^hvdrun: error: --output-filename: cannot create: '$tmp/open': others may write to this directory .mode 777.\$" "$tmp/err"
chmod 1777 "$tmp/open"
run "$HVDRUN" -np 1 --output-filename "$tmp/open" echo text
is "unless it is sticky" 0 "$status"

# What another user has put in the way; only root can play both.
# in_the_way SENTENCE REASON: refused in one line, before anything is started, and the victim is as it was.
in_the_way() {
    run "$HVDRUN" -np 1 --output-filename "$tmp/trap" touch "$tmp/started"
    is "$1" "73 hvdrun: error: --output-filename: cannot create: $2" "$status $(cat "$tmp/err")"
    is "and nothing is overwritten or started" precious "$(cat "$tmp/victim" "$tmp/started" 2>/dev/null)"
    rm -rf "$tmp/trap"
}
if [ "$(id -u)" = 0 ] && chown 65534 "$tmp/file" 2>/dev/null; then
    echo precious >"$tmp/victim"
    mkdir -p "$tmp/trap/rank.0" && ln -s "$tmp/victim" "$tmp/trap/rank.0/stdout" && chown -hR 65534 "$tmp/trap"
    in_the_way "a directory of another user is not written to" "'$tmp/trap': a directory of another user (uid 65534)"
    mkdir -p "$tmp/trap/rank.0" && ln -s "$tmp/victim" "$tmp/trap/rank.0/stdout" && chown -hR 65534 "$tmp/trap/rank.0"
    in_the_way "nor one below one's own" "'$tmp/trap/rank.0': a directory of another user (uid 65534)"
    mkdir -p "$tmp/trap/rank.0" && ln -s "$tmp/victim" "$tmp/trap/rank.0/stdout" && chown -h 65534 "$tmp/trap/rank.0/stdout"
    in_the_way "a link of another user is not followed" "'$tmp/trap/rank.0/stdout': a symbolic link of another user (uid 65534)"
    mkdir -p "$tmp/trap" && ln -s "$tmp/real" "$tmp/trap/rank.0" && chown -h 65534 "$tmp/trap/rank.0"
    in_the_way "nor one to a directory" "'$tmp/trap/rank.0': a symbolic link of another user (uid 65534)"
    ln -s "$tmp/real" "$tmp/trap" && chown -h 65534 "$tmp/trap"
    in_the_way "nor one on the way" "'$tmp/trap': a symbolic link of another user (uid 65534)"
    mkdir -p "$tmp/trap/rank.0" && echo theirs >"$tmp/trap/rank.0/stdout" && chown 65534 "$tmp/trap/rank.0/stdout"
    in_the_way "a file of another user is not written to" "'$tmp/trap/rank.0/stdout': a file of another user (uid 65534)"
    ln -s "$tmp/victim" "$tmp/trap" && chown -h 65534 "$tmp/trap"
    run "$HVDRUN" -np 1 --report "$tmp/trap" touch "$tmp/started"
    is "nor does --report follow such a link" \
        "73 hvdrun: error: --report: cannot create: '$tmp/trap': a symbolic link of another user (uid 65534)" \
        "$status $(cat "$tmp/err")"
    is "and what it leads to is as it was" precious "$(cat "$tmp/victim" "$tmp/started" 2>/dev/null)"
else
    skip "what another user has put in the way of --output-filename" "only root can make it"
fi
finish
