#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong on hvdrendezvousd's command line: each row of tests/bad/hvdrendezvousd.tsv ends with the row's status, says so in one
# short line and leaves nothing behind.
#
# Columns, between single tabs, "-" for none: id, variable, arguments (as a shell reads them), exit status, part of the line on stderr.
srcdir=$(cd "${srcdir:-.}" && pwd)
HVDRENDEZVOUSD=$(cd "$(dirname "$HVDRENDEZVOUSD")" && pwd)/${HVDRENDEZVOUSD##*/}
. "$srcdir/tests/tap.sh"
unset HOROVOD_START_TIMEOUT NOTIFY_SOCKET CREDENTIALS_DIRECTORY

# For the table's arguments
repeat() { # CHARACTER COUNT
    printf "%$2s" '' | tr ' ' "$1"
}

# Files that rows name.
make_files() {
    printf '%064x\n' 1 >key
    printf '%064x\n' 1 >open
    : >empty
    printf '%064x%064x\n' 1 1 >long
    printf '%063x\n' 1 >short
    chmod 600 key empty long short
    chmod 644 open
    ln -s open link
    mkdir folder
}

complain() {
    printf '# %s\n' "$*"
    return 1
}

# The last run ended as it must: one printable line of at most 300 bytes, nothing else.
refused() { # STATUS PATTERN
    [ "$status" -eq "$1" ] || complain "status $status, not $1" || return
    [ ! -s "$tmp/out" ] || complain "something on stdout" || return
    [ "$(wc -l <"$tmp/err")" -eq 1 ] || complain "not one line on stderr" || return
    [ "$(wc -c <"$tmp/err")" -le 300 ] || complain "$(wc -c <"$tmp/err") bytes on stderr" || return
    ! LC_ALL=C grep -q '[^ -~]' "$tmp/err" || complain "bytes that cannot be printed" || return
    grep -q '^hvdrendezvousd: error: ' "$tmp/err" || complain "another beginning" || return
    grep -qF -e "$2" "$tmp/err" || complain "another text" || return
    [ "$(find . | sort | tr '\n' ' ')" = "$files" ] || complain "other files than before"
}

while IFS='	' read -r id variable arguments expected pattern; do
    case $id in '#'*) continue ;; esac
    mkdir "$tmp/row" && cd "$tmp/row" || exit 99
    make_files
    files=$(find . | sort | tr '\n' ' ')
    [ "$variable" = - ] && variable=NOTHING=
    [ "$arguments" = - ] && arguments=
    : >"$tmp/out"
    status=0
    eval "timeout 20 env \"\$variable\" \"\$HVDRENDEZVOUSD\" $arguments" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    ok "$id: $pattern" refused "$expected" "$pattern"
    cd "$tmp" && rm -r row
done <"$srcdir/tests/bad/hvdrendezvousd.tsv"
ok "the table was read" [ "$tests" -gt 60 ]
finish
