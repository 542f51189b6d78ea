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

# The last run ended as it must and has left nothing behind.
refused_alone() { # STATUS PATTERN
    refused hvdrendezvousd "$@" || return
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
    ok "$id: $pattern" refused_alone "$expected" "$pattern"
    cd "$tmp" && rm -r row
done <"$srcdir/tests/bad/hvdrendezvousd.tsv"
ok "the table was read" [ "$tests" -gt 60 ]
finish
