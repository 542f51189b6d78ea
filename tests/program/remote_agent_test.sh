#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdagent as it runs on other machines: found or sent, with its supervisor, leaving nothing behind. A command stands in for the
# way to another machine.
. "$srcdir/tests/tap.sh"

unset HVD_REMOTE_SHELL OMPI_MCA_plm_rsh_agent XDG_RUNTIME_DIR
TMPDIR=$tmp
export TMPDIR
elsewhere="sh -c 'shift; exec \"\$@\"' sh %h"

# on_host COMMAND...: two ranks on the other machine
on_host() {
    set -- "$HVDRUN" -np 2 -H 192.0.2.1:2 --remote-shell "$elsewhere" "$@"
    "$how" "$@"
}

# no_copies: nothing that hvdagent was sent in is left; another test's may be there for a moment.
no_copies() {
    [ -z "$(find "$tmp" /dev/shm -maxdepth 1 -name 'hvdagent.*' 2>/dev/null)" ]
}

how=run
on_host sh -c 'echo "rank $HOROVOD_RANK"'
is "ranks run on a host that a command reaches" 0 "$status"
is "and are heard" 'rank 0rank 1' "$(grep -o 'rank .' "$tmp/out" | sort | tr -d '\n')"
is "nothing else is said" '' "$(cat "$tmp/err")"
on_host sh -c 'exit 3'
is "their status is that of the job" 3 "$status"
ok "nothing is left" no_survivors

run "$HVDRUN" -np 2 -H a.invalid:1,b.invalid:1 --remote-shell "$elsewhere" --network-interfaces lo "$WORLD" init collectives shutdown
is "two names may mean one machine, whose loopback will do" 0 "$status"
like "which is warned of" "^hvdrun: warning: --network-interfaces: only loopback on a.invalid, .* only if both are one machine: 'lo'$" \
    "$tmp/err"

elsewhere="sh -c 'shift; echo Welcome; exec \"\$@\"' sh %h"
on_host true
is "a login shell may say something first" 0 "$status"
elsewhere="sh -c 'echo no such host >&2; exit 255' %h"
on_host true
is "a command that fails is status 69" 69 "$status"
like "with its status and its last words" "FAILED on 192.0.2.1: .*'sh' exited with status 255: no such host" "$tmp/err"
# It speaks when it is spoken to.
printf '#!/bin/sh\n[ "$1" = --version ] || { head -c 4 >/dev/null; echo old 0.0.1; }\n' >"$tmp/other"
chmod 755 "$tmp/other"
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    elsewhere="unshare -m sh -c 'mount --bind $tmp/other $HVDAGENT; shift; exec \"\$@\"' sh %h"
    on_host true
    is "an hvdagent that speaks otherwise is status 76" 76 "$status"
    like "and taken for another version" "not a frame: 'old 0.0.1.*'; is the hvdagent there of another version?" "$tmp/err"
else
    skip "an hvdagent that speaks otherwise" "no mount namespaces here"
fi
elsewhere="$tmp/no-such-program %h"
on_host true
is "a command that is not there too" 69 "$status"
like "and is named" "remote shell: command not found: '$tmp/no-such-program'" "$tmp/err"

# A link that takes longer over the environment than a host may be silent
elsewhere="sh -c 'shift; while dd bs=8192 count=1 2>/dev/null >$tmp/piece && [ -s $tmp/piece ]; do
    cat $tmp/piece; sleep 0.15; done | \"\$@\" | cat' sh %h"
value=$(head -c 3000 /dev/zero | tr '\0' x)
# shellcheck disable=SC2046
on_host --heartbeat-timeout 3 $(for i in $(seq 100); do echo "-x V$i=$value"; done) sh -c 'echo ${#V100}'
is "a host behind a slow link is not lost" "0 2" "$status $(grep -c ':3000$' "$tmp/out")"

# Somebody there writes to stderr and does not end.
elsewhere="sh -c 'shift; (until [ -e $tmp/go ]; do sleep 0.1; done; seq 5000 >&2; : >$tmp/said) & exec \"\$@\"' sh %h"
on_host sh -c ": >$tmp/go; until [ -e $tmp/said ]; do sleep 0.1; done"
is "a host that says very much does not hold the job up" 0 "$status"
ok "and is cut short" [ "$(wc -l <"$tmp/err")" -lt 300 ]
like "which is said" '^hvdrun: 192.0.2.1: says more on stderr, which is not shown$' "$tmp/err"

elsewhere="sh -c 'exec sleep 1000' %h"
# More than are reached at a time, and each command ends before hvdrun has seen that it runs.
run "$HVDRUN" --check-hosts -np 100 -H "$(seq -s, -f h%g.invalid 100)" --remote-shell 'false %h' true
is "a hundred hosts whose commands fail at once" '69 100' "$status $(grep -c 'FAILED' "$tmp/out")"

run "$HVDRUN" -np 40 -H "$(seq -s, -f 192.0.2.%g 40)" --start-timeout 1 --remote-shell "$elsewhere" true
is "many hosts that are not ready in time are status 75" 75 "$status"
like "those that are not named are counted" "\(--start-timeout\): 192.0.2.[0-9]+ at step .*s and [0-9]+ more$" "$tmp/err"

# One of many fails while others have not had their turn.
elsewhere="sh -c 'echo \"\$0\" >>$tmp/begun; [ \"\$0\" != 192.0.2.3 ] && exec sleep 1000; exit 1' %h"
descriptors=$(ulimit -Hn)
if [ "$descriptors" = unlimited ] || [ "$descriptors" -ge 2048 ]; then
    run "$HVDRUN" -np 200 -H "$(seq -s, -f 192.0.2.%g 200)" --remote-shell "$elsewhere" true
    is "a host fails while many are being reached: status 69" 69 "$status"
    ok "those that wait for their turn get none" [ "$(wc -l <"$tmp/begun")" -lt 100 ]
    ok "and nothing is left" until_true no_survivors
else
    skip "a host fails while many are being reached" "at most $descriptors descriptors"
fi

# Where there is no hvdagent, as a mount over its folder makes it.
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    elsewhere="unshare -m sh -c 'mount -t tmpfs none ${HVDAGENT%/*}; shift; exec \"\$@\"' sh %h"
    on_host sh -c 'readlink /proc/$PPID/exe'
    is "where there is none hvdagent is sent" 0 "$status"
    like "into a private folder, from which it is deleted at once" "$tmp/hvdagent\.[^/]*/hvdagent \(deleted\)" "$tmp/out"
    ok "no copy is left" until_true no_copies
    how=start
    on_host sh -c 'echo up; sleep 1000'
    until_said up
    stop_with KILL
    ok "nor when hvdrun is killed" until_true no_copies
    ok "and nothing else" until_true no_survivors
    how=run
else
    skip "where there is none hvdagent is sent" "mounts are not permitted"
fi

# Who may write to where hvdagent lies. It is run where it is, or a copy is: that one is deleted when it runs.
elsewhere="sh -c 'shift; exec \"\$@\"' sh %h"
# runs WHERE SENTENCE: in place or as a copy
runs() {
    run "$tmp/place/bin/hvdrun" -np 1 -H 192.0.2.1:1 --remote-shell "$elsewhere" sh -c 'readlink /proc/$PPID/exe'
    case $(cat "$tmp/out") in
    *"$tmp/place/bin/hvdagent") _where=place ;;
    *"$tmp/hvdagent."*/hvdagent*deleted*) _where=copy ;;
    *) _where=none ;;
    esac
    is "$2" "$1" "$_where"
}
# place [COMMAND...]: lays it there anew, for a command to change; bin is an ordinary folder of ours.
place() {
    rm -rf "$tmp/place"
    mkdir -p "$tmp/place/bin" && chmod 755 "$tmp/place" "$tmp/place/bin"
    install -m 755 "$HVDRUN" "$HVDAGENT" "$tmp/place/bin"
    (cd "$tmp/place" && "$@")
}
# acl PATH: user 65534 may write to it. setfacl is not everywhere.
acl() {
    setfacl -m u:65534:rwx "$1" 2>/dev/null || python3 - "$1" 2>/dev/null <<'PYTHON'
import os, struct, sys
entries = ((1, 7, -1), (2, 7, 65534), (4, 5, -1), (16, 7, -1), (32, 5, -1))
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, rights, who & 0xffffffff) for tag, rights, who in entries))
PYTHON
}
place true
runs place "an hvdagent that only its user may change is run where it is"
place chmod 777 bin
runs copy "not in a folder that all may write to"
place chmod 777 .
runs copy "nor below one"
place chmod 1777 .
runs place "unless that is sticky, as /tmp is"
place chmod 757 bin/hvdagent
runs copy "not one that all may write to"
if [ "$(id -u)" = 0 ] && place chown 65534 bin; then
    runs copy "nor in another user's folder"
    place chown 65534 .
    runs copy "nor below one"
    place sh -c 'chgrp 65534 bin && chmod 775 bin'
    runs copy "nor where a group may write, as in /usr/local of staff"
    place sh -c 'chgrp 65534 . && chmod 2775 .'
    runs copy "nor below that"
    place sh -c 'chgrp 65534 bin/hvdagent && chmod 775 bin/hvdagent'
    runs copy "nor one that a group may write to"
    place chmod 775 bin
    runs place "but root's own group may"
    if place acl bin; then
        runs copy "and not another user by an access control list"
    else
        skip "another user by an access control list" "neither setfacl nor python3 here can make one"
    fi
else
    place chmod 775 bin
    runs copy "nor where the group may write"
    skip "folders of other users and groups" "only root can make them"
fi

# What lies at the path of hvdagent on the other machine, as another length or the same as ours: it is run there only if it can run.
# other COMMAND...: makes it of ours at $tmp/other.
other() {
    rm -rf "$tmp/other"
    cp "$HVDAGENT" "$tmp/other" && chmod 755 "$tmp/other"
    (cd "$tmp" && "$@")
}
# ran: in place or as a copy
ran() {
    case $(cat "$tmp/out") in
    "[0]<stdout>:$HVDAGENT") echo place ;;
    *"$tmp/hvdagent."*/hvdagent*deleted*) echo copy ;;
    *) echo none ;;
    esac
}
# there: a rank there says which hvdagent has started it. One that crashes leaves no core.
there() {
    run "$HVDRUN" -np 1 -H 192.0.2.1:1 --remote-shell "$elsewhere" sh -c 'readlink /proc/$PPID/exe'
}
# as_long FILE COMMAND...: what the command writes there gets the length of ours, as a file does whose room is reserved.
as_long() {
    _file=$1
    shift
    "$@" >"$_file" && truncate -s "$(wc -c <"$HVDAGENT")" "$_file"
}
# foreign: makes it a program for aarch64, or for x86-64 if ours is for aarch64.
foreign() {
    if [ "$(uname -m)" = aarch64 ]; then printf '\076'; else printf '\267'; fi |
        dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null
}
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    elsewhere="unshare -m sh -c 'ulimit -c 0; mount --bind $tmp/other $HVDAGENT; shift; exec \"\$@\"' sh %h"
    other true
    there
    is "the same hvdagent is run where it is" "0 place" "$status $(ran)"
    other sh -c 'echo >>other'
    there
    is "and one of another length that runs" "0 place" "$status $(ran)"
    other sh -c 'head -c 60000 "$HVDAGENT" >other'
    there
    is "one that is half written is not, but a copy of ours" "0 copy" "$status $(ran)"
    other as_long other head -c 60000 "$HVDAGENT"
    there
    is "nor one of our length that is half written" "0 copy" "$status $(ran)"
    other sh -c 'printf "#!/no/such/loader\n" >other'
    there
    is "nor one whose loader is missing" "0 copy" "$status $(ran)"
    other as_long other printf '#!/no/such/loader\n'
    there
    is "nor one of our length whose loader is missing" "0 copy" "$status $(ran)"
    if ldd "$HVDAGENT" 2>/dev/null | grep -q 'libc\.so\.6 =>'; then
        other sed -i 's/libc\.so\.6/libx.so.6/g' other
        there
        is "nor one of our length whose library is missing" "0 copy" "$status $(ran)"
    else
        skip "an hvdagent whose library is missing" "it has no shared ones"
    fi
    other foreign
    echo >>"$tmp/other"
    there
    is "nor one for another processor" "0 copy" "$status $(ran)"
    other foreign
    there
    is "nor one of our length for another processor" "0 copy" "$status $(ran)"
    other chmod 644 other
    there
    is "one that may not be executed is as none" "0 copy" "$status $(ran)"
    rm -rf "$tmp/other"
    mkdir "$tmp/other"
    elsewhere="unshare -m sh -c 'mount -t tmpfs none ${HVDAGENT%/*}; mkdir $HVDAGENT; shift; exec \"\$@\"' sh %h"
    there
    is "so is a folder of that name" "0 copy" "$status $(ran)"
else
    skip "what lies at the path of hvdagent" "no mount namespaces here"
fi

said_twice() {
    [ "$(grep -c "$1" "$tmp/out")" = 2 ]
}

elsewhere="sh -c 'shift; exec \"\$@\"' sh %h"
how=start
for victim in agent supervisor hvdrun; do
    on_host sh -c "$ACT daemon; $ACT ignore-term stay & echo up; sleep 1000"
    until_true said_twice up
    supervisor=$(pgrep -P "$pid" hvdagent)
    case $victim in
    agent) kill -KILL "$(pgrep -P "$supervisor" hvdagent)" ;;
    supervisor) kill -KILL "$supervisor" ;;
    hvdrun) kill -KILL "$pid" ;;
    esac
    stop_with
    [ $victim = hvdrun ] || {
        is "a host whose $victim is killed is lost, status 68" 68 "$status"
        like "and named" '^hvdrun: FAILED on 192.0.2.1: host lost' "$tmp/err"
    }
    ok "nothing is left when the $victim is killed" until_true no_survivors
done

elsewhere="sh -c 'shift; setsid sh -c \"echo >$tmp/away; trap : TERM; while :; do sleep 1000; done\" & \"\$@\"; exit' sh %h"
on_host sh -c 'env | grep -a HVD_; echo up; sleep 1000'
until_true said_twice up && until_true [ -e "$tmp/away" ]
unlike "a rank does not hear of the way to its host" HVD_COMMAND_OF "$tmp/out"
until_true pgrep -x -P "$pid" hvdrun-guard >/dev/null
for signal in HUP INT QUIT TERM USR1 USR2; do
    kill -$signal "$(pgrep -x -P "$pid" hvdrun-guard)"
done
stop_with KILL
ok "what a command has started in a session of its own ends with hvdrun" until_true no_survivors

elsewhere="sh -c ': >$tmp/began; exec sleep 1000' %h"
on_host true
until_true [ -e "$tmp/began" ]
stop_with KILL
ok "a command that is still on its way ends with hvdrun" until_true no_survivors
rm "$tmp/began"
on_host true
until_true [ -e "$tmp/began" ]
stop_with TERM
is "and when hvdrun is told to stop" 143 "$status"
ok "leaving nothing" no_survivors

# A copy removes itself, and nothing else.
copy_in() {
    mkdir -m "$2" "$1" && cp "$HVDAGENT" "$1/hvdagent"
}
copy_in "$tmp/private" 700
: | "$tmp/private/hvdagent" --sent "$tmp/private" 2>"$tmp/err" | cat
ok "a copy that was sent removes its folder" [ ! -e "$tmp/private" ]

copy_in "$tmp/open" 755
: | "$tmp/open/hvdagent" --sent "$tmp/open" 2>"$tmp/err" | cat
ok "not one that others may enter" [ -e "$tmp/open/hvdagent" ]
like "which is said" "left behind: '$tmp/open': not a private folder" "$tmp/err"

copy_in "$tmp/full" 700
: >"$tmp/full/precious"
: | "$tmp/full/hvdagent" --sent "$tmp/full" 2>"$tmp/err" | cat
ok "not one with something else in it" [ -e "$tmp/full/precious" ]

copy_in "$tmp/real" 700
ln -s real "$tmp/link"
: | "$tmp/real/hvdagent" --sent "$tmp/link" 2>"$tmp/err" | cat
ok "not through a symbolic link" [ -e "$tmp/real/hvdagent" ]

: | "$tmp/open/hvdagent" --sent "$tmp/real" 2>"$tmp/err" | cat
ok "not another one's" [ -e "$tmp/real/hvdagent" ]
finish
