#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which room includes which: a row for each room that has code. A room includes only rooms whose rows stand above its own,
# so there is no circle; doc/architecture.md draws the same arrows.
. "$srcdir/tests/tap.sh"

rooms=
# may ROOM [ROOM|HEADER]...: files that lie in ROOM include, in quotes, only what lies in ROOM or in one of the others.
may() {
    room=$1
    shift
    for below in "$@"; do
        case " $rooms $below" in
        *.h | *" $below "*) ;;
        *) ok "the row of $room names $below, whose row comes first" false ;;
        esac
    done
    rooms="$rooms $room"
    allowed=$(printf '%s/[^/]+\\.h|' "$room" "$@" | sed 's/\.h\/\[^\/]+\\\.h/.h/g; s/|$//')
    bad=$(cd "$srcdir" && grep -HoE '^ *# *include +"[^"]+"' "$room"/*.[ch] | sed 's/: *# *include */ /; s/"//g' |
        grep -vE " ($allowed)\$")
    ok "$room includes only what is below it" [ -z "$bad" ]
    [ -z "$bad" ] || printf '%s\n' "$bad" | sed 's/^/# /'
}

hvd='lib/hvd.h'
may lib/base $hvd
may lib/memory lib/base
may lib/link lib/memory lib/base
may lib/pmi lib/base $hvd

may rendezvous/base lib/base $hvd
may rendezvous/store rendezvous/base lib/base
may rendezvous/join rendezvous/base lib/base
may rendezvous/world rendezvous/store rendezvous/base lib/base

may lib/serve rendezvous/world rendezvous/join rendezvous/base lib/link lib/base
may lib/join lib/serve lib/pmi lib/link lib/base $hvd
may lib/reduce lib/base $hvd
may lib/collective lib/reduce lib/memory lib/base $hvd
may lib/negotiation lib/collective lib/reduce lib/base $hvd
may lib/device lib/base lib/hvd_device.h
may lib/request lib/negotiation lib/device lib/reduce lib/base $hvd
may lib/stall lib/negotiation lib/base $hvd
may lib/timeline lib/base
may lib/autotune lib/collective lib/base
may lib/engine lib/stall lib/timeline lib/autotune lib/negotiation lib/collective lib/reduce lib/device lib/join lib/link \
    lib/memory lib/request lib/base $hvd
may lib lib/engine lib/request lib/autotune lib/collective lib/reduce lib/device lib/join lib/link lib/memory lib/base \
    hvd.h hvd_device.h hvd_optimizer.h hvd_training.h
may lib/cuda lib/base lib/device lib/hvd_device.h $hvd
may lib/training lib/device lib/base lib/reduce lib/process.h $hvd lib/hvd_elastic.h lib/hvd_optimizer.h lib/hvd_training.h

may launcher/base lib/base
may launcher/hosts launcher/base lib/base
may launcher/placement launcher/hosts launcher/base lib/base
may launcher/process launcher/base lib/base
may launcher/protocol launcher/base lib/base
may launcher/output launcher/protocol launcher/base lib/base
may launcher/ssh launcher/process launcher/base lib/base
may launcher/tree launcher/protocol launcher/base lib/base
may launcher/connect launcher/tree launcher/ssh launcher/process launcher/hosts launcher/output launcher/protocol launcher/base lib/base
may launcher/cleanup launcher/process launcher/base lib/base
may launcher/agent launcher/tree launcher/cleanup launcher/protocol launcher/process launcher/placement launcher/base lib/base
may launcher/elastic launcher/process launcher/placement launcher/hosts launcher/base lib/base
may launcher/verdict launcher/placement launcher/base lib/base
may launcher/job launcher/verdict launcher/cleanup launcher/connect launcher/tree launcher/output launcher/protocol launcher/process \
    launcher/placement launcher/base lib/base

may rendezvous/http rendezvous/base lib/base
may rendezvous/api rendezvous/world rendezvous/store rendezvous/http rendezvous/base lib/base \
    rendezvous/api/page/status_html.h
may rendezvous/server rendezvous/api rendezvous/world rendezvous/join rendezvous/http rendezvous/base lib/base
may rendezvous/tcp rendezvous/server lib/base

may src/options launcher/hosts launcher/base lib/base
may src/hvdrun src/options launcher/job launcher/agent launcher/tree launcher/verdict launcher/elastic launcher/cleanup launcher/connect launcher/output launcher/process \
    launcher/placement launcher/protocol launcher/hosts launcher/base rendezvous/tcp rendezvous/server rendezvous/base lib/base
may src/agent launcher/agent launcher/cleanup launcher/placement launcher/base
may src/ssh launcher/ssh launcher/base lib/base
may src/service src/options rendezvous/tcp rendezvous/server launcher/base lib/base
may examples/support hvd.h hvd_device.h hvd_elastic.h hvd_optimizer.h
may src/tools examples/support hvd.h hvd_cuda.h
may python/hvd _hvd.h _handle.h

without=$(cd "$srcdir" && find src launcher rendezvous lib -name '*.c' | sed 's|/[^/]*$||' | sort -u | while read -r room; do
    case " $rooms " in *" $room "*) ;; *) echo "$room" ;; esac
done)
is "each room has a row" '' "$without"

bad=$(cd "$srcdir" && grep -rHoE '^ *# *include +"[^"]+"' examples --include='*.[ch]' | sed 's/: *# *include */ /; s/"//g' |
    grep -vE ' (examples/|hvd(_[a-z]+)?\.h$)')
is "examples include public headers only" '' "$bad"
loads=$(cd "$srcdir" && grep -lE '^ *# *include +<(uv|libssh2|cjson|yaml|hwloc)' -r lib examples src/tools)
is "a training process loads none of the programs' libraries" '' "$loads"
named=$(cd "$srcdir" && grep -lrE '\b(malloc|calloc|realloc|strdup)\(' launcher src/options src/hvdrun src/agent src/service --include='*.c' |
    grep -v xalloc.c)
is "the programs ask for memory through xalloc.h" '' "$named"
finish
