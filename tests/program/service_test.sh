#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrendezvousd: workers that nobody has launched find each other, several jobs at once, and whoever is not wanted is told why.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/service.sh"

# said NAME PATTERN: a line of the worker matches.
said() {
    until_said "$2" "$tmp/$1"
}

# ends SENTENCE NAME STATUS [PATTERN]
ends() {
    ended "$2"
    cp "$tmp/$2" "$tmp/out"
    is "$1" "$3" "$status"
    [ $# -lt 4 ] || like "which says so" "$4" "$tmp/$2"
}

service_up
ok "it says where it listens" service_said "^hvdrendezvousd: listening on 127\.0\.0\.1:$port\$"
is "which is on the loopback address only" "127.0.0.1:$port" "$(ss -Hltn "sport = :$port" | awk '{ print $4 }')"

# Two terminals
worker a -- init place collectives shutdown
come 1
worker b -- init place collectives shutdown
ends "the first of two workers does what it is there for" a 0 'rank 0 of 2, local 0 of 2, cross 0 of 1'
ends "the second too" b 0 'rank 1 of 2, local 1 of 2, cross 0 of 1'
service_said 'job train: ended'
like "and the service tells the story" 'job train: all 2 workers have come' "$tmp/service"
worker a HOROVOD_SIZE=1 -- init place collectives shutdown
ends "the same id serves again, for another size" a 0 'rank 0 of 1, local 0 of 1, cross 0 of 1'

# Places
for name in a b c d e; do
    case $name in [ace]) host=one ;; *) host=two ;; esac
    worker $name HOROVOD_SIZE=5 HOROVOD_HOSTNAME=$host -- init place barriers 3 shutdown
    [ $name = e ] || come $((${n:=0} + 1))
    n=$((n + 1))
done
for name in a b c d e; do ended $name; done
for name in a b c d e; do sed -n 's/^rank //p' "$tmp/$name"; done >"$tmp/out"
is "five workers sit by host, then by arrival" \
    "0 of 5, local 0 of 3, cross 0 of 2;3 of 5, local 0 of 2, cross 1 of 2;1 of 5, local 1 of 3, cross 0 of 2;4 of 5, local 1 of 2, cross 1 of 2;2 of 5, local 2 of 3, cross 0 of 1" \
    "$(paste -sd';' "$tmp/out")"
worker a HOROVOD_SIZE=3 HOROVOD_RANK=2 -- init place shutdown
come 1
worker b HOROVOD_SIZE=3 -- init place shutdown
come 2
worker c HOROVOD_SIZE=3 HOROVOD_RANK=0 -- init place shutdown
ends "who wants a rank gets it" a 0 '^rank 2 of 3, '
ends "who wants another gets that" c 0 '^rank 0 of 3, '
ends "and the rest is for the rest" b 0 '^rank 1 of 3, '

# Several jobs
for id in red green blue; do
    for name in 1 2; do
        worker $id$name HVD_JOB_ID=$id HVD_JOB_KEY="$(job_key $id)" -- init barriers 50 place shutdown
    done
done
for id in red green blue; do
    ended ${id}1
    first=$status
    ended ${id}2
    is "job $id is one of three at once, and has its own two ranks" "0 0 0 1" \
        "$first $status $(sed -n 's/^rank \([0-9]\) of 2,.*/\1/p' "$tmp/${id}1" "$tmp/${id}2" | sort | paste -sd' ')"
done

# Who is not wanted
worker a HOROVOD_RANK=0 -- init only 0 wait "$tmp/go" all barriers 1 shutdown
come 1
worker bad HVD_JOB_KEY="$(printf %064d 1)" -- init
ends "a wrong key is refused" bad 1 'does not accept this HVD_JOB_KEY for job train'
worker bad HVD_JOB_KEY="$(job_key other)" -- init
ends "so is the key of another job" bad 1 'does not accept this HVD_JOB_KEY for job train'
worker bad HVD_JOB_ID=nosuch -- init
ends "and an id that the key is not for" bad 1 'does not accept this HVD_JOB_KEY for job nosuch'
worker bad HVD_JOB_ID=-x -- init
ends "and an id that is none" bad 1 'HVD_JOB_ID'
worker bad HOROVOD_SIZE=3 -- init
ends "who says another size is refused" bad 1 'says a size of 3, but job train has 2'
worker bad HOROVOD_RANK=0 -- init
ends "and who wants a rank that is taken" bad 1 'rank 0 of job train has been taken by a worker on here \(pid [0-9]+\)'
worker b -- init barriers 1 shutdown
until_true is_connected 2 train
worker bad -- init
ends "and who comes late" bad 1 'job train has 2 of 2 workers already'
touch "$tmp/go"
ends "none of which the job has noticed" a 0
ends "on either side" b 0

# Who does not come, and who goes
service_down
is "SIGTERM is a good end" 0 "$status"
like "that is told" '^hvdrendezvousd: stopping: ' "$tmp/service"
ok "and leaves no file with the port" [ ! -e "$tmp/port" ]
service_up --start-timeout 1 --max-jobs 2
worker a HOROVOD_SIZE=3 HOROVOD_RANK=1 -- init
ends "who waits in vain is told for whom" a 1 '1 of 3 workers has come within 1 s|ranks 0, 2 of 3 have not come within 1 s'
service_said 'job train: failed'
service_down
service_up --max-jobs 2
worker a HOROVOD_SIZE=3 -- init
come 1
worker b HOROVOD_SIZE=3 -- init
come 2
kill -KILL "$pid_b"
ends "who waits learns that another has gone" a 1 'worker on here \(pid [0-9]+\) disconnected before all had come'
ended b
worker a HOROVOD_RANK=0 -- init barriers 1 die 9
worker b HOROVOD_RANK=1 -- init barriers 1 expect PEER_LOST
ends "of two workers one is killed" a 137
ends "and the other is told" b 0 'rank 0 on here'
ok "as is the service" service_said 'job train: .*rank 0 on here'
worker a HVD_JOB_ID=one HVD_JOB_KEY="$(job_key one)" -- init
come 1 one
worker b HVD_JOB_ID=two HVD_JOB_KEY="$(job_key two)" -- init
come 1 two
worker c HVD_JOB_ID=three HVD_JOB_KEY="$(job_key three)" -- init
ends "more jobs than --max-jobs are refused" c 1 'has 2 jobs already'

# HTTP
is "/healthz is for all" 200 "$(code /healthz)"
is "jobs are not" 401 "$(code /v1/jobs)"
is "nor is one" 401 "$(code /v1/jobs/one)"
is "nor one that is not there" 401 "$(code /v1/jobs/nosuch)"
is "nor keys and values" 401 "$(code /a/b)"
ask /v1/jobs >"$tmp/out"
like "with the key of the service all are told" '"id": ?"one".*"id": ?"two"' "$tmp/out"
is "the key of a job opens that job" 200 "$(code /v1/jobs/one -H "Authorization: Bearer one:$(job_key one)")"
not_200() { [ "$1" != 200 ]; }
ok "and no other" not_200 "$(code /v1/jobs/two -H "Authorization: Bearer one:$(job_key one)")"
grep -q "$(cut -c1-16 "$tmp/key")" "$tmp/service" || grep -q "$(job_key one | cut -c1-16)" "$tmp/service"
is "no key is in what it says" 1 $?

# Its end
service_down INT
is "SIGINT is a good end, with workers waiting" 0 "$status"
kill -KILL "$pid_a" "$pid_b"
ended a && ended b
free=$((20000 + $$ % 4000)) # not one of those that the kernel gives to others meanwhile
while [ -n "$(ss -Hltn "sport = :$free")" ]; do free=$((free + 1)); done
listen=127.0.0.1:$free
service_up
worker a HOROVOD_SIZE=3 -- init barriers 1 shutdown
come 1
worker b HOROVOD_SIZE=3 -- init barriers 1 shutdown
come 2
service_down
is "a service that stops does not blame those that wait" "" "$(grep 'disconnected' "$tmp/service")"
service_up
worker c HOROVOD_SIZE=3 -- init barriers 1 shutdown
ends "who waited for others finds the service that comes after" a 0
ends "so does another" b 0
ends "as does who comes later" c 0
service_down
unset listen
service_up
worker a -- init barriers 1 print up barriers 1
worker b -- init barriers 1 print up stay
said a up && said b up
service_down HUP
is "so is SIGHUP" 0 "$status"
ends "workers that are at work learn of it" a 1 'the rendezvous is gone'
kill -KILL "$pid_b" && ended b
(trap '' HUP && exec "$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen 127.0.0.1:0 --port-file "$tmp/port" 2>"$tmp/service") &
service=$!
until_true [ -s "$tmp/port" ]
port=$(cat "$tmp/port")
kill -HUP "$service"
is "under nohup it is not heard" 200 "$(code /healthz)"
"$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen "127.0.0.1:$port" >"$tmp/out" 2>"$tmp/err" && status=0 || status=$?
is "a port that is taken is status 71" "71 hvdrendezvousd: error: listen on 127.0.0.1:$port: Address already in use" "$status $(cat "$tmp/err")"
(ulimit -n 1024 && exec "$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen "127.0.0.1:$port") >"$tmp/out" 2>"$tmp/err" && status=0 || status=$?
ok "also where few descriptors are allowed: one line" refused hvdrendezvousd 71 "listen on 127.0.0.1:$port: Address already in use"
service_down

if command -v prlimit >/dev/null; then
    on_host='prlimit --nofile=1024:1024'
    service_up
    unset on_host
    ok "few descriptors are warned of" service_said 'warning: at most 1024 descriptors'
    service_down
else
    skip "few descriptors are warned of" "no prlimit"
fi

# The file with the port
service_up
service_down KILL
: >"$tmp/service"
"$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen 127.0.0.1:0 --port-file "$tmp/port" 2>"$tmp/service" &
service=$!
service_said 'listening on'
is "what one that was killed has left is replaced" "$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' "$tmp/service")" "$(cat "$tmp/port")"
rm "$tmp/port"
echo mine >"$tmp/port"
service_down
is "what somebody else has put there stays" mine "$(cat "$tmp/port")"

# Readiness
mkfifo "$tmp/ready"
rm "$tmp/port"
"$HVDRENDEZVOUSD" --key-file "$tmp/key" --listen 127.0.0.1:0 --port-file "$tmp/port" --ready-fd 5 5>"$tmp/ready" 2>"$tmp/service" &
service=$!
line=$(timeout "$PATIENCE_S" head -n 1 "$tmp/ready")
is "--ready-fd gets a newline and its end" '' "$line"
ok "when it listens" [ -s "$tmp/port" ]
service_down
"$ACT" hear "$tmp/notify" >"$tmp/heard" &
until_true [ -S "$tmp/notify" ]
NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=100000
export NOTIFY_SOCKET WATCHDOG_USEC
service_up
unset NOTIFY_SOCKET WATCHDOG_USEC
ok "systemd is told that it is ready" until_said '^READY=1' "$tmp/heard"
ok "and where" until_said "^STATUS=listening on 127.0.0.1:$port\$" "$tmp/heard"
ok "that it lives" until_said '^WATCHDOG=1' "$tmp/heard"
service_down
ok "and that it stops" until_said '^STOPPING=1' "$tmp/heard"
NOTIFY_SOCKET=$tmp/nobody
export NOTIFY_SOCKET
service_up
unset NOTIFY_SOCKET
service_said NOTIFY
is "who cannot be told so is named, in one line" "hvdrendezvousd: warning: \$NOTIFY_SOCKET: cannot reach '$tmp/nobody': No such file or directory" \
    "$(grep NOTIFY "$tmp/service")"
service_down
service_up --listen 127.0.0.2:0 --listen localhost:0
listens_on_three() {
    [ "$(grep -c 'listening on 127' "$tmp/service")" = 3 ]
}
ok "several addresses are listened on" until_true listens_on_three
is "and told" 1 "$(grep -c 'listening on 127.0.0.2:' "$tmp/service")"
service_down

# Less privilege
of_service() { # FIELD of /proc/PID/status
    sed -n "s/^$1:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$service/status"
}
run "$HVDRENDEZVOUSD" --key-file "$tmp/key" --user no-such-user --listen 127.0.0.1:0
is "a user that does not exist, or from somebody who is not root, is a mistake" 2 "$status"
like "which is named" "^hvdrendezvousd: error: --user: (no such user: 'no-such-user'|only root can become)" "$tmp/err"
if [ "$(id -u)" = 0 ]; then
    run "$HVDRENDEZVOUSD" --key-file "$tmp/key" --user root --listen 127.0.0.1:0
    is "root cannot become root" 2 "$status"
    service_up --user nobody
    service_said 'listening on'
    is "with --user the service is no longer root's" "$(id -u nobody)" "$(of_service Uid)"
    is "nor its group's" "$(id -g nobody)" "$(of_service Gid)"
    is "nor of any other group" '' "$(of_service Groups)"
    worker a HOROVOD_SIZE=1 -- init place shutdown
    ends "and serves" a 0 'rank 0 of 1, local 0 of 1, cross 0 of 1'
    service_down
    is "until it is told to end" 0 "$status"
else
    skip "with --user the service is no longer root's" "not root"
fi
service_up
service_said 'listening on'
if [ "$SANITIZERS" != no ]; then
    skip "system calls are filtered" "built with $SANITIZERS"
elif ! grep -q '^#define HAVE_SECCOMP' "$builddir/config.h"; then
    skip "system calls are filtered" "built without libseccomp"
else
    is "system calls are filtered" 2 "$(of_service Seccomp)"
fi
service_down
service_up --seccomp off
service_said 'listening on'
is "unless that is off" 0 "$(of_service Seccomp)"
service_down

# Another key, without an end of jobs
service_up
old=$(job_key train)
worker a -- init place collectives shutdown
come 1
"$HVDRENDEZVOUSD" --new-key "$tmp/key.new"
mv "$tmp/key.new" "$tmp/key"
kill -USR1 "$service"
service_said 'the key was read again'
worker b HVD_JOB_KEY="$old" -- init place collectives shutdown
ends "a job that was there when the key was changed goes on with its key" a 0 'rank 0 of 2, local 0 of 2, cross 0 of 1'
ends "also for workers that come later" b 0 'rank 1 of 2, local 1 of 2, cross 0 of 1'
service_said 'job train: ended'
worker a HOROVOD_SIZE=1 HVD_JOB_KEY="$old" -- init place shutdown
ended a
ok "a job that comes later does not have the old key" [ "$status" != 0 ]
worker a HOROVOD_SIZE=1 -- init place shutdown
ends "but the new one" a 0 'rank 0 of 1, local 0 of 1, cross 0 of 1'
chmod 644 "$tmp/key"
kill -USR1 "$service"
ok "a file that is no key changes nothing, which is said" \
    service_said 'warning: the key is not changed: --key-file: '
chmod 600 "$tmp/key"
worker a HOROVOD_SIZE=1 -- init place shutdown
ends "the key stays" a 0 'rank 0 of 1, local 0 of 1, cross 0 of 1'
service_down
finish
