#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Certificates: those of hosts, by lines of known_hosts (@cert-authority, @revoked), and those of users. libssh2 reads none, so hvdrun
# leaves such a host to the external ssh, and what that refuses is named in one line.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 2 || skip_all "$hosts_reason"
links || skip_all "on loopback another sshd would need a port of this machine"
for name in authority other_authority user_authority host user; do
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$tmp/$name"
done
key=$ssh_folder/id_ed25519
host_key=$(cut -d' ' -f1,2 "$tmp/host.pub")
authority=$(cut -d' ' -f1,2 "$tmp/authority.pub")

# serve PORT OPTION...: an sshd on host 1 with the key $tmp/$served and these options.
served=host
serve() {
    serve_port=$1
    shift
    for option; do
        shift
        set -- "$@" -o "$option"
    done
    on 1 /usr/sbin/sshd -p "$serve_port" -f /dev/null -o "HostKey=$tmp/$served" -o PidFile=none -o StrictModes=no -o UsePAM=no \
        -o UseDNS=no -E "$tmp/sshd$serve_port.log" "$@"
    until_said 'Server listening' "$tmp/sshd$serve_port.log"
}

# certify NAME ARGUMENT...: the key $tmp/host gets a certificate $tmp/NAME-cert.pub.
certify() {
    cp "$tmp/host.pub" "$tmp/$1.pub"
    certified=$tmp/$1.pub
    shift
    ssh-keygen -q -s "$tmp/authority" -I test -h "$@" "$certified"
}

# known_as LINE...: with_config "$tmp/config", known_hosts have these lines.
known_as() {
    printf '%s\n' "$@" >"$tmp/known"
    ssh_config "$tmp/config" "s|^UserKnownHostsFile.*|UserKnownHostsFile $tmp/known|"
}

# careless VALUE: "$tmp/careless" is "$tmp/config" with this StrictHostKeyChecking.
careless() {
    { echo "StrictHostKeyChecking $1"; sed '/^StrictHostKeyChecking/d' "$tmp/config"; } >"$tmp/careless"
}

certify valid -n host1
certify expired -n host1 -V 20200101:20200102
certify foreign -n host9
for row in 2231/valid 2232/expired 2233/foreign; do
    serve ${row%/*} "AuthorizedKeysFile=$ssh_folder/authorized_keys" "HostCertificate=$tmp/${row#*/}-cert.pub"
done
serve 2234 "AuthorizedKeysFile=$ssh_folder/authorized_keys"

# Hosts
left="host key: vouched for by a certificate authority only \\($tmp/known:1\\), which libssh2 cannot check"
for names in '*' 'host1,[host1]:*' '[host1]:2231'; do
    known_as "@cert-authority $names $authority"
    leaves_to_ssh "a host whose authority is known as $names" "$left" with_config "$tmp/config" "$HVDRUN" -p 2231
done
cp "$tmp/known" "$tmp/known.before"
leaves_to_ssh "with --ssh-accept-new it" "$left" with_config "$tmp/config" "$HVDRUN" -p 2231 --ssh-accept-new
ok "and its key is not added to those known" cmp "$tmp/known" "$tmp/known.before"
run on 0 with_config "$tmp/config" "$HVDRUN" -p 2231 -np 3 -H host0:1,host1:2 "$WORLD" init barriers 10 shutdown
is "its ranks are in one world with those of this host" 0 "$status"
known_as "@cert-authority * $authority" "[host1]:2231 $host_key"
reaches "a host whose key is known, too," host1:1 with_config "$tmp/config" "$HVDRUN" -p 2231
is "needs no external ssh" '' "$(cat "$tmp/err")"

# refuses SENTENCE PATTERN [OPTION]: the external ssh, by the configuration $tmp/$config, must refuse the host at port $port, saying so.
config=config
refuses() {
    is_refused "$1" 69 "on host1: connect: not reached: 'ssh' exited with status 255: .*$2" \
        with_config "$tmp/$config" "$HVDRUN" -p "$port" ${3+"$3"}
}
known_as "@cert-authority * $authority"
port=2232 refuses "a certificate that has expired" 'expired'
port=2233 refuses "a certificate for another host" 'not a listed principal'
port=2234 refuses "a host without a certificate" 'Host key verification failed'
port=2234 refuses "with --ssh-accept-new it too" 'Host key verification failed' --ssh-accept-new
for value in no accept-new; do
    careless $value
    port=2234 config=careless refuses "with StrictHostKeyChecking=$value it too" 'Host key verification failed'
done
known_as "@cert-authority * $(cut -d' ' -f1,2 "$tmp/other_authority.pub")"
port=2231 refuses "a certificate of another authority" 'Host key verification failed'
known_as "@cert-authority * $authority" "@revoked * $authority"
port=2231 refuses "a certificate of an authority that is revoked" 'Host key verification failed'
known_as "@cert-authority * $authority" "@revoked * $host_key"
is_refused "a certified key that is revoked itself" 77 "on host1: host key: REVOKED: .*, by $tmp/known:2" \
    with_config "$tmp/config" "$HVDRUN" -p 2231
known_as "[host1]:2234 $host_key" "@revoked [host1]:2234 $host_key"
is_refused "a key that is known and revoked" 77 "on host1: host key: REVOKED: .*, by $tmp/known:2" \
    with_config "$tmp/config" "$HVDRUN" -p 2234

# Keys that the configuration revokes
known_as "[host1]:2234 $host_key"
cp "$tmp/config" "$tmp/plain"
{ echo "RevokedHostKeys $tmp/host.pub"; cat "$tmp/plain"; } >"$tmp/config"
port=2234 refuses "a key that RevokedHostKeys has" 'revoked'
{ echo "RevokedHostKeys $tmp/user.pub"; cat "$tmp/plain"; } >"$tmp/config"
leaves_to_ssh "a key that RevokedHostKeys does not have" "RevokedHostKeys $tmp/user.pub" \
    with_config "$tmp/config" "$HVDRUN" -p 2234
echo "@revoked [host1]:2234 $host_key" >"$tmp/known"
careless no
port=2234 config=careless refuses "with StrictHostKeyChecking=no, a key that is revoked by a line," 'Host key verification failed'
echo "[host1]:2234 $authority" >"$tmp/known"
port=2234 config=careless refuses "and one that has changed" 'Host key verification failed'
echo "[host1]:2234 $host_key" >"$tmp/known"
known_as '# none'
printf '#!/bin/sh\necho "$1 %s"\n' "$host_key" >"$tmp/knows"
chmod +x "$tmp/knows"
{ echo "KnownHostsCommand $tmp/knows %H"; cat "$tmp/config"; } >"$tmp/command"
leaves_to_ssh "a key that only KnownHostsCommand knows" "KnownHostsCommand $tmp/knows " \
    with_config "$tmp/command" "$HVDRUN" -p 2234
run on 0 with_config "$tmp/command" "$HVDRUN" -np 1 -H host0:1 true
is "this host is not reached by ssh, whatever the configuration says" '0 ' "$status $(cat "$tmp/err")"

# Without an ssh client, the files are those of the home directory
mkdir -p "$tmp/home/.ssh" "$tmp/no-ssh"
echo "@cert-authority * $authority" >"$tmp/home/.ssh/known_hosts"
cp "$key" "$tmp/home/.ssh"
user 0 '' "$tmp/home"
is_refused "without an ssh client, a host that only an authority vouches for" 77 \
    "on host1: host key: vouched for by a certificate authority only .*install ssh" \
    env PATH="$tmp/no-ssh" "$HVDRUN" -p 2231
on 0 umount /etc/passwd

# Users: at port 2235 certificates alone are accepted
serve 2235 "TrustedUserCAKeys=$tmp/user_authority.pub" AuthorizedKeysFile=none
known_as "[host1]:2235 $host_key" "$(cat "$ssh_folder/known_hosts")"
sed -i "s|^IdentityFile.*|IdentityFile $tmp/none|" "$tmp/config"
# certify_user NAME ARGUMENT...: the key $tmp/NAME, a copy of $tmp/user, gets a certificate beside it.
certify_user() {
    cp "$tmp/user" "$tmp/$1"
    cp "$tmp/user.pub" "$tmp/$1.pub"
    certified=$tmp/$1.pub
    shift
    ssh-keygen -q -s "$tmp/user_authority" -I test "$@" "$certified"
}
certify_user mine -n "$(id -un)"
certify_user old -n "$(id -un)" -V 20200101:20200102
certify_user others -n somebody
leaves_to_ssh "a certificate beside the key" "certificate $tmp/mine-cert.pub: libssh2 cannot use it" \
    with_config "$tmp/config" "$HVDRUN" -p 2235 -i "$tmp/mine"
ssh_config "$tmp/files" "s|^IdentityFile.*|IdentityFile $tmp/user|; s|^UserKnownHostsFile.*|UserKnownHostsFile $tmp/known|" \
    "CertificateFile $tmp/mine-cert.pub"
leaves_to_ssh "a CertificateFile" "certificate $tmp/mine-cert.pub: libssh2 cannot use it" \
    with_config "$tmp/files" "$HVDRUN" -p 2235
# An ssh to which the host at port 2235 is at port 2236, under the same name, with another key.
served=authority
serve 2236 "TrustedUserCAKeys=$tmp/user_authority.pub" AuthorizedKeysFile=none
mkdir "$tmp/redirected"
cat >"$tmp/redirected/ssh" <<.
#!/bin/sh
case " \$* " in
*' -G '*) ;;
*) set -- -oPort=2236 -oHostKeyAlias='[host1]:2235' "\$@" ;;
esac
exec /usr/bin/ssh -F "$tmp/careless" "\$@"
.
chmod +x "$tmp/redirected/ssh"
for name in '[host1]:2235' host1; do
    for value in no accept-new; do
        echo "$name $host_key" >"$tmp/known"
        careless $value
        is_refused "a host, known as $name, that shows the external ssh another key, with StrictHostKeyChecking=$value," 69 \
            "on host1: connect: not reached: .*Host key verification failed" \
            env PATH="$tmp/redirected:$PATH" "$HVDRUN" -p 2235 -i "$tmp/mine"
    done
done
careless no
sed -i '/KnownHostsFile/d; $a UserKnownHostsFile /dev/null' "$tmp/careless"
reaches "a host that is not known, and whose key is not kept, with StrictHostKeyChecking=no," host1:1 \
    with_config "$tmp/careless" "$HVDRUN" -p 2235 -i "$tmp/mine"
like "is left to the external ssh" "^hvdrun: host1: reached by the external ssh: certificate $tmp/mine-cert.pub" "$tmp/err"
known_as "[host1]:2235 $host_key" "$(cat "$ssh_folder/known_hosts")"
sed -i "s|^IdentityFile.*|IdentityFile $tmp/none|" "$tmp/config"
for row in 'old/that has expired' 'others/for another user'; do
    is_refused "a certificate ${row#*/}" 69 "on host1: connect: not reached: .*Permission denied" \
        with_config "$tmp/config" "$HVDRUN" -p 2235 -i "$tmp/${row%%/*}"
done
is_refused "a key without its certificate" 77 "on host1: login: .*$tmp/user: not accepted" \
    with_config "$tmp/config" "$HVDRUN" -p 2235 -i "$tmp/user"
cat "$tmp/user.pub" >>"$ssh_folder/authorized_keys"
reaches "a key that is accepted without its certificate" host1:1 with_config "$tmp/config" "$HVDRUN" -i "$tmp/mine"
is "needs no external ssh" '' "$(cat "$tmp/err")"
eval "$(ssh-agent -a "$tmp/agent.sock")" >/dev/null
trap 'kill "$SSH_AGENT_PID"; hosts_down; rm -rf "$tmp"' EXIT
ssh-add -q "$tmp/mine" 2>/dev/null
rm "$tmp/mine" "$tmp/mine.pub" "$tmp/mine-cert.pub"
sed -i '/^Identit/d' "$tmp/config"
leaves_to_ssh "a certificate that only ssh-agent has" "certificate '.*': libssh2 cannot use it" \
    with_config "$tmp/config" env HOME="$tmp/home" "$HVDRUN" -p 2235
clean "nothing is left"
finish
