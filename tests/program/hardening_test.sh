#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the programs and the library are protected, as readelf sees what is installed. What configure did not find here
# ($HARDENING names what it found) is left out by name.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "hardening" "sanitizers do without"
    finish
    exit 0
fi
if ! command -v readelf >/dev/null; then
    skip "hardening" "no readelf"
    finish
    exit 0
fi

# has NAME: whether configure found it
has() {
    case " $HARDENING " in *" $1 "*) ;; *) return 1 ;; esac
}

# expect SENTENCE NAME COMMAND...: must succeed if configure found NAME.
expect() {
    _sentence=$1 _name=$2
    shift 2
    if has "$_name"; then
        ok "$_sentence" "$@"
    else
        skip "$_sentence" "this compiler has no $_name"
    fi
}

# dynamic FILE PATTERN: some entry of its dynamic section matches; header and symbol alike.
position_independence() {
    if header "$1" INTERP || [ "$1" = "$library" ]; then echo position-independent; else echo static-pie; fi
}
dynamic() { readelf -dW "$1" | grep -Eq "$2"; }
header() { readelf -hlW "$1" | grep -Eq "$2"; }
symbol() { readelf -sW "$1" | grep -Eq " $2(@|\$)"; }
code() { objdump -d "$1" | grep -Eq "$2"; }

library=$(readlink -f "$STAGE$LIBDIR/libhvd.so")
programs=
if [ -x "$HVDRUN" ]; then
    programs="$HVDRUN $HVDRENDEZVOUSD $HVDAGENT $STAGE$AGENTDIR/hvdssh $STAGE$AGENTDIR/hvd-cuda-info"
fi
for file in "$library" $programs $([ ! -x "$HVD_BANDWIDTH" ] || echo "$HVD_BANDWIDTH"); do
    name=${file##*/}
    expect "$name can be loaded at any address" "$(position_independence "$file")" header "$file" 'Type: +DYN'
    ok "$name has a stack that is not executed" header "$file" 'GNU_STACK .* RW '
    ok "$name has no segment that is written and executed" not header "$file" 'LOAD .* RWE '
    ok "$name needs no relocation of its code" not dynamic "$file" 'TEXTREL'
    ok "$name names no directory of the build" not dynamic "$file" "R(UN)?PATH.*($builddir|$srcdir)"
    expect "$name has its relocations read-only" relro header "$file" 'GNU_RELRO'
    if header "$file" INTERP || [ "$file" = "$library" ]; then
        expect "and all of them before it starts" now dynamic "$file" 'BIND_NOW|Flags: .*NOW'
    fi
    expect "$name guards its stack" stack-protector symbol "$file" '__stack_chk_fail'
    case $name in
    hvd-bandwidth) ;; # writes no text of foreign length
    *) expect "$name checks the bounds of what it copies" fortify symbol "$file" '__[a-z]*_chk' ;;
    esac
done
ok "libhvd stays where it is once it was loaded" dynamic "$library" 'Flags:.*NODELETE'
expect "libhvd marks where it may be jumped to" control-flow code "$library" 'endbr(32|64)'
if [ "$(uname -m)" = x86_64 ] && [ -x "$HVDRUN" ]; then
    expect "hvdrun touches each page of a large stack frame" stack-clash code "$HVDRUN" 'orq +\$0x0,(0x[0-9a-f]+)?\(%rsp\)'
else
    skip "hvdrun touches each page of a large stack frame" "known by its instructions on x86-64 only"
fi
finish
