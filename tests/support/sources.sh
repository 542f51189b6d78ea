# SPDX-License-Identifier: Apache-2.0
# For tests that read the source tree itself, which source it after tests/tap.sh.
# shellcheck shell=sh

# sources: the files of the tree, one on each line: those that git knows or does not ignore; without git, as in a release,
# all but what the Autotools and builds have left.
sources() {
    {
        { [ -e .git ] && git ls-files --cached --others --exclude-standard 2>/dev/null; } ||
            find . -type d \( -name 'build' -o -name 'build-*' ! -name build-aux -o -name autom4te.cache -o -name .git \
                -o -name .deps -o -name .libs \) -prune -o -type f -print | sed 's,^\./,,' |
            grep -vE '^(build-aux/.*|m4/.*|aclocal\.m4|config\.[^/]*|configure~?|stamp-h1|Makefile(\.in)?|libtool)$'
    } | while read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done | sort -u
}

# in_sources COMMAND...: in the top directory of the tree.
in_sources() (
    cd "$srcdir" && "$@"
)
