#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation names what exists: files and folders in backquotes, rooms, and in doc/architecture.md the functions of
# each file.
: "${srcdir:=$(dirname "$0")/..}" "${SANITIZERS:=no}"
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/sources.sh"

if [ "$SANITIZERS" != no ]; then
    skip "the documentation names what exists" "nothing of it depends on sanitizers"
    finish
    exit
fi

# spans FILE...: what is in backquotes on one line, each as FILE SPAN. Code blocks of three backquotes are left out.
spans() {
    awk '
        FNR == 1 { inside = 0 }
        /^```/ { inside = !inside }
        inside { next }
        { n = split($0, part, "`"); for (i = 2; i < n; i += 2) print FILENAME, part[i] }
    ' "$@"
}

# is_path SPAN: whether it looks like a file or folder of the tree: a name with an ending that we use, or a path that begins
# with a folder of the tree.
is_path() {
    case $1 in
    '' | [!A-Za-z0-9.]* | *[!A-Za-z0-9._/*+-]* | build/*) return 1 ;;
    */*) [ -e "${1%%/*}" ] || has_ending "$1" ;;
    *) has_ending "$1" ;;
    esac
}

has_ending() {
    case $1 in
    *.[ch] | *.cc | *.md | *.sh | *.mk | *.awk | *.html | *.py | *.tsv | *.txt | *.[1-8]) ;;
    *) return 1 ;;
    esac
}

# exists PATH: as it stands, of any folder if it is a bare name, or as a pattern that some file matches.
exists() {
    case $1 in
    *\**) grep -qE "^$(printf '%s' "$1" | sed 's/\./\\./g; s/\*/[^\/]*/g')(/|\$)" "$tmp/sources" ;;
    */*) [ -e "$1" ] ;;
    *) [ -e "$1" ] || grep -qx ".*/$1" "$tmp/sources" ;;
    esac
}

# missing_paths FILE...: those that are named and do not exist.
missing_paths() {
    spans "$@" | sort -u | while read -r file span; do
        ! is_path "$span" || exists "$span" || echo "$file: $span"
    done
}

# missing_functions FILE: rows of its tables whose file does not have a function of the row.
missing_functions() {
    sed -nE 's/^\|[^|]*\| `([^`|]+\.[ch])` \| (.*) \|$/\1 \2/p' "$1" | while read -r file functions; do
        for function in $(printf '%s' "$functions" | tr -d '`,'); do
            grep -qsE "^[a-z].*[ *]${function%??}\\(" "$file" || echo "$file: $function"
        done
    done
}

# rooms: folders with C files.
rooms() {
    grep -E '^(src|launcher|rendezvous|lib)/.*\.c$' "$tmp/sources" | sed 's|/[^/]*$||' | sort -u
}

# missing_rooms FILE: those that it does not name in backquotes.
missing_rooms() {
    rooms | while read -r room; do
        grep -qF "\`$room\`" "$1" || echo "$room"
    done
}

# unused_words FILE: private words of its last table that the code does not use.
unused_words() {
    sed -nE '/^## Words/,$s/^\| `([a-z_]+)` \|.*/\1/p' "$1" | while read -r word; do
        grep -rqiE "(^|[^a-z])$word([^a-z]|\$)" src launcher rendezvous lib || echo "$word"
    done
}

# What is found, in a tree of two files
mkdir -p "$tmp/tree/lib/base"
printf '%s\n' 'int wire_put(void)' '{' '    return wire_get();' '}' >"$tmp/tree/lib/base/wire.c"
cat >"$tmp/tree/page.md" <<'END'
`lib/base/wire.c`, `wire.c`, `lib/base`, `lib/base/`, `lib/*/*.c`; `lib/base/gone.c`, `gone.h`, `lib/gone`, `lib/g*.c`
`/v1/jobs`, `HVD_KEY`, `build/lib/gone.c`, `bench run.c`, `and/or`, `hvd_init()`
```
`lib/in/a/code/block.c`
```
## Words
| `wire` |
| `rope` |
| it puts | `lib/base/wire.c` | `wire_put()`, `wire_get()`, `wire_find()` |
END
(cd "$tmp/tree" && find lib page.md -type f) >"$tmp/sources"
found() { (cd "$tmp/tree" && "$@" | sed 's/.*: //' | xargs); }
is "a file, folder or pattern that does not exist is found, and nothing else" \
    'gone.h lib/base/gone.c lib/g*.c lib/gone' "$(found missing_paths page.md)"
is "a function that the file of its row does not define is found" 'wire_get() wire_find()' \
    "$(found missing_functions page.md)"

is "a private word that is not used is found" rope "$(cd "$tmp/tree" && mkdir src launcher rendezvous && unused_words page.md)"

# The documentation
in_sources sources >"$tmp/sources"
pages=$(in_sources find doc README.md CONTRIBUTING.md -name '*.md' | sort)
for page in $pages; do
    is "$page names files and folders that exist" '' "$(in_sources missing_paths "$page")"
done
is "doc/architecture.md names functions where they are" '' "$(in_sources missing_functions doc/architecture.md)"
ok "doc/architecture.md has tables of functions" [ "$(in_sources grep -c '^| .* | `.*\.c` | ' doc/architecture.md)" -gt 50 ]
ok "the tree has rooms" [ "$(rooms | wc -l)" -gt 30 ]
is "doc/glossary.md explains words that are in use" '' "$(in_sources unused_words doc/glossary.md)"
is "doc/architecture.md names each room" '' "$(in_sources missing_rooms doc/architecture.md)"
finish
