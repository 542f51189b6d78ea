#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A host that cannot be used ends the job before any rank starts anywhere, with a line that names the host and the cause.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"
all=$(slots 1 1 1)
one=$(host 1)

# fails SENTENCE STATUS PATTERN COMMAND...: the command, a job that would touch $tmp/started, must end with that status
# and one line "hvdrun: FAILED ...PATTERN", and no rank may have run.
fails() {
    what=$1 expected=$2 pattern=$3
    shift 3
    rm -f "$tmp/started"
    run on 0 "$@"
    failed "$what" "$expected" "$pattern"
}

# failed WHAT STATUS PATTERN: so has the last job.
failed() {
    what=$1 expected=$2 pattern=$3
    is "$what is status $expected" "$expected" "$status"
    like "and named with the host" "^hvdrun: FAILED.* $pattern" "$tmp/err"
    is "in one line" 1 "$(wc -l <"$tmp/err")"
    ok "and no rank has run" [ ! -e "$tmp/started" ]
}

# refuses: as fails, with a configuration of ssh (see ssh_config) and options.
refuses() {
    what=$1 expected=$2 pattern=$3 config=$4
    shift 4
    fails "$what" "$expected" "$pattern" with_config "$config" "$HVDRUN" "$@" -np 3 -H "$all" touch "$tmp/started"
}

# Keys of users
ssh-keygen -q -t ed25519 -N '' -f "$tmp/unauthorized"
ssh_config "$tmp/config" "s|^IdentityFile.*|IdentityFile $tmp/unauthorized|"
refuses "a key that is not accepted" 77 "on [^ ]+: login: .*$(id -un)@.*$tmp/unauthorized" "$tmp/config"
ssh_config "$tmp/config" "s|^IdentityFile.*|IdentityFile $tmp/none|"
refuses "no key at all" 77 "on [^ ]+: login: " "$tmp/config"
ssh-keygen -q -t ed25519 -N 'a passphrase' -f "$tmp/encrypted"
cat "$tmp/encrypted.pub" >>"$ssh_folder/authorized_keys"
refuses "an encrypted key" 77 "on [^ ]+: login: .*$tmp/encrypted.*ssh-agent" "$tmp/config" -i "$tmp/encrypted"
ssh-keygen -q -t rsa -b 2048 -N '' -f "$tmp/rsa"
run on 0 with_config "$tmp/config" "$HVDRUN" -i "$tmp/rsa" -np 1 -H "$(target 1):1" true
if pkg-config --atleast-version=1.11 libssh2; then # which uses the key itself
    is "an RSA key that is not accepted is status 77" 77 "$status"
else
    is "an RSA key that is not accepted, with the external ssh, is status 69" 69 "$status"
    like "and ssh's own words are told" "^hvdrun: FAILED on $one: connect: not reached: .*Permission denied" "$tmp/err"
fi

# Keys of hosts. known_as FILE [LINE...]: host 1 is known so, the others as before.
known_as() {
    _file=$1
    shift
    grep -v "${one}[], ]" "$ssh_folder/known_hosts" >"$_file"
    [ $# = 0 ] || printf '%s\n' "$@" >>"$_file"
    ssh_config "$tmp/config" "s|^UserKnownHostsFile.*|UserKnownHostsFile $_file|"
}
[ "$hosts_kind" = testbed ] && one_known=$one || one_known="[$one]:$ssh_port"
host_key=$(cut -d' ' -f1,2 "$ssh_folder/host_key.pub")
other_key=$(cut -d' ' -f1,2 "$tmp/unauthorized.pub")
known_as "$tmp/known"
cp "$tmp/known" "$tmp/known.before"
refuses "a host that is not known" 77 "on $one: .*(ssh-keyscan|ssh ).*$one" "$tmp/config"
ok "its fingerprint is shown" grep -qF "$(ssh-keygen -l -f "$ssh_folder/host_key.pub" | cut -d' ' -f2)" "$tmp/err"
ok "and it is not added to those known" cmp "$tmp/known" "$tmp/known.before"
run on 0 with_config "$tmp/config" "$HVDRUN" --ssh-accept-new -np 3 -H "$all" true
is "with --ssh-accept-new it is trusted" 0 "$status"
run on 0 with_config "$tmp/config" "$HVDRUN" -np 3 -H "$all" true
is "and known from then on" 0 "$status"
known_as "$tmp/changed" "$one_known $other_key"
refuses "a host whose key has changed" 77 "on $one: .*CHANGED.*$tmp/changed" "$tmp/config"
refuses "even with --ssh-accept-new, that" 77 "on $one: .*CHANGED" "$tmp/config" --ssh-accept-new
known_as "$tmp/revoked" "@revoked $one_known $host_key" "$one_known $host_key"
refuses "a host whose key is revoked" 77 "on $one: .*revoked" "$tmp/config"

# Names and ports
ssh_config "$tmp/config" ''
fails "a name that leads nowhere" 69 "on nosuchhost\\.invalid: .*" \
    "$HVDRUN" -np 2 -H "$(target 0):1,nosuchhost.invalid:1" touch "$tmp/started"

# A hvdssh that does not end, beside hvdrun, which leaves its loop then: a sanitizer finds what is lost with the loop.
mkdir "$tmp/late"
cp "$builddir/hvdrun" "$builddir/hvdagent" "$tmp/late"
printf '#!/bin/sh\nexec sleep 1000\n' >"$tmp/late/hvdssh"
chmod +x "$tmp/late/hvdssh"
fails "without waiting for a hvdssh that does not end, that" 69 "on nosuchhost\\.invalid: .*" \
    "$tmp/late/hvdrun" -np 2 -H "$(target 0):1,nosuchhost.invalid:1" touch "$tmp/started"

# hvdssh can have no more descriptors than it opens while it is loaded, so it gets two of the three of a host.
mkdir "$tmp/few"
cp "$builddir/hvdrun" "$builddir/hvdagent" "$tmp/few"
printf '#!/bin/sh\nexec prlimit --nofile=5 "%s"\n' "$builddir/hvdssh" >"$tmp/few/hvdssh"
chmod +x "$tmp/few/hvdssh"
fails "a process of hvdssh that cannot be made" 71 "on $one: connect: hvdssh cannot make a process: Too many" \
    "$tmp/few/hvdrun" -np 1 -H "$(target 1):1" touch "$tmp/started"

ssh_config "$tmp/config" '/^Port/d' "Host $one" 'Port 9' 'Host *' "Port ${ssh_port:-22}"
refuses "a port on which nobody listens" 69 "on $one: .*refused" "$tmp/config"
fails "a command that reaches nobody" 69 "on $one: .*it is broken" \
    "$HVDRUN" --remote-shell "sh -c 'echo it is broken >&2; exit 3' sh %h" -np 1 -H "$(target 1)" touch "$tmp/started"
fails "a command that is not there" 69 "on $one: .*no-such-command" \
    "$HVDRUN" --remote-shell "$tmp/no-such-command %h" -np 1 -H "$(target 1)" touch "$tmp/started"

# Hosts that do not answer: the connection is accepted by the kernel, sshd is stopped.
kill -STOP "$(listener 1)"
start on 0 "$HVDRUN" --verbose -np 3 -H "$all" touch "$tmp/started"
until_said "$(host 0): ready" "$tmp/err" && until_said "$(host 1): connect" "$tmp/err"
signal_hvdrun TERM
finish_job
is "F37: SIGTERM while a host is being reached is status 143" 143 "$status"
ok "and no rank has run" [ ! -e "$tmp/started" ]
clean "and nothing is left on those that were ready"
fails "a host that accepts and never answers" 69 "on $one: " "$HVDRUN" -np 3 -H "$all" touch "$tmp/started"
like "at the step at which it stands" "connect|banner" "$tmp/err"
kill -STOP "$(listener 2)"
# A busy machine may need longer for the host that answers, and then that is named, too.
# too_slow OPTION
too_slow() {
    for limit in 4 16 64; do
        rm -f "$tmp/started"
        run on 0 "$HVDRUN" "$1" $limit -np 3 -H "$all" touch "$tmp/started"
        grep -q "$(host 0)" "$tmp/err" || break
    done
}
too_slow --start-timeout
failed "one that is slower than --start-timeout" 75 "$one at step .connect.*"
like "every one of them is named" "$(host 2)" "$tmp/err"
unlike "and no other" "$(host 0)" "$tmp/err"
too_slow --timeout
failed "one that is slower than --timeout" 124 "before the ranks were started: .*$one at step .connect. for .* s"
kill -CONT "$(listener 1)" "$(listener 2)"
run on 0 "$HVDRUN" -np 3 -H "$all" true
is "when they answer again the job works" 0 "$status"

if links; then
    printf 'nameserver 198.51.100.99\noptions timeout:30\n' >"$tmp/resolv.conf"
    on 0 mount --bind "$tmp/resolv.conf" /etc/resolv.conf
    fails "F43: a name for which nobody answers" 69 "on nobody\\.example: .*no answer" \
        "$HVDRUN" -np 2 -H host0:1,nobody.example:1 touch "$tmp/started"
    on 0 umount /etc/resolv.conf
    on 0 ip neigh replace 198.51.100.11 lladdr "$(on 1 cat /sys/class/net/eth0/address)" dev eth0 nud permanent
    tb_cut 1
    fails "a host that has vanished" 69 "on host1: " "$HVDRUN" -np 3 -H "$all" touch "$tmp/started"
    tb_mend 1
    on 0 ip neigh del 198.51.100.11 dev eth0

    # Directories and commands: host 1 has another file system at $tmp/own.
    mkdir "$tmp/own" "$tmp/own/folder"
    printf '#!/bin/sh\ntouch "$1"\n' | tee "$tmp/own/folder/command" "$tmp/own/missing" "$tmp/own/plain" >"$tmp/own/foreign"
    chmod +x "$tmp/own/folder/command" "$tmp/own/missing" "$tmp/own/plain" "$tmp/own/foreign"
    on 1 mount -t tmpfs none "$tmp/own"
    on 1 sh -c ": >'$tmp/own/plain'"
    [ "$(uname -m)" = aarch64 ] && machine='\076' || machine='\267'
    { printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000'"$machine"'\000\001\000\000\000'; head -c 100 /dev/zero; } |
        on 1 tee "$tmp/own/foreign" >/dev/null
    on 1 chmod +x "$tmp/own/foreign"
    while IFS='|' read -r what expected command pattern; do
        fails "$what on one host" "$expected" "on host1: .*$pattern" "$HVDRUN" -np 3 -H "$all" "$tmp/own/$command" "$tmp/started"
    done <<-.
	a missing command|127|missing|not found.*own/missing
	a command that is not executable|126|plain|own/plain.*Permission denied
	a command for another architecture|126|foreign|own/foreign
	.
    cd "$tmp/own/folder" || exit 99
    # nsenter would enter the directory of this host, as it is: only hvdrun's agents find it missing
    fails "a missing working directory on one host" 127 "on host1: .*directory.*own/folder" \
        "$HVDRUN" -np 3 -H "$all" touch "$tmp/started"
    cd "$OLDPWD" || exit 99

    # A login shell that is of no use
    printf '#!/bin/sh\necho "Account expired."\nexit 1\n' >"$tmp/expired"
    printf '#!/bin/sh\nyes "Buy more disks." | head -c 1000000\nexec /bin/sh "$@"\n' >"$tmp/flood"
    chmod +x "$tmp/expired" "$tmp/flood"
    for shell in expired flood; do
        user 1 "$tmp/$shell"
        [ $shell = flood ] && said='Buy more disks.' || said='Account expired.'
        fails "a login shell that says '$said'" 69 "on host1: .*$said" "$HVDRUN" -np 3 -H "$all" touch "$tmp/started"
        on 1 umount /etc/passwd
    done

    # No hvdagent, and no room for one
    mkdir "$tmp/home"
    own_tmp 1 size=64k
    on 1 mount -t tmpfs none "$(dirname "$HVDAGENT")"
    user 1 '' "$tmp/home"
    on 1 sh -c "mount -t tmpfs -o size=64k none '$tmp/home'; mount -o remount,size=64k /dev/shm
        for place in /tmp /dev/shm '$tmp/home'; do head -c 100000 /dev/zero >\$place/fill; done" 2>/dev/null
    fails "a host without hvdagent and without room for it" 69 "on host1: .*No space left" \
        "$HVDRUN" -np 3 -H "$all" touch "$tmp/started"
else
    skip "hosts that vanish, have other files, other login shells, full disks" "$no_links"
fi
clean "nothing is left on any host"
finish
