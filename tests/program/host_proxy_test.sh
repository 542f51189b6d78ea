#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A host behind other hosts or behind a command (ProxyJump, ProxyCommand in the configuration of ssh) is left to the external ssh:
# jobs run there as on other hosts, and a proxy that is of no use is named in one line.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 4 || skip_all "$hosts_reason"
one=$(host 1)
key=$ssh_folder/id_ed25519

# behind LINE...: with_config "$tmp/config", host 1 has these lines.
behind() {
    ssh_config "$tmp/config" '' "Host $one" "$@" 'Host *'
}

# came_from SENTENCE I: a rank on host 1, and the connection of ssh to host 1 came from host I.
came_from() {
    if links; then
        run on 0 with_config "$tmp/config" "$HVDRUN" -np 1 -H "$(target 1):1" sh -c 'echo $SSH_CONNECTION'
        like "$1" "^\\[0\\]<stdout>:198\\.51\\.100\\.1$2 " "$tmp/out"
    else
        skip "$1" "hosts on loopback have one address as clients"
    fi
}

# Ways
behind "ProxyJump $(target 2)"
leaves_to_ssh "ProxyJump" "ProxyJump $(target 2)" with_config "$tmp/config" "$HVDRUN"
came_from "and goes through the other host" 2
behind "ProxyJump $(target 2),$(target 3)"
leaves_to_ssh "a ProxyJump of two hosts" "ProxyJump $(target 2),$(target 3)" with_config "$tmp/config" "$HVDRUN"
came_from "and goes through both" 3
behind "ProxyJump $(id -un)@$(host 2):${ssh_port:-22}"
leaves_to_ssh "a ProxyJump with user and port" "ProxyJump $(id -un)@$(host 2)" with_config "$tmp/config" "$HVDRUN"
behind "ProxyCommand ssh -W %h:%p $(target 2)"
leaves_to_ssh "ProxyCommand" "ProxyCommand ssh -W " with_config "$tmp/config" "$HVDRUN"
came_from "and goes through the command" 2
for proxy in ProxyJump ProxyCommand; do
    behind "$proxy none" 'Host *' 'ProxyJump nosuchhost.invalid'
    reaches "$proxy none" "$(target 1):1" with_config "$tmp/config" "$HVDRUN"
    is "needs no external ssh" '' "$(cat "$tmp/err")"
done
if links; then
    behind "BindAddress 198.51.100.10"
    leaves_to_ssh "BindAddress" "BindAddress 198.51.100.10" with_config "$tmp/config" "$HVDRUN"
else
    skip "BindAddress" "$no_links"
fi

# Options of hvdrun
behind "ProxyJump $(target 2)"
is_refused "-p with a port on which nobody listens, behind a proxy," 69 "on $one: connect: .*refused" \
    with_config "$tmp/config" "$HVDRUN" -p 9
ssh_config "$tmp/config" "s|^IdentityFile.*|IdentityFile $tmp/none|" "Host $(host 2)" "IdentityFile $key" "Host $one" \
    "ProxyJump $(target 2)" 'Host *'
is_refused "a host behind a proxy that accepts no key" 69 "on $one: connect: .*Permission denied" \
    with_config "$tmp/config" "$HVDRUN"
leaves_to_ssh "-i with its key" "ProxyJump" with_config "$tmp/config" "$HVDRUN" -i "$key"

# Jobs
ssh_config "$tmp/config" '' "Host $one $(host 2)" "ProxyJump $(target 3)" 'Host *'
run on 0 with_config "$tmp/config" "$HVDRUN" -np 4 -H "$(slots 1 2 1)" "$WORLD" init barriers 10 shutdown
is "two hosts behind a third one and a host that is not: their ranks are one world" 0 "$status"
is "one line for each of the two" 2 "$(grep -c 'reached by the external ssh: ProxyJump' "$tmp/err")"

# Proxies that are of no use
behind "ProxyJump nosuchhost.invalid"
is_refused "a proxy with a name that does not exist" 69 "on $one: connect: .*nosuchhost\\.invalid" with_config "$tmp/config" "$HVDRUN"
behind "ProxyJump $(host 2):9"
is_refused "a proxy that refuses the connection" 69 "on $one: connect: .*refused" with_config "$tmp/config" "$HVDRUN"
behind "ProxyJump $(target 2)" "Host $(host 2)" "UserKnownHostsFile $tmp/none" "GlobalKnownHostsFile $tmp/none"
is_refused "a proxy whose key is not known" 69 "on $one: connect: .*$(host 2).*" with_config "$tmp/config" "$HVDRUN"
ssh-keygen -q -t ed25519 -N '' -f "$tmp/unauthorized"
behind "ProxyJump $(target 2)" "Host $(host 2)" "IdentityFile $tmp/unauthorized"
sed -i "/^Host \\*/,\$ s|^IdentityFile|#|" "$tmp/config"
is_refused "a proxy that accepts no key" 69 "on $one: connect: .*Permission denied" with_config "$tmp/config" "$HVDRUN"
echo "* $(cut -d' ' -f1,2 "$tmp/unauthorized.pub")" >"$tmp/changed"
behind "ProxyJump $(target 2)" "UserKnownHostsFile $tmp/changed" 'StrictHostKeyChecking no'
is_refused "a key behind a proxy that has changed, with StrictHostKeyChecking=no," 69 "on $one: connect: .*Host key verification failed" \
    with_config "$tmp/config" "$HVDRUN"
behind "ProxyJump $(target 2)" "UserKnownHostsFile $tmp/new" 'StrictHostKeyChecking no'
leaves_to_ssh "a key behind a proxy that is new, with StrictHostKeyChecking=no," "ProxyJump" with_config "$tmp/config" "$HVDRUN"
ln -s loop "$tmp/loop"
behind "ProxyJump $(target 2)" "UserKnownHostsFile $tmp/newer $tmp/loop" 'StrictHostKeyChecking no'
is_refused "a key behind a proxy that is new, while a file of known hosts cannot be read," 69 "on $one: connect: .*Host key verification failed" \
    with_config "$tmp/config" "$HVDRUN" --ssh-accept-new
ok "and it is not added" [ ! -e "$tmp/newer" ]
behind "ProxyCommand $tmp/no-such-command %h"
is_refused "a ProxyCommand that is not there" 69 "on $one: connect: .*no-such-command" with_config "$tmp/config" "$HVDRUN"
behind "ProxyCommand sh -c 'echo the gate is closed >&2; exit 3'"
is_refused "a ProxyCommand that fails" 69 "on $one: connect: .*the gate is closed" with_config "$tmp/config" "$HVDRUN"
behind "ProxyCommand true"
is_refused "a ProxyCommand that ends at once" 69 "on $one: connect: " with_config "$tmp/config" "$HVDRUN"
behind "ProxyCommand sleep 1000"
is_refused "a ProxyCommand that never answers" 75 "$one at step 'connect'" with_config "$tmp/config" "$HVDRUN" --start-timeout 4
clean "nothing is left"

# What dies while a job runs
ssh_config "$tmp/config" '' "Host $one" "ProxyJump $(target 3)" 'Host *'
# starts_behind_proxy: a job of four ranks, of which two are on host 1, behind host 3.
starts_behind_proxy() {
    start on 0 with_config "$tmp/config" "$HVDRUN" -np 4 -H "$(slots 1 2 1)" "$WORLD" init barriers 3 print up stay
    for rank in 0 1 2 3; do until_true is_up_or_has_ended $rank; done
}
if links; then
    starts_behind_proxy
    victim=$(host_pids_named 3 sshd | grep -vx "$(listener 3)")
    ok "the proxy has a session of sshd" [ -n "$victim" ]
    # shellcheck disable=SC2086  # pids
    [ -z "$victim" ] || kill -KILL $victim
    host_lost "the sessions of the proxy are killed"
    clean "nothing is left on any host"
    starts_behind_proxy
    signal_hvdrun KILL
    finish_job
    clean "hvdrun is killed: nothing is left on any host, nor on the proxy"
else
    skip "what dies while a job runs behind a proxy" "$no_links"
fi
finish
