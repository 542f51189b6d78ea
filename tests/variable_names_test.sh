#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The names of our variables: lib/base/unknown_variable.c has each that the product or a script of the tree reads, so that no
# warning is given for it, and the manual describes each that the product reads.
: "${srcdir:=$(dirname "$0")/..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

if [ "$SANITIZERS" != no ]; then
    skip "names of variables" "nothing of them depends on sanitizers"
    finish
    exit
fi

table=lib/base/unknown_variable.c

# read_in FILE...: the names that are texts of their own, or values of the shell.
read_in() {
    {
        grep -ohE "[\"'](HVD|HOROVOD)_[A-Z0-9_]*[\"']" "$@"
        grep -ohE '\$\{?(HVD|HOROVOD)_[A-Z0-9_]+' "$@"
    } | tr -d "\"'\${" | grep -vxE 'HVD_(|OK|ERR_.*|TEST_.*|NO_SUCH.*|ENCRPYT)|HOROVOD_' | sort -u
}

# The constants of env_names.h are replaced by what they stand for.
in_sources sed -nE 's/^#define (ENV_[A-Z_]+) "([A-Z_]+)"$/s,^\1$,\2,/p' lib/base/env_names.h >"$tmp/constants"

# table_of NAME: the names in this table of $table.
table_of() {
    sed -nE "/ $1\[\] = \{/,/^};/s/^    \"?([A-Z0-9_]*)\"?,( .*)?\$/\1/p" "$table" | sed -f "$tmp/constants"
}

set_by_hvdrun() {
    sed -n '/^#define ENV_SET_BY_HVDRUN/,/[^\\]$/p' lib/base/env_names.h | sed 1d | grep -oE 'ENV_[A-Z_]+' | sed -f "$tmp/constants"
}

own_tables() { table_of in_use && set_by_hvdrun; }

product() { sources | grep -E '^(lib|launcher|rendezvous|src|python)/' | grep -vxF "$table"; }

is_known() { # of the names in the input, those that no table has
    { own_tables && table_of of_others; } | sort -u >"$tmp/tables"
    grep -vxF -f "$tmp/tables"
}

# How names are found
cat >"$tmp/sample" <<'EOF'
getenv("HVD_SAMPLE"); os.environ.get('HVD_OTHER'); "a HVD_WORD"; return HVD_OK;
env HVD_SET=1 $HVD_VALUE ${HVD_CHOICE:-1} HOROVOD_RANK
EOF
is "names are found in C, in Python and in the shell" 'HVD_CHOICE HVD_OTHER HVD_SAMPLE HVD_VALUE' "$(read_in "$tmp/sample" | xargs)"

in_sources product >"$tmp/files"
in_sources xargs -a "$tmp/files" cat >"$tmp/product"
read_in "$tmp/product" >"$tmp/names"
in_sources own_tables | sort >"$tmp/in_use"
ok "names are found in the product" [ "$(wc -l <"$tmp/names")" -gt 50 ]
ok "the table is found" [ "$(wc -l <"$tmp/in_use")" -gt 50 ]
is "no name is there twice" '' "$(uniq -d "$tmp/in_use")"
is "the table has constants of env_names.h that exist" '' "$(grep '^ENV_' "$tmp/in_use")"
ok "the list of variables that hvdrun sets is found" [ "$(in_sources set_by_hvdrun | wc -l)" -gt 15 ]
is "no variable that hvdrun sets may be suggested" '' "$(in_sources set_by_hvdrun >"$tmp/set" && in_sources table_of in_use | grep -xF -f "$tmp/set")"
is "each variable that the product reads is in the table" '' "$(in_sources is_known <"$tmp/names")"

in_sources sources | grep -E '^(bench|packaging|tests|\.ci)/.*' | grep -vE '^tests/(unit|fuzz)/|^tests/variable_names_test.sh$|_fixture' >"$tmp/files"
in_sources xargs -a "$tmp/files" cat >"$tmp/others"
is "each variable that tests and scripts read is in a table" '' \
    "$(read_in "$tmp/others" | in_sources is_known)"

cat "$srcdir"/man/*.[1-8] | sed 's/\\-/-/g' | grep -oE '(HVD|HOROVOD)_[A-Z0-9_]+' | sort -u >"$tmp/manual"
is "the manual has each variable that is in use" '' "$(grep -vxF -f "$tmp/manual" "$tmp/in_use")"
sed -n 's/\\-/-/g; s/^\.\(It \)\{0,1\}Ev //p' "$srcdir"/man/*.[1-8] | grep -oE '\b(HVD|HOROVOD)_[A-Z0-9_]+' | sort -u >"$tmp/variables"
is "and no other with such a name" '' "$(in_sources is_known <"$tmp/variables")"
finish
