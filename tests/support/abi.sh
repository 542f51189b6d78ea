#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi.sh INCLUDEDIR LIBRARY [FLAG...]: describes what programs that were built before rely on, for lib/libhvd.abi: what
# the library exports, with versions, and of the public headers the prototypes, the sizes of structs, the offset, size and
# text of each member, and the values of enums. The compiler ($CC) says what they are; a line each, sorted.
set -eu
include=$1 library=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm -D --defined-only --with-symbol-versions "$library" |
    awk '$2 != "A" { sub(/@+/, " ", $3); print "symbol", $3 }' >"$work/description"

for header in "$include"/hvd*.h; do
    printf '#include "%s"\n' "$header"
done >"$work/headers.c"

# declarations: of preprocessed text, those that our headers make, a line each.
declarations() {
    awk '
        /^# [0-9]+ "/ { ours = $3 ~ /\/hvd[a-z_]*\.h"$/; next }
        ours { text = text " " $0 }
        END {
            gsub(/__attribute__\(\(visibility\("default"\)\)\)/, "", text)
            for (i = 1; i <= length(text); i++) {
                c = substr(text, i, 1)
                depth += (c == "{") - (c == "}")
                if (c == ";" && depth == 0) {
                    print declaration
                    declaration = ""
                } else
                    declaration = declaration c
            }
        }' | sed -E 's/[[:space:]]+/ /g; s/^ //; s/ $//; s/ ,/,/g; s/\( /(/g; s/ \)/)/g'
}
"$CC" -E -I"$include" "$work/headers.c" | declarations | sort -u >"$work/declarations"

# The rest is printed by a program that is made from the declarations.
awk '
    function quoted(text) { gsub(/%/, "%%", text); gsub(/"/, "\\\"", text); return "\"" text }
    function constant(name) { printf "    printf(\"value %s = %%lld\\n\", (long long)%s);\n", name, name }
    function member(type, text, name) {
        name = text
        if (!sub(/^.*\(\*/, "", name)) {
            sub(/\[.*/, "", name)
            sub(/^.*[ *]/, "", name)
        }
        sub(/[^A-Za-z_0-9].*/, "", name)
        printf "    printf(%s, offset %%zu, size %%zu: %s;\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", \
            quoted("member " type "." name), text, type, name, type, name
    }
    function inside(text) { sub(/^[^{]*\{ */, "", text); sub(/ *\}[^}]*$/, "", text); return text }
    BEGIN { print "int main(void)\n{" }
    /^enum/ {
        count = split(inside($0), parts, / *, */)
        for (i = 1; i <= count; i++)
            if (sub(/[ =].*/, "", parts[i]) || parts[i] != "")
                constant(parts[i])
        next
    }
    /^struct [a-z_]+ \{/ {
        type = "struct " $2
        printf "    printf(\"%s, size %%zu\\n\", sizeof(%s));\n", type, type
        count = split(inside($0), parts, / *; */)
        for (i = 1; i <= count; i++)
            if (parts[i] != "")
                member(type, parts[i])
        next
    }
    { printf "    puts(%s\");\n", quoted((/\(/ && !/^typedef/ ? "call " : "type ") $0) }
    END { print "}" }' "$work/declarations" >"$work/main"
{
    printf '#include <stddef.h>\n#include <stdio.h>\n'
    cat "$work/headers.c" "$work/main"
} >"$work/describe.c"
"$CC" "$@" -I"$include" "$work/describe.c" -o "$work/describe"
"$work/describe" >>"$work/description"
LC_ALL=C sort "$work/description"
