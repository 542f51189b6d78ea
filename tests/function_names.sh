#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A function's name says where it is: a backtrace, a profile and a breakpoint show nothing else. So no name of a function,
# static ones included, is defined in more than two files of the product. Run by hand from anywhere, it lists the names:
#
#   tests/function_names.sh
#
# clang-format puts the name of a function into a line that begins at the left margin, and its brace alone into a later one.
# That is how definitions are found, without a compiler; a function that a macro defines is not seen.
: "${srcdir:=$(dirname "$0")/..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "names of functions" "nothing of them depends on sanitizers"
    finish
    exit
fi

# Names that several files may share, with the reason.
excepted() {
    grep -vE \
        -e '^main ' # one for each program
}

# definitions FILE...: the name of each function that is defined, and the file.
definitions() {
    awk '
        FNR == 1 { head = "" }
        /^[A-Za-z_]/ { head = $0; next }
        /^[ \t]/ { if (head != "") head = head " " $0; next }
        /^\{[ \t]*$/ && head !~ /[;=]/ && name_in(head) != "" { print name_in(head), FILENAME }
        { head = "" }

        # The word before the first parenthesis, or in it where a pointer to a function is returned.
        function name_in(text) {
            gsub(/__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/, "", text)
            if (!match(text, /[A-Za-z_][A-Za-z_0-9]* *\([^*]/) && !match(text, /[A-Za-z_][A-Za-z_0-9]* *\(/))
                return ""
            text = substr(text, RSTART, RLENGTH)
            sub(/ *\(.*/, "", text)
            return text
        }' "$@"
}

# in_more_than LIMIT: of lines "name file", those whose name is in more files, a line for each name.
in_more_than() {
    sort -u | awk -v limit="$1" '
        { files[$1] = files[$1] " " $2; count[$1]++ }
        END { for (name in count) if (count[name] > limit) print count[name], name ":" files[name] }' | sort -k1,1nr -k2
}

product() { (cd "$srcdir" && find src launcher rendezvous lib -name '*.[ch]' | sort); }

# What is found, in a file of its own
cat >"$tmp/sample.c" <<'.'
#define MACRO(x) f(x)
struct row {
    int (*call)(int);
};
static const struct row table[] = {
    { plain },
};
int declared(int x);
static int plain(int x)
{
    return called(x);
}
struct row *returns_a_pointer(void)
{
    if (x) {
    }
}
static int
on_its_own_line(int x,
                int y)
{
}
__attribute__((format(printf, 1, 2))) static void with_attribute(const char *format, ...)
{
}
static void (*returns_a_function(int x))(int)
{
}
static inline bool takes_a_function(int (*call)(int), void *arg)
{
}
enum values
{
    VALUE,
};
.
is "definitions are found, and neither calls nor declarations" \
    'plain returns_a_pointer on_its_own_line with_attribute returns_a_function takes_a_function ' \
    "$(definitions "$tmp/sample.c" | cut -d' ' -f1 | tr '\n' ' ')"
is "a name in three files is found, in two it may be" '3 take: a b c' \
    "$(printf '%s\n' 'take a' 'take b' 'take c' 'take c' 'add a' 'add b' | in_more_than 2)"

# shellcheck disable=SC2046  # no blank in the name of a file
(cd "$srcdir" && definitions $(product)) >"$tmp/definitions"
ok "functions of the product are found" [ "$(wc -l <"$tmp/definitions")" -gt 1000 ]
excepted <"$tmp/definitions" | in_more_than 2 >"$tmp/out"
ok "no name of a function is defined in more than two files" [ ! -s "$tmp/out" ]
[ ! -s "$tmp/out" ] || sed 's/^/# /' "$tmp/out"
finish
