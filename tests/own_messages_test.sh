#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing in the product reads a message of its own: modules, processes and hosts tell each other enums and numbers. This test
# finds code that searches text, compares it with a phrase, or compares a message. Foreign text (files of /proc, key files,
# options, names) may be read; tests/text_readers.txt lists where, with the reason.
: "${srcdir:=$(dirname "$0")/..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

if [ "$SANITIZERS" != no ]; then
    skip "messages" "nothing of this depends on sanitizers"
    finish
    exit
fi

# readers FILE...: prints "FILE FUNCTION WHAT" for each place that reads text like a message. WHAT is
#   search   strstr, strcasestr, sscanf and their like, memmem
#   phrase   a comparison with a literal that contains a blank or ends in one of : ; , . ! ?
#   message  a comparison of an error's text, of words, or of a message
# A statement may be spread over lines: what stands between parentheses is joined first.
readers() {
    awk '
        function note(what) {
            line = FILENAME " " name " " what
            if (!seen[line]++)
                print line
        }
        function look(code) {
            if (code ~ /(^|[^a-z_])(strstr|strcasestr|v?sscanf|memmem|fnmatch|regexec)\(/)
                note("search")
            if (code !~ /(^|[^a-z_])(str(n|case|ncase)?cmp|memcmp|starts_with|begins|text_begins|http_text_is)\(/)
                return
            if (code ~ /(cmp|with|begins|_is)\(([^()"]|\([^()"]*\))*"[^"]* [^"]*"/ ||
                code ~ /(cmp|with|begins|_is)\(([^()"]|\([^()"]*\))*"[^"]*[:;,.!?]"/)
                note("phrase")
            if (code ~ /(cmp|with|begins|_is)\([^)"]*(\.|->)text[,)]/ ||
                code ~ /(cmp|with|begins|_is)\([^)"]*[^a-z_](message|words|outcome|verdict)[,)]/)
                note("message")
        }
        FNR == 1 { name = "-"; code = ""; comment = 0 }
        {
            text = $0
            if (comment) {
                if (text !~ /\*\//)
                    next
                sub(/^.*\*\//, "", text)
                comment = 0
            }
            while (match(text, /\/\*([^*]|\*[^\/])*\*\//))
                text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
            if (text ~ /\/\*/) {
                sub(/\/\*.*/, "", text)
                comment = 1
            }
            if (text ~ /^[A-Za-z_].*[A-Za-z0-9_]\(/ && text !~ /;$/) {
                name = text
                sub(/\(.*/, "", name)
                sub(/^.*[^A-Za-z0-9_]/, "", name)
            }
            code = code " " text
            if (text ~ /[;{}]$/) {
                look(code)
                code = ""
            }
        }' "$@"
}

# How a place is found, in a file of its own
cat >"$tmp/sample.c" <<'END'
/* strstr(text, "in a comment") is nothing */
static bool sample_search(const char *text)
{
    return strstr(text, "left");
}

static bool sample_phrase(const char *text)
{
    return strncmp(text,
                   "waiting for ", 12) == 0;
}

static bool sample_punctuation(const char *text)
{
    return strcmp(text, "connect:") == 0;
}

static bool sample_message(const struct err *err)
{
    return strcmp(err->text, other) == 0;
}

static bool sample_helper(const char *text)
{
    return text_begins(text, "not yet:");
}

static bool sample_member(const struct state *state)
{
    return strcmp(state->verdict.text, "FAILED") == 0;
}

static bool sample_name(const char *name)
{
    return strcmp(name, "eth0") == 0;
}
END
is "code that searches, and that compares with a phrase or a message, is found; a comparison of names is not" \
    "sample_search search;sample_phrase phrase;sample_punctuation phrase;sample_message message;sample_helper phrase;sample_member message;" \
    "$(readers "$tmp/sample.c" | cut -d' ' -f2- | tr '\n' ';')"

product() { sources | grep -E '^(launcher|rendezvous|lib|src)/.*\.[ch]$'; }
in_sources product >"$tmp/files"
ok "the product is read" [ "$(wc -l <"$tmp/files")" -gt 400 ]
# shellcheck disable=SC2046  # a list of files without blanks in their names
in_sources readers $(cat "$tmp/files") | sort >"$tmp/found"
grep -vE '^(#|$)' "$srcdir/tests/text_readers.txt" >"$tmp/table"
is "each row of the table has file, function, kind and a reason" '' "$(awk 'NF < 4' "$tmp/table")"
cut -d' ' -f1-3 "$tmp/table" | sort >"$tmp/allowed"
is "no code reads text that is not listed in tests/text_readers.txt as foreign" '' "$(comm -23 "$tmp/found" "$tmp/allowed")"
is "and all that is listed is there" '' "$(comm -13 "$tmp/found" "$tmp/allowed")"
finish
