#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tests/coverage.sh counts, seen on a tree of four small files. "make coverage" itself takes as long as all tests.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ] || ! command -v gcov >/dev/null || ! "$CC" --version | grep -q 'Free Software'; then
    skip "coverage" "it wants gcov, GCC and a build without sanitizers"
    finish
    exit
fi
mkdir -p "$tmp/tree/lib/engine" "$tmp/tree/src" "$tmp/tree/tests/lib" "$tmp/build/lib" "$tmp/build/tests"
cat >"$tmp/tree/lib/engine/two.c" <<'.'
int two(int x);
int two(int x)
{
    if (x > 1)
        return 2;
    return 3;
}
.
cat >"$tmp/tree/src/one.c" <<'.'
int one(int x);
int one(int x)
{
    return x;
}
int never(int x);
int never(int x)
{
    return x;
}
.
cat >"$tmp/tree/lib/unused.c" <<'.'
int unused(void);
int unused(void)
{
    return 1;
}
.
cat >"$tmp/tree/tests/lib/main.c" <<'.'
int one(int x);
int two(int x);
int main(int argc, char **argv)
{
    (void)argv;
    return one(two(argc)) != 3;
}
.
# As the build does it: from another directory, one file in two objects.
cd "$tmp/build" || exit 99
for object in lib/two:lib/engine/two lib/again:lib/engine/two lib/one:src/one lib/unused:lib/unused tests/main:tests/lib/main; do
    "$CC" -O0 --coverage -c "$tmp/tree/${object#*:}.c" -o "${object%:*}.o"
done
"$CC" --coverage lib/two.o lib/one.o tests/main.o -o main && ./main
"$CC" --coverage -Dmain=other lib/again.o lib/one.o tests/main.o -o other && ./other more >/dev/null
run sh "$srcdir/tests/coverage.sh" --report "$tmp/build" "$tmp/tree"
is "it reports" 0 "$status"
sed -i 's/  *%/%/g' "$tmp/out"
is "each room has a line, with what is reached, also of files that nothing has run" "lib 2 0.0% 0 100.0%|lib/engine 4 100.0% 2 100.0%|src 4 50.0% 0 100.0%" \
    "$(sed -n 's/  */ /g; /^lib\|^src/p' "$tmp/out" | paste -sd '|')"
is "tests are no room, and all rooms have a sum" "together 10 60.0% 2 100.0%" "$(sed -n 's/  */ /g; /^tests\|^tog/p' "$tmp/out")"
finish
