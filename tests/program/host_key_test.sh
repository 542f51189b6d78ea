#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Host keys that libssh2 cannot check: hvdrun leaves a host that is known by such a key to the external ssh. And files of ssh that are
# there and cannot be read: the line about a host that is refused names them.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 2 || skip_all "$hosts_reason"
links || skip_all "on loopback another sshd would need a port of this machine"
for type in rsa ecdsa ed25519; do
    ssh-keygen -q -t $type -N '' -f "$tmp/$type"
done
ssh-keygen -q -t rsa -N '' -f "$tmp/other"

# serve PORT TYPE...: an sshd on host 1 with keys of these types.
serve() {
    serve_port=$1
    shift
    for type; do
        shift
        set -- "$@" -o "HostKey=$tmp/$type"
    done
    on 1 /usr/sbin/sshd -p "$serve_port" -f /dev/null -o PidFile=none -o StrictModes=no -o UsePAM=no -o UseDNS=no \
        -o "AuthorizedKeysFile=$ssh_folder/authorized_keys" -E "$tmp/sshd$serve_port.log" "$@"
    until_said 'Server listening' "$tmp/sshd$serve_port.log"
}

# known_as PORT NAME...: with_config "$tmp/config", known_hosts have the keys $tmp/NAME for this port of host 1.
known_as() {
    port=$1
    shift
    for name; do
        echo "[host1]:$port $(cut -d' ' -f1,2 "$tmp/$name.pub")"
    done >"$tmp/known"
    ssh_config "$tmp/config" "s|^UserKnownHostsFile.*|UserKnownHostsFile $tmp/known|"
}

serve 2231 rsa ed25519
serve 2232 rsa
left="host key: known as ssh-rsa, which libssh2 cannot check"
known_as 2231 rsa
leaves_to_ssh "a host that is known by its RSA key only" "$left" with_config "$tmp/config" "$HVDRUN" -p 2231
cp "$tmp/known" "$tmp/known.before"
leaves_to_ssh "with --ssh-accept-new it" "$left" with_config "$tmp/config" "$HVDRUN" -p 2231 --ssh-accept-new
ok "and no key is added to those known" cmp "$tmp/known" "$tmp/known.before"
known_as 2232 rsa
leaves_to_ssh "a host that has an RSA key only" "$left" with_config "$tmp/config" "$HVDRUN" -p 2232
known_as 2231 ecdsa rsa
leaves_to_ssh "a host that is known by its RSA key, and by another that it no longer has," "$left" \
    with_config "$tmp/config" "$HVDRUN" -p 2231
known_as 2232 ecdsa rsa
leaves_to_ssh "such a host that has an RSA key only" "connect: no algorithm in common with libssh2, and the host is known as ssh-rsa" \
    with_config "$tmp/config" "$HVDRUN" -p 2232
known_as 2231 rsa ed25519
reaches "a host that is known by an RSA key and another" host1:1 with_config "$tmp/config" "$HVDRUN" -p 2231
is "needs no external ssh" '' "$(cat "$tmp/err")"
known_as 2231 other
named="Offending RSA key in $tmp/known:1 remove with: ssh-keygen -f \"$tmp/known\" -R \"\\[host1\\]:2231\""
is_refused "an RSA key that has changed" 69 \
    "on host1: connect: not reached: 'ssh' exited with status 255: (Add [^;]*; )?$named; Host key for \\[host1\\]:2231 has changed [^;]*; Host key verification failed\.\$" \
    with_config "$tmp/config" "$HVDRUN" -p 2231
for value in no accept-new; do
    ssh_config "$tmp/careless" '/^UserKnownHostsFile/d' "UserKnownHostsFile $tmp/known" "StrictHostKeyChecking $value"
    is_refused "with StrictHostKeyChecking=$value it too" 69 "on host1: connect: not reached: .*Host key verification failed" \
        with_config "$tmp/careless" "$HVDRUN" -p 2231
done
known_as 2231 other ed25519
reaches "an RSA key that has changed, where another is known," host1:1 with_config "$tmp/config" "$HVDRUN" -p 2231
known_as 2231 ecdsa
is_refused "a host that is known by a key of another type, which libssh2 can check," 77 \
    "on host1: host key: not the one in $tmp/known:1, which is ecdsa-sha2-nistp256: ssh-ed25519 SHA256:" \
    with_config "$tmp/config" "$HVDRUN" -p 2231
number='\0\0\0\1\1'
echo "[host1]:2231 ssh-dss $(printf "\\0\\0\\0\\7ssh-dss$number$number$number$number" | base64)" >"$tmp/known"
is_refused "a host that is known by a key which ssh does not check either" 77 \
    "on host1: host key: not the one in $tmp/known:1, which is ssh-dss: ssh-ed25519 SHA256:" with_config "$tmp/config" "$HVDRUN" -p 2231
echo "host1 $(cut -d' ' -f1,2 "$tmp/other.pub")" >"$tmp/known"
is_refused "another port of a host that is known by its RSA key" 77 \
    "on host1: host key: unknown: ssh-ed25519 SHA256:[^ ]*; if it is right: ssh-keyscan -p 2231 -t ed25519 " \
    with_config "$tmp/config" "$HVDRUN" -p 2231

# Files that are there and cannot be read
loop=$tmp/loop why='cannot be read: Too many levels of symbolic links'
ln -s loop "$loop"
known_as 2231 ed25519
ssh_config "$tmp/unread" "s|^UserKnownHostsFile.*|UserKnownHostsFile $loop|"
is_refused "a key that may be in a file that cannot be read" 77 \
    "on host1: host key: not in the files that can be read: ssh-ed25519 SHA256:[^ ]*; $loop $why\$" \
    with_config "$tmp/unread" "$HVDRUN" -p 2231
ssh_config "$tmp/both" "s|^UserKnownHostsFile.*|UserKnownHostsFile $loop $tmp/known|"
echo "host1 $(cut -d' ' -f1,2 "$tmp/other.pub")" >"$tmp/known"
is_refused "such a key with --ssh-accept-new, where the RSA key of another port is known," 77 \
    "on host1: host key: not in the files that can be read: ssh-ed25519 SHA256:[^ ]*; $loop $why\$" \
    with_config "$tmp/both" "$HVDRUN" -p 2231 --ssh-accept-new
known_as 2231 other
is_refused "and where another RSA key of this port is known" 69 "on host1: connect: not reached: .*Host key verification failed" \
    with_config "$tmp/both" "$HVDRUN" -p 2231 --ssh-accept-new
known_as 2231 ed25519
reaches "a key that another file has" host1:1 with_config "$tmp/both" "$HVDRUN" -p 2231
mkdir -p "$tmp/home/.ssh" "$tmp/no-ssh"
ln -s config "$tmp/home/.ssh/config"
user 0 '' "$tmp/home"
is_refused "a name that the configuration of ssh may have, which cannot be read," 69 \
    "on nickname: resolve: nickname cannot be resolved: .*; $tmp/home/.ssh/config $why\$" \
    sh -c '"$0" -np 1 -H nickname:1 true "$@"' "$HVDRUN"
ssh_config "$tmp/unknown" "s|^UserKnownHostsFile.*|UserKnownHostsFile $tmp/none|"
is_refused "a key that is unknown, and a configuration that cannot be read," 77 \
    "on host1: host key: unknown: ssh-ed25519 .*; $tmp/home/.ssh/config $why\$" with_config "$tmp/unknown" "$HVDRUN" -p 2231
reaches "a host that is reached all the same" host1:1 with_config "$tmp/config" "$HVDRUN" -p 2231
is "is not spoken of" '' "$(cat "$tmp/err")"

# Without an ssh client, the files are those of the home directory
cp "$ssh_folder/id_ed25519" "$tmp/home/.ssh"
echo "[host1]:2231 $(cut -d' ' -f1,2 "$tmp/rsa.pub")" >"$tmp/home/.ssh/known_hosts"
is_refused "without an ssh client, a host that is known by its RSA key only" 77 \
    "on host1: host key: not the one in $tmp/home/.ssh/known_hosts:1, which is ssh-rsa: ssh-ed25519 SHA256:[^ ]*; if it is right: ssh-keyscan " \
    env PATH="$tmp/no-ssh" "$HVDRUN" -p 2231
on 0 umount /etc/passwd
clean "nothing is left"
finish
