#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every way to a host that users have works: names, ports, keys, configurations, login shells, and no hvdagent there.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"
key=$ssh_folder/id_ed25519

# stop_ssh_agent [SIGNAL]: once only, because another process may have its number later.
stop_ssh_agent() {
    [ -z "${SSH_AGENT_PID-}" ] || kill "${1--TERM}" "$SSH_AGENT_PID"
    unset SSH_AGENT_PID SSH_AUTH_SOCK
}

# Names and ports
reaches "USER@HOST" "$(id -un)@$(host 1):1" "$HVDRUN"
reaches "--verbose" "$(target 1):1" "$HVDRUN" --verbose
unfiltered=1
if [ "$SANITIZERS" = no ] && grep -q '^#define HAVE_SECCOMP' "$builddir/config.h"; then
    unfiltered=0
fi
is "says that the system calls of hvdssh are not filtered, where that is so" $unfiltered \
    "$(grep -c 'the system calls of hvdssh are not filtered here' "$tmp/err")"
ssh_config "$tmp/alias" '' 'Host nickname' "HostName $(host 1)" "User $(id -un)" 'Host *'
reaches "a name that only the configuration of ssh knows" nickname:1 with_config "$tmp/alias" "$HVDRUN"
if links; then
    on 1 /usr/sbin/sshd -p 2222 -f "$ssh_folder/sshd_config" -E "$tmp/sshd2222.log"
    echo "[host1]:2222 $(cut -d' ' -f1,2 "$ssh_folder/host_key.pub")" >>"$ssh_folder/known_hosts"
    port=2222
else
    port=$ssh_port
fi
ssh_config "$tmp/no-port" '/^Port/d'
until_true on 0 with_config "$tmp/no-port" ssh -p "$port" "$(target 1)" true
for option in -p --ssh-port; do
    reaches "$option" "$(target 1):1" with_config "$tmp/no-port" "$HVDRUN" $option "$port"
done
ssh_config "$tmp/port" '/^Port/d' "Port $port"
reaches "a port from the configuration of ssh" "$(target 1):1" with_config "$tmp/port" "$HVDRUN"

# Keys
ssh_config "$tmp/no-key" "s|^IdentityFile.*|IdentityFile $tmp/none|"
reaches "-i names a key" "$(target 1):1" with_config "$tmp/no-key" "$HVDRUN" -i "$key"
reaches "and another one, if the first is of no use" "$(target 1):1" \
    with_config "$tmp/no-key" "$HVDRUN" -i "$ssh_folder/host_key" -i "$key"
ssh-keygen -q -t ecdsa -N '' -f "$tmp/ecdsa"
cat "$tmp/ecdsa.pub" >>"$ssh_folder/authorized_keys"
reaches "an ECDSA key" "$(target 1):1" with_config "$tmp/no-key" "$HVDRUN" -i "$tmp/ecdsa"
ssh-keygen -q -t rsa -b 2048 -N '' -f "$tmp/rsa"
cat "$tmp/rsa.pub" >>"$ssh_folder/authorized_keys"
ssh_config "$tmp/rsa-config" "s|^IdentityFile.*|IdentityFile $tmp/rsa|"
# with_rsa SENTENCE PATTERN COMMAND...: since 1.11 libssh2 uses an RSA key itself; before, as leaves_to_ssh.
with_rsa() {
    if pkg-config --atleast-version=1.11 libssh2; then
        sentence=$1
        shift 2
        reaches "$sentence" "$(target 1):1" "$@"
    else
        leaves_to_ssh "$@"
    fi
}
with_rsa "an RSA key" "RSA key $tmp/rsa: libssh2 " with_config "$tmp/rsa-config" "$HVDRUN"
ssh_config "$tmp/agent" '/^Identit/d'
eval "$(ssh-agent -a "$tmp/agent.sock")" >/dev/null
trap 'stop_ssh_agent; hosts_down; rm -rf "$tmp"' EXIT
ssh-add -q "$key" 2>/dev/null
mkdir "$tmp/home"
reaches "a key that only ssh-agent has" "$(target 1):1" with_config "$tmp/agent" env HOME="$tmp/home" "$HVDRUN"
ssh-add -q -D 2>/dev/null
ssh-add -q "$tmp/rsa" 2>/dev/null
with_rsa "an RSA key that only ssh-agent has" "RSA key .*: libssh2 " \
    with_config "$tmp/agent" env HOME="$tmp/home" "$HVDRUN"
ssh-keygen -q -t ed25519 -N 'a passphrase' -f "$tmp/encrypted"
cat "$tmp/encrypted.pub" >>"$ssh_folder/authorized_keys"
printf '#!/bin/sh\necho "a passphrase"\n' >"$tmp/askpass"
chmod +x "$tmp/askpass"
ssh-add -q -D 2>/dev/null
SSH_ASKPASS=$tmp/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=: ssh-add -q "$tmp/encrypted" 2>/dev/null
reaches "an encrypted key that ssh-agent has" "$(target 1):1" with_config "$tmp/no-key" "$HVDRUN" -i "$tmp/encrypted"
ssh_config "$tmp/only" '/^Identit/d' 'IdentitiesOnly yes' "IdentityFile $tmp/none"
run on 0 with_config "$tmp/only" "$HVDRUN" -np 1 -H "$(target 1):1" true
is "with IdentitiesOnly, a key of ssh-agent that no file names is of no use" 77 "$status"
like "which is said" "^hvdrun: FAILED on $(host 1): login: .*ssh-agent: no key of the identity files" "$tmp/err"
stop_ssh_agent
cp "$ssh_folder/known_hosts" "$tmp/hashed"
ssh-keygen -q -H -f "$tmp/hashed" >/dev/null 2>&1
ssh_config "$tmp/hashed-config" "s|^UserKnownHostsFile.*|UserKnownHostsFile $tmp/hashed|"
reaches "hashed known_hosts" "$(target 1):1" with_config "$tmp/hashed-config" "$HVDRUN"
reaches "which have the port, too" "$(target 1):1" with_config "$tmp/hashed-config" "$HVDRUN" -p "$port"

# Other ways
reaches "--remote-shell" "$(target 1):1" "$HVDRUN" --remote-shell 'ssh -q %h'
reaches "its variable" "$(target 1):1" env HVD_REMOTE_SHELL='ssh -q %h' "$HVDRUN"
ssh_config "$tmp/shy" '' 'IgnoreUnknown SessionType,StdinNull,ForkAfterAuthentication' "Host $(host 1)" \
    "ProxyJump $(target 2)" 'RequestTTY force' 'RemoteCommand hostname' 'SessionType none' 'StdinNull yes' \
    'ForkAfterAuthentication yes' 'Host *'
reaches "whose configuration asks for a terminal, another command and no streams" "$(target 1):1" \
    with_config "$tmp/shy" "$HVDRUN"
mkdir "$tmp/no-ssh"
ln -s /bin/echo "$tmp/no-ssh"
mkdir "$tmp/home/.ssh"
cp "$key" "$ssh_folder/known_hosts" "$tmp/home/.ssh"
if links; then # elsewhere the port is not ssh's
    user 0 '' "$tmp/home"
    reaches "without an ssh client, the keys and known_hosts of the home directory" host1:1 \
        env PATH="$tmp/no-ssh" "$HVDRUN"
    on 0 umount /etc/passwd
else
    skip "without an ssh client, the keys and known_hosts of the home directory" "$no_links"
fi

# Keys of the connection that are exchanged again and again while a job prints: sshd's limit, then that of the external ssh
if links; then
    on 1 /usr/sbin/sshd -p 2224 -o 'RekeyLimit=64K' -o LogLevel=DEBUG1 -f "$ssh_folder/sshd_config" -E "$tmp/sshd2224.log"
    echo "[host1]:2224 $(cut -d' ' -f1,2 "$ssh_folder/host_key.pub")" >>"$ssh_folder/known_hosts"
    until_true on 0 with_config "$tmp/no-port" ssh -p 2224 host1 true
    # rekeys SENTENCE COMMAND...: an hvdrun with options; 2 MiB go to the rank and come back, whole.
    head -c 2097152 /dev/zero | tr '\0' x | fold -w 4095 >"$tmp/much"
    rekeys() {
        sentence=$1
        shift
        : >"$tmp/sshd2224.log"
        status=0
        on 0 "$@" -np 1 -H host1:1 cat <"$tmp/much" >"$tmp/out" 2>"$tmp/err" || status=$?
        is "$sentence goes through" 0 "$status"
        sed 's/^\[0\]<stdout>://' "$tmp/out" >"$tmp/back"
        ok "and comes back whole" cmp "$tmp/much" "$tmp/back"
        ok "while keys were exchanged more than ten times" \
            [ "$(grep -c 'SSH2_MSG_NEWKEYS received' "$tmp/sshd2224.log")" -gt 10 ]
    }
    rekeys "output of many times sshd's RekeyLimit" "$HVDRUN" -p 2224
    ssh_config "$tmp/rekey" '' 'RekeyLimit 64K'
    rekeys "output of many times the RekeyLimit of ssh and sshd" \
        with_config "$tmp/rekey" "$HVDRUN" --remote-shell 'ssh -p 2224 %h'
else
    skip "keys that are exchanged again" "$no_links"
fi

# Login shells
if links; then
    printf '#!/bin/sh\necho "*** Welcome ***"\nhead -c 20000 /dev/zero | tr "\\0" "\\n"\nprintf "no end of line"\nexec /bin/sh "$@"\n' >"$tmp/noisy"
    chmod +x "$tmp/noisy"
    user 1 "$tmp/noisy"
    reaches "a login shell that prints a banner" host1:1 "$HVDRUN"
    printf '#!/bin/sh\n[ $# = 2 ] && [ "$1" = -c ] || exit 97\ncase $2 in *[!a-z/\\ -]*) echo "Illegal variable name."; exit 98 ;; esac\nexec /bin/sh -c "$2"\n' >"$tmp/strict"
    chmod +x "$tmp/strict"
    user 1 "$tmp/strict"
    reaches "one that knows no grammar of sh's" host1:1 "$HVDRUN"
    reaches "with --remote-shell too" host1:1 "$HVDRUN" --remote-shell 'ssh %h'
    if [ -x /bin/tcsh ]; then
        user 1 /bin/tcsh
        reaches "tcsh" host1:1 "$HVDRUN"
    else
        skip "tcsh" "not installed"
    fi
    mkdir "$tmp/otherhome"
    user 1 '' "$tmp/otherhome"
    run on 0 "$HVDRUN" -np 1 -H host1:1 pwd
    is "another home directory changes nothing" "[0]<stdout>:$PWD" "$(cat "$tmp/out")"
    user 1 '' "$tmp/nowhere"
    reaches "nor does one that is not there" host1:1 "$HVDRUN"
    on 1 umount /etc/passwd
else
    skip "login shells and home directories" "$no_links"
fi

# A host without hvdagent
# without_agent I: hides it; /tmp is the host's own, and what the test needs of the machine's stays in sight.
without_agent() {
    own_tmp "$1" size=64m
    on "$1" mount -t tmpfs none "$(dirname "$HVDAGENT")"
}
if links; then
    without_agent 1
    ok "hvdagent is hidden from a host" not on 1 test -e "$HVDAGENT"
    on 1 ls -A /tmp /dev/shm /run >"$tmp/before"
    start on 0 "$HVDRUN" -np 3 -H host0:1,host1:2 "$WORLD" init barriers 10 print up wait "$tmp/go" barriers 10 shutdown
    for rank in 0 1 2; do until_said "\\[$rank\\].*up"; done
    on 1 ls -A /tmp /dev/shm /run >"$tmp/during"
    ok "a host without hvdagent is sent a copy, which lies nowhere once it runs" cmp "$tmp/before" "$tmp/during"
    : >"$tmp/go"
    finish_job
    is "and works" 0 "$status"
    start on 0 "$HVDRUN" -np 2 -H host0:1,host1:1 "$ACT" text 'up\n' stay
    until_said '\[1\].*up'
    signal_hvdrun KILL
    finish_job
    clean "hvdrun killed, it leaves no process"
    on 1 ls -A /tmp /dev/shm /run >"$tmp/after"
    ok "and no file" cmp "$tmp/before" "$tmp/after"
    reaches "a copy is sent through --remote-shell, too" host1:1 "$HVDRUN" --remote-shell 'ssh %h'
    user 1 "$tmp/noisy"
    reaches "and past a banner" host1:1 "$HVDRUN"
else
    skip "a host without hvdagent is sent a copy" "$no_links"
fi

# A connection that is lost while logging in: sshd gives up after 1 s, while an agent that was stopped is asked.
if links; then
    on 1 /usr/sbin/sshd -p 2223 -o LoginGraceTime=1 -f "$ssh_folder/sshd_config" -E "$tmp/sshd2223.log"
    echo "[host1]:2223 $(cut -d' ' -f1,2 "$ssh_folder/host_key.pub")" >>"$ssh_folder/known_hosts"
    eval "$(ssh-agent -a "$tmp/stopped.sock")" >/dev/null
    kill -STOP "$SSH_AGENT_PID"
    until_true on 0 with_config "$tmp/no-port" ssh -p 2223 -o IdentityAgent=none host1 true >"$tmp/noise"
    for _ in 1 2 3 4 5; do # again where a busy machine was not so far after that second
        run on 0 "$HVDRUN" -p 2223 -np 1 -H host1:1 true
        ! grep -q 'on host1: login: ' "$tmp/err" || break
    done
    is "a connection lost while logging in is status 69" 69 "$status"
    like "and named" "^hvdrun: FAILED on host1: login: .*closed by the host" "$tmp/err"
    stop_ssh_agent -KILL
else
    skip "a connection lost while logging in" "$no_links"
fi
clean "nothing is left"
finish
