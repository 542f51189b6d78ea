#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point down only, and each names its layer. The arrows are those of README.md, "Where things are".
. "$srcdir/tests/tap.sh"

# may LAYER ALLOWED: files of a layer include, in quotes, only what the extended pattern allows.
may() {
    # shellcheck disable=SC2086  # more words for find
    bad=$(cd "$srcdir" && find "$1" ${3-} -name '*.[ch]' -exec grep -HoE '^ *# *include +"[^"]+"' {} + |
        sed 's/: *# *include */ /; s/"//g' | grep -vE " ($2)")
    ok "$1 includes only what is below it" [ -z "$bad" ]
    [ -z "$bad" ] || printf '%s\n' "$bad" | sed 's/^/# /'
}

may lib/base 'lib/base/|lib/hvd\.h$'
may lib/link 'lib/link/|lib/memory/|lib/base/'
may lib/memory 'lib/memory/|lib/base/'
may lib/reduce 'lib/reduce/|lib/base/cpu_pause\.h$|lib/base/quiet_thread\.h$|lib/hvd\.h$'
may lib/join 'lib/join/|lib/link/|lib/base/|lib/hvd\.h$'
may lib/collective 'lib/collective/|lib/reduce/|lib/base/|lib/hvd\.h$'
may lib/negotiation 'lib/negotiation/|lib/collective/|lib/reduce/|lib/base/|lib/hvd\.h$'
may lib/request 'lib/(request|negotiation|device|reduce|base)/|lib/hvd\.h$'
may lib/stall 'lib/(stall|negotiation|base)/|lib/hvd\.h$'
may lib/autotune 'lib/(autotune|collective|base)/'
may lib/timeline 'lib/(timeline|base)/'
may lib/engine 'lib/(engine|stall|autotune|timeline|request|negotiation|collective|device|reduce|join|link|memory|base)/|lib/hvd\.h$'
may lib/device 'lib/device/|lib/base/|lib/hvd(_device)?\.h$'
may lib/training 'lib/(training|device|base|reduce)/|lib/process\.h$|lib/hvd(_[a-z]+)?\.h$'
may lib 'lib/(engine|request|autotune|collective|device|join|link|memory|reduce|base)/|lib/(world|process)\.h$|(lib/)?hvd(_[a-z]+)?\.h$' '-maxdepth 1'
may launcher 'launcher/|lib/base/|lib/hvd\.h$'
may rendezvous 'rendezvous/|lib/base/|lib/hvd\.h$'
may src 'src/|launcher/|rendezvous/|lib/base/|lib/hvd\.h$'
may examples 'examples/|hvd(_[a-z]+)?\.h$'

guests=$(cd "$srcdir" && grep -lE '^ *# *include +<(uv|libssh2|cjson|yaml|hwloc)' -r lib examples)
is "a training process loads none of the programs' libraries" '' "$guests"
named=$(cd "$srcdir" && grep -lE '\b(malloc|calloc|realloc|strdup)\(' launcher/*.c src/*.c | grep -v xalloc.c)
is "the programs ask for memory through xalloc.h" '' "$named"
finish
