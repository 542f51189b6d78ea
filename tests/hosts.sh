# SPDX-License-Identifier: Apache-2.0
# For test programs in sh that need several hosts; sourced after tap.sh.
#
#   . "$srcdir/tests/tap.sh" && . "$srcdir/tests/hosts.sh"
#   hosts_up 2 || skip_all "$hosts_reason"
#   run on 0 "$HVDRUN" -H "$(slots 2 1)" true      as on host 0: host0:2,host1:1
#   links || skip "..." "$no_links"
#   finish                                         the hosts go with the test
#
# Where tests/testbed.sh can make hosts (root, namespaces), they have networks, names, processes and /run of their own,
# and links that can be cut. Elsewhere, and with HVD_TEST_LOOPBACK=1, there is an sshd per host on 127.0.0.2 and so on
# of this machine, with a port and keys of its own; the hosts are written USER@127.0.0.N, so that hvdrun does not take
# them for this machine. The file system is shared either way.

# shellcheck shell=sh
hosts_kind=none hosts_count=0 hosts_reason=
no_links="hosts on loopback have no links"
TB_NAME=v$(printf %05d $(($$ % 100000)))
TB_SELF=$srcdir/tests/testbed.sh
TB_TTL=1800
hosts_make=tb_up # or ts_up of slurm-testbed.sh
# shellcheck source=tests/testbed.sh
. "$TB_SELF"
trap 'hosts_down; rm -rf "$tmp"' EXIT

# Leaks of libssh2's are not ours.
case ${SANITIZERS-} in
*address*)
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0
    LSAN_OPTIONS=${LSAN_OPTIONS:+$LSAN_OPTIONS:}suppressions=$srcdir/tests/libssh2.supp:print_suppressions=0
    export ASAN_OPTIONS LSAN_OPTIONS
    ;;
esac

# hosts_up COUNT [SETTING...]: TB_NETS=2 and TB_DECOY=1 as testbed.sh has them. False, with $hosts_reason, if this
# machine can have no hosts.
hosts_up() {
    hosts_down
    hosts_count=$1
    shift
    mkdir -p "$tmp/bin"
    PATH=$tmp/bin:$PATH
    make_with_config
    if [ -z "${HVD_TEST_LOOPBACK-}" ] && (tb_need) 2>"$tmp/need"; then
        eval "TB_NETS=1 TB_DECOY=0 $*"
        testbed_up
    else
        loopback_up
    fi
}

hosts_down() {
    case $hosts_kind in
    testbed) tb_down ;;
    loopback) loopback_down ;;
    esac
    hosts_kind=none
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# Can links be cut, hosts be paused, file systems be mounted?
links() {
    [ $hosts_kind = testbed ]
}

# host I: its name in messages. slots N...: what -H takes, with so many slots on host 0, 1 and so on; 0 leaves it out.
host() {
    case $hosts_kind in
    testbed) echo "host$1" ;;
    *) echo "127.0.0.$(($1 + 2))" ;;
    esac
}

# What -H takes for host I.
target() {
    [ $hosts_kind = testbed ] || printf '%s@' "$(id -un)"
    host "$1"
}

slots() {
    _i=0 _list=
    for _n in "$@"; do
        [ "$_n" = 0 ] || _list=$_list${_list:+,}$(target $_i):$_n
        _i=$((_i + 1))
    done
    echo "$_list"
}

# ---- hosts with namespaces ----

testbed_up() {
    hosts_kind=testbed
    "$hosts_make" "$hosts_count" >"$tmp/up" 2>&1 || { hosts_reason="testbed: $(tail -n 1 "$tmp/up")"; return 1; }
    ssh_folder=$TB_DIR
    cat >"$tmp/bin/on" <<-.
	#!/bin/sh
	# on I COMMAND...: as on host I
	pid=\$(cat "$TB_DIR/h\$1.pid") || exit 99
	shift
	exec nsenter -t "\$pid" -n -u -i -p -m --wd="\$PWD" env PATH="$TB_DIR/bin:\$PATH" "\$@"
	.
    chmod +x "$tmp/bin/on"
    for i in $(seq 0 $((hosts_count - 1))); do user "$i" /bin/sh; done # what this machine's own shell reads is its own
    HOSTS=$(for i in $(seq 0 $((hosts_count - 1))); do target "$i"; done)
    for i in $(seq 0 $((hosts_count - 1))); do host_pids "$i"; done >"$tmp/baseline"
}

# own_tmp I OPTIONS: an empty /tmp that is host I's alone; the test's own folder and whatever of the build lies in /tmp
# stay where they are.
own_tmp() {
    on "$1" sh -ec '
        mkdir -p /run/kept
        mount --bind /tmp /run/kept
        mount -t tmpfs -o "mode=1777,$1" none /tmp
        shift
        for folder; do
            case $folder in
            /tmp/*)
                mkdir -p "$folder"
                mount --bind "/run/kept/${folder#/tmp/}" "$folder" ;;
            esac
        done
        umount /run/kept' sh "$2" "$tmp" "$TB_DIR" "$srcdir" "$builddir"
}

# user I [SHELL] [HOME]: host I has another login shell and home directory for this user.
user() {
    on "$1" umount /etc/passwd 2>/dev/null
    _passwd=$(mktemp "$tmp/passwd.XXXXXX")
    awk -F: -v OFS=: -v user="$(id -un)" -v shell="${2-}" -v home="${3-}" \
        '$1 == user { if (shell) $7 = shell; if (home) $6 = home } { print }' /etc/passwd >"$_passwd"
    chmod 644 "$_passwd"
    on "$1" mount --bind "$_passwd" /etc/passwd
}

# ---- hosts on loopback ----

loopback_up() {
    hosts_kind=loopback
    for _c in ssh ssh-keygen /usr/sbin/sshd; do
        command -v "$_c" >/dev/null || { hosts_reason="no $_c"; hosts_kind=none; return 1; }
    done
    ssh_folder=$tmp/ssh
    rm -rf "$ssh_folder" && mkdir "$ssh_folder"
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$ssh_folder/id_ed25519"
    ssh-keygen -q -t ed25519 -N '' -f "$ssh_folder/host_key"
    cp "$ssh_folder/id_ed25519.pub" "$ssh_folder/authorized_keys"
    ssh_port=$((20000 + $$ % 12000))
    until loopback_start_all; do
        ssh_port=$((ssh_port + 1))
        [ $ssh_port -lt 32700 ] || { hosts_reason="no sshd on 127.0.0.2"; loopback_down; hosts_kind=none; return 1; }
    done
    loopback_config
    printf '#!/bin/sh\nshift\nPATH=%s:$PATH exec "$@"\n' "$ssh_folder/bin" >"$tmp/bin/on"
    chmod +x "$tmp/bin/on"
    HOSTS=$(for i in $(seq 0 $((hosts_count - 1))); do target "$i"; done)
    echo 0 >"$tmp/baseline"
}

loopback_config() {
    key=$(cut -d' ' -f1,2 "$ssh_folder/host_key.pub")
    for i in $(seq 0 $((hosts_count - 1))); do
        echo "[$(host "$i")]:$ssh_port $key"
    done >"$ssh_folder/known_hosts"
    cat >"$ssh_folder/ssh_config" <<-.
	Port $ssh_port
	IdentityFile $ssh_folder/id_ed25519
	IdentitiesOnly yes
	UserKnownHostsFile $ssh_folder/known_hosts
	StrictHostKeyChecking yes
	BatchMode yes
	ConnectTimeout 5
	.
    mkdir "$ssh_folder/bin"
    printf '#!/bin/sh\nexec /usr/bin/ssh -F %s "$@"\n' "$ssh_folder/ssh_config" >"$ssh_folder/bin/ssh"
    chmod +x "$ssh_folder/bin/ssh"
}

# All hosts' sshd on one port that is free on all of them.
loopback_start_all() {
    for i in $(seq 0 $((hosts_count - 1))); do
        loopback_start "$i" || { loopback_down; return 1; }
    done
}

loopback_start() {
    cat >"$ssh_folder/sshd_config$1" <<-.
	ListenAddress $(host "$1"):$ssh_port
	HostKey $ssh_folder/host_key
	AuthorizedKeysFile $ssh_folder/authorized_keys
	PidFile $ssh_folder/pid$1
	StrictModes no
	UsePAM no
	UseDNS no
	PasswordAuthentication no
	MaxStartups 200
	.
    /usr/sbin/sshd -D -f "$ssh_folder/sshd_config$1" -E "$ssh_folder/sshd$1.log" &
    _sshd=$!
    _left=200
    until grep -qs "Server listening on $(host "$1") port $ssh_port" "$ssh_folder/sshd$1.log"; do
        _left=$((_left - 1))
        kill -0 $_sshd 2>/dev/null && [ $_left -gt 0 ] || return 1
        sleep 0.05
    done
}

loopback_down() {
    for _p in "$ssh_folder"/pid*; do
        [ ! -s "$_p" ] || kill -KILL "$(cat "$_p")" 2>/dev/null
        rm -f "$_p"
    done
    rm -rf "${ssh_folder:?}/bin" "$ssh_folder"/*.log
}

# ---- configurations of ssh ----

# with_config FILE COMMAND...: a program; ssh, which hvdrun asks for the user's configuration, reads that file.
make_with_config() {
    cat >"$tmp/bin/with_config" <<-.
	#!/bin/sh
	folder=\$(mktemp -d "$tmp/config.XXXXXX")
	printf '#!/bin/sh\nexec /usr/bin/ssh -F %s "\$@"\n' "\$1" >"\$folder/ssh"
	chmod +x "\$folder/ssh"
	shift
	PATH=\$folder:\$PATH exec "\$@"
	.
    chmod +x "$tmp/bin/with_config"
}

# ssh_config FILE SED-SCRIPT [LINE...]: the hosts' configuration, changed, behind lines that win.
ssh_config() {
    _file=$1 _script=$2
    shift 2
    { [ $# = 0 ] || printf '%s\n' "$@"; sed "$_script" "$ssh_folder/ssh_config"; } >"$_file"
}

# ---- hosts that are reached, or not ----

# reaches SENTENCE HOST COMMAND...: the command, an hvdrun with options, must start a rank on that host.
reaches() {
    sentence=$1 on_host=$2
    shift 2
    run on 0 "$@" -np 1 -H "$on_host" echo reached
    is "$sentence" '0 [0]<stdout>:reached' "$status $(cat "$tmp/out")"
}

# leaves_to_ssh SENTENCE PATTERN COMMAND...: as reaches, on host 1, and hvdrun says in one line why it uses the external ssh.
leaves_to_ssh() {
    sentence=$1 why=$2
    shift 2
    reaches "$sentence" "$(target 1):1" "$@"
    like "is left to the external ssh, which is said" "^hvdrun: $(host 1): reached by the external ssh: $why" "$tmp/err"
    is "in one line" 1 "$(wc -l <"$tmp/err")"
}

# is_refused SENTENCE STATUS PATTERN COMMAND...: the command, an hvdrun with options, must end with that status before a rank
# starts on host 1, and with one line "hvdrun: FAILED... PATTERN". Lines about the external ssh do not count.
is_refused() {
    sentence=$1 expected=$2 pattern=$3
    shift 3
    rm -f "$tmp/started"
    run on 0 "$@" -np 1 -H "$(target 1):1" touch "$tmp/started"
    is "$sentence is status $expected" "$expected" "$status"
    like "and named with the host" "^hvdrun: FAILED.* $pattern" "$tmp/err"
    is "in one line" 1 "$(grep -cv 'reached by the external ssh' "$tmp/err")"
    ok "and no rank has run" [ ! -e "$tmp/started" ]
}

# ---- processes ----

# The processes of host I, by their pids outside.
host_pids() {
    case $hosts_kind in
    testbed) ip netns pids "$(tb_ns "$1")" ;;
    loopback) descendants "$(cat "$ssh_folder/pid$1")" ;;
    esac
}

descendants() {
    ps -A -o pid= -o ppid= | awk -v root="$1" '
        { parent[$1] = $2 }
        END { for (pid in parent) { for (p = pid; p in parent && p != root; p = parent[p]); if (p == root && pid != root) print pid } }'
}

# host_pids_named I NAME: those whose program has that name.
host_pids_named() {
    for _p in $(host_pids "$1"); do
        [ "$(cat "/proc/$_p/comm" 2>/dev/null)" != "$2" ] || echo "$_p"
    done
}

# listener I: the process of sshd that lets people in.
listener() {
    case $hosts_kind in
    testbed) pgrep -P "$(tb_pid "$1")" sshd ;;
    loopback) cat "$ssh_folder/pid$1" ;;
    esac
}

# job_pids PATTERN: processes of the latest job, by its token, whose program has such a name.
job_pids() {
    for _p in $(survivors | cut -d/ -f3); do
        # shellcheck disable=SC2254  # a pattern
        case $(cat "/proc/$_p/comm" 2>/dev/null) in
        $1) echo "$_p" ;;
        esac
    done
}

# signal_hvdrun SIGNAL: to hvdrun itself. $pid may be a process in front of it, which stops when hvdrun does.
signal_hvdrun() {
    for _p in $(job_pids hvdrun); do
        kill "-$1" "$_p"
    done
    [ "$1" != CONT ] || kill -CONT "$pid"
}

# What of the latest job still lives, on any host: by its token; and, token or not, whatever runs on a host that did not
# run there before, except sessions of sshd, zombies and what the test itself runs there.
left_on_hosts() {
    survivors | cut -d/ -f3
    for _i in $(seq 0 $((hosts_count - 1))); do
        host_pids "$_i"
    done | grep -vxF -f "$tmp/baseline" | while read -r _p; do
        ! is_alive "$_p" || echo "$_p"
    done
}

is_alive() {
    case $(sed 's/^[0-9]* (\(.*\)) \(.\).*/\1 \2/' "/proc/$1/stat" 2>/dev/null) in # "COMMAND STATE"
    '' | *\ Z | *\ X | sshd\ *) return 1 ;;
    esac
}

nothing_left() {
    [ -z "$(left_on_hosts)" ]
}

# For a test that has failed: who it was.
show_left() {
    for _p in $(left_on_hosts | sort -u); do
        echo "# left: $_p $(tr '\0' ' ' <"/proc/$_p/cmdline" 2>/dev/null)"
    done
}

# clean SENTENCE: after a while, nothing of the job lives on any host.
clean() {
    ok "$1" until_true nothing_left
    nothing_left || show_left
}

# ---- jobs that faults hit ----

# start_world COMMAND [OPTION...]: a job of four ranks on the first three hosts, two of them on the second, whose ranks
# have all printed "up", unless the job has ended before. The command is one text.
start_world() {
    _command=$1
    shift
    # shellcheck disable=SC2086  # words
    start on 0 "$HVDRUN" "$@" -np 4 -H "$(slots 1 2 1)" $_command
    for _rank in 0 1 2 3; do until_true is_up_or_has_ended $_rank; done
}

is_up_or_has_ended() {
    grep -Eq "\\[$1\\].*up" "$tmp/out" || job_has_ended
}

# host_lost SENTENCE: the job must end, with host 1 lost.
host_lost() {
    _began=$(date +%s%N)
    finish_job
    echo "# ended after $((($(date +%s%N) - _began) / 1000000)) ms"
    host_was_lost "$1"
}

# host_was_lost SENTENCE: the job has ended so.
host_was_lost() {
    is "$1: the job ends with status 68" 68 "$status"
    like "and the host is named" "^hvdrun: FAILED on $(host 1): " "$tmp/err"
}
