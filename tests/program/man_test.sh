#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual says what there is: options, functions, statuses and variables, each of them and no other.
. "$srcdir/tests/tap.sh"

pages=$srcdir/man
installed=$STAGE$MANDIR
header=$srcdir/lib/hvd.h
headers=$(echo "$srcdir"/lib/hvd*.h)

# same SENTENCE FILE FILE: two lists of words are the same, whatever their order.
same() {
    sort -u "$2" >"$tmp/left"
    sort -u "$3" >"$tmp/right"
    diff "$tmp/left" "$tmp/right" >"$tmp/out"
    ok "$1" [ ! -s "$tmp/out" ]
}

# each SENTENCE FUNCTION LIST: the function succeeds for every line of the list, which is not empty.
each() {
    : >"$tmp/out"
    while read -r line; do
        "$2" "$line" || echo "missing: $line" >>"$tmp/out"
    done <"$3"
    [ -s "$3" ] || echo "nothing to look for" >>"$tmp/out"
    ok "$1" [ ! -s "$tmp/out" ]
}

# The names in "enum $1 { ... }" of a file.
enum_names() {
    sed 's,/\*.*,,' "$2" | tr '\n' ' ' | sed "s/.*enum $1 {\([^}]*\)}.*/\1/" | grep -o '[A-Z][A-Z0-9_]*'
}

# The prototypes of a header, or of the synopsis of a page, one in each line, without blanks.
header_prototypes() {
    cat "$@" | awk '/^HVD_API/ { call = ""; on = 1 }
        on { call = call $0 }
        on && /;/ { sub(/HVD_API/, "", call); sub(/;.*/, "", call); print call; on = 0 }' | tr -d ' '
}
page_prototypes() {
    sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$@" | awk '
        /^\.Ft/ { sub(/^\.Ft /, ""); type = $0 }
        /^\.Fn/ { print type $2 "(" $3 ")" }
        /^\.Fo/ { call = type $2 "("; comma = "" }
        /^\.Fa/ { sub(/^\.Fa /, ""); gsub(/"/, ""); call = call comma $0; comma = "," }
        /^\.Fc/ { print call ")" }' | tr -d ' '
}

has_installed_page() { [ -s "$installed/man3/$1.3" ]; }
has_linked_page() { grep -q "^\.so man3/[a-z_]*\.3\$" "$1" && [ -s "$installed/$(sed 's/^\.so //' "$1")" ]; }
is_named_by_its_page() {
    page=$pages/$1.3
    read -r so target <"$page"
    [ "$so" != .so ] || page=$pages/${target#man3/}
    grep -q "^\.Nm $1\( ,\)\{0,1\}\$" "$page"
}
status_is_in_hvd3() { grep -q "^\.It Dv $1\( \|\$\)" "$pages/hvd.3"; }
variable_is_in_page() { grep -q "^\.It Ev \([A-Z_]* , \)*$1\( \|\$\)" "$pages/hvd_environment.7"; }
exit_status_is_in_page() { grep -q "^\.It $1\( \|\$\)" "$pages/hvdrun.1"; }

# "--name VALUE" for each option of --help on stdin with a default that is one word.
help_defaults() {
    awk '/^  -/ { if (line) print line; line = $0; next }
        /^          / { sub(/^ */, " "); line = line $0; next }
        { if (line) print line; line = "" }' |
        sed -n 's/^  \(-[^ ,]*\).*default: \([$][A-Z_]*, else \)\{0,1\}\([^ ]*\))$/\1 \3/p' | grep -v '[$]'
}

# The words of the item in PAGE that begins with the option NAME, and VALUE among them.
page_has_default() {
    awk -v name="${1%% *}" -v value="${1#* }" '
        /^\.It / || /^\.El/ { on = 0
            for (i = 2; i < NF; i++) if ($i == "Fl" && "-" $(i + 1) == name) on = 1 }
        on && !/^\.It / { for (i = 1; i <= NF; i++) { word = $i; sub(/[.,;:]$/, "", word)
            if (word == value) found = 1 } }
        END { exit !found }' "$page"
}

# How they are written
if [ "${MANDOC:-no}" = no ]; then
    skip "every page is clean mdoc" "mandoc is not installed"
else
    grep -L '^\.so ' "$pages"/*.[1378] | xargs "$MANDOC" -T lint -W warning >"$tmp/out" 2>&1
    ok "every page is clean mdoc" [ ! -s "$tmp/out" ]
fi
grep -l '^\.so ' "$pages"/*.3 >"$tmp/links"
each "every link leads to a page that is installed" has_linked_page "$tmp/links"
for page in "$pages"/*.[1378]; do
    grep -q "man/${page##*/}" "$srcdir/man/local.mk" || echo "${page##*/}"
done >"$tmp/out"
ok "every page is in man/local.mk" [ ! -s "$tmp/out" ]

# hvd(3)
# shellcheck disable=SC2086  # headers is a list
header_prototypes $headers >"$tmp/prototypes"
page_prototypes "$pages"/hvd_*.3 >"$tmp/synopses"
same "the synopses are the prototypes of the headers" "$tmp/prototypes" "$tmp/synopses"
sed 's/(.*//; s/.*\(hvd_\)/\1/' "$tmp/prototypes" >"$tmp/functions"
each "every function has a page that is installed" has_installed_page "$tmp/functions"
each "and that has its name" is_named_by_its_page "$tmp/functions"
for file in $headers; do
    name=${file##*/}
    echo "${name%.h}"
done >"$tmp/header_names"
each "so has every public header" has_installed_page "$tmp/header_names"
enum_names hvd_status "$header" | grep -v '^HVD_OK$' >"$tmp/statuses"
each "every status is explained in hvd(3)" status_is_in_hvd3 "$tmp/statuses"
grep -ho 'HVD_ERR_[A-Z_]*\|HVD_HOSTS_UPDATED' "$pages"/*.[1378] >"$tmp/mentioned"
same "and no other is mentioned anywhere" "$tmp/statuses" "$tmp/mentioned"
{ enum_names hvd_dtype "$header" && enum_names hvd_op "$header"; } >"$tmp/values"
is_in_allreduce() { grep -q "^\.\(It \)\{0,1\}Dv \([A-Z0-9_]* , \)*$1\b" "$pages/hvd_allreduce.3"; }
each "every element type and operation is in hvd_allreduce(3)" is_in_allreduce "$tmp/values"

struct_members() {
    cat "$@" | sed 's,/\*.*,,' | awk '/^struct hvd_[a-z_]* {/ { on = 1; next }
        /^}/ { on = 0 }
        on && /^    [^ ].*;/ { sub(/;.*/, ""); sub(/\)\(.*/, ""); sub(/.*[ *]/, ""); print }'
}
# shellcheck disable=SC2086  # headers is a list
struct_members $headers >"$tmp/members"
is_in_a_page() { grep -qE "^ .*[ *]$1(;|\)\()|^\.It (Fa|Va) .*$1" "$pages"/hvd_*.3; }
each "every member of a structure is in a page" is_in_a_page "$tmp/members"

# What begins with this line in a page is a piece of C that stands alone.
awk -v dir="$tmp" '/^#include <hvd(_[a-z]+)?\.h>/ && !on { on = 1; file = dir "/example" ++n ".c"
                                                printf "#line %d \"%s\"\n", FNR, FILENAME >file }
    /^\.Ed/ { on = 0 }
    on { gsub(/\\e/, "\\"); print >file }' "$pages"/*.3
ls "$tmp"/example*.c >"$tmp/examples"
compiles() {
    # shellcheck disable=SC2086  # CC may have options
    ${CC:-cc} -Wall -Wextra -Werror -I "$STAGE$INCLUDEDIR" -fsyntax-only "$1" 2>>"$tmp/out"
}
each "every example in a page compiles" compiles "$tmp/examples"

# hvd_environment(7)
sed -n 's/^#define ENV_[A-Z_]* "\(.*\)"/\1/p' "$srcdir/lib/base/env_names.h" >"$tmp/variables"
each "every variable is in hvd_environment(7)" variable_is_in_page "$tmp/variables"
ok "which is installed" [ -s "$installed/man7/hvd_environment.7" ]

# hvdrun(1)
sed -n 's/^ *STATUS_[A-Z_]* = \([0-9]*\).*/\1/p' "$srcdir/launcher/base/exit_status.h" >"$tmp/numbers"
each "every exit status is in hvdrun(1)" exit_status_is_in_page "$tmp/numbers"
if [ -x "$HVDRUN" ]; then
    ok "hvdrun(1) is installed" [ -s "$installed/man1/hvdrun.1" ]
    "$HVDRUN" --help | sed -n 's/^  \(-.*\)/\1/p' | tr -s ', ' '\n' | grep '^-' >"$tmp/options"
    awk '/^\.It Fl/ { for (i = 2; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }' "$pages/hvdrun.1" \
        >"$tmp/documented"
    same "the options in hvdrun(1) are those of --help" "$tmp/options" "$tmp/documented"
    page=$pages/hvdrun.1
    "$HVDRUN" --help | help_defaults >"$tmp/defaults"
    each "the defaults of --help are in hvdrun(1)" page_has_default "$tmp/defaults"
    "$HVDRUN" -np 7 -H h1:2,h2:4,h3:1 --dry-run ./train >"$tmp/table"
    grep -A 7 '^ rank  host' "$pages/hvdrun.1" >"$tmp/shown"
    ok "the example of placement in hvdrun(1) is what --dry-run prints" cmp "$tmp/table" "$tmp/shown"

    # hvdrendezvousd(8)
    ok "hvdrendezvousd(8) is installed" [ -s "$installed/man8/hvdrendezvousd.8" ]
    "$HVDRENDEZVOUSD" --help | sed -n 's/^  \(-.*\)/\1/p' | tr -s ', ' '\n' | grep '^-' >"$tmp/options"
    awk '/^\.It Fl/ { for (i = 2; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }' "$pages/hvdrendezvousd.8" \
        >"$tmp/documented"
    same "the options in hvdrendezvousd(8) are those of --help" "$tmp/options" "$tmp/documented"
    page=$pages/hvdrendezvousd.8
    "$HVDRENDEZVOUSD" --help | help_defaults >"$tmp/defaults"
    each "the defaults of --help are in hvdrendezvousd(8)" page_has_default "$tmp/defaults"

    # hvd-bandwidth(1)
    ok "hvd-bandwidth(1) is installed" [ -s "$installed/man1/hvd-bandwidth.1" ]
    LD_LIBRARY_PATH=$STAGE$LIBDIR "$HVD_BANDWIDTH" --help | sed -n 's/^  \(-.*\)/\1/p' | tr -s ', ' '\n' | grep '^-' \
        >"$tmp/options"
    awk '/^\.It Fl/ { for (i = 2; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }' "$pages/hvd-bandwidth.1" \
        >"$tmp/documented"
    same "the options in hvd-bandwidth(1) are those of --help" "$tmp/options" "$tmp/documented"

    # hvd-tune(1)
    "$HVD_TEST_TUNE" --help | sed -n 's/^  \(-.*\)/\1/p' | tr -s ', ' '\n' | grep '^-.' >"$tmp/options"
    awk '/^\.It Fl/ { for (i = 2; i < NF; i++) if ($i == "Fl") print "-" $(i + 1) }' "$pages/hvd-tune.1" \
        >"$tmp/documented"
    same "the options in hvd-tune(1) are those of --help" "$tmp/options" "$tmp/documented"
else
    skip "hvdrun(1) is installed" "no hvdrun"
    skip "the options in hvdrun(1) are those of --help" "no hvdrun"
    skip "the defaults of --help are in hvdrun(1)" "no hvdrun"
    skip "the example of placement in hvdrun(1) is what --dry-run prints" "no hvdrun"
    skip "hvdrendezvousd(8) is installed" "no hvdrun"
    skip "the options in hvdrendezvousd(8) are those of --help" "no hvdrun"
    skip "the defaults of --help are in hvdrendezvousd(8)" "no hvdrun"
    skip "hvd-bandwidth(1) is installed" "no hvdrun"
    skip "the options in hvd-bandwidth(1) are those of --help" "no hvdrun"
    skip "the options in hvd-tune(1) are those of --help" "no hvdrun"
fi
finish
