#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program whose shared libraries are missing is found by --check-hosts, and named when a rank ends for it.
. "$srcdir/tests/tap.sh"

cd "$tmp" || exit 99
mkdir lib other
echo 'int answer(void) { return 42; }' >library.c
cat >train.c <<'.'
#include <stdio.h>
int answer(void), reply(void);
int main(void)
{
    FILE *file = fopen("ran", "w");
    return !file || fclose(file) || answer() != 42;
}
.
# build NAME OPTION...: ./NAME needs two libraries that are in lib.
build() {
    _name=$1
    shift
    # shellcheck disable=SC2086  # CC may have options
    $CC train.c -o "$_name" -Llib -Wl,--no-as-needed -lhvd_absent -lhvd_second "$@"
}
# shellcheck disable=SC2086
for name in hvd_absent hvd_second; do
    $CC -shared -fPIC -Wl,-soname,lib$name.so.0 library.c -o lib/lib$name.so
    ln -s lib$name.so lib/lib$name.so.0
done
build train
# shellcheck disable=SC2016
build moved '-Wl,-rpath,$ORIGIN/lib'
mends='not found here: link it with -Wl,-rpath,DIR, give -x LD_LIBRARY_PATH=DIR, or run ldconfig'
unset LD_LIBRARY_PATH
if ldd ./train 2>/dev/null | grep -q 'libhvd_absent.so.0 => not found'; then
    # Looking at hosts
    run "$HVDRUN" --check-hosts -H localhost ./train
    is "--check-hosts fails where a library of the program is missing" 127 "$status"
    like "its step is the command's" '^localhost +- .* FAILED ' "$tmp/out"
    like "the library is named, with what mends it" "^localhost: command './train' needs libhvd_absent.so.0 and 1 more, $mends\$" "$tmp/out"
    run "$HVDRUN" --check-hosts -H localhost -x LD_LIBRARY_PATH="$tmp/lib" ./train
    is "the environment of the ranks counts" 0 "$status"
    run env LD_LIBRARY_PATH="$tmp/lib" "$HVDRUN" --check-hosts -H localhost ./train
    is "hvdrun's, too" 0 "$status"
    run "$HVDRUN" --check-hosts -H localhost ./moved
    is "and an rpath of the program" 0 "$status"
    run "$HVDRUN" --check-hosts -H localhost "$tmp/other/../moved"
    is "under any path" 0 "$status"
    cp train with_more_rights
    chmod u+s with_more_rights
    run "$HVDRUN" --check-hosts -H localhost ./with_more_rights
    is "the loader is not asked about a program with more rights" 0 "$status"
    printf '#!/bin/sh\n./train\n' >script
    chmod +x script
    run "$HVDRUN" --check-hosts -H localhost ./script
    is "a script is not looked into" 0 "$status"
    ok "nothing was started" [ ! -e ran ]

    # Ranks
    run "$HVDRUN" -np 2 ./train
    is "a rank without its library ends with 127" 127 "$status"
    like "the line before the last names the library" "^hvdrun: localhost: rank [01]: './train' needs libhvd_absent.so.0 and 1 more, $mends\$" "$tmp/err"
    is "once" 1 "$(grep -c "$mends" "$tmp/err")"
    like "the last one names the rank" '^hvdrun: FAILED rank [01] on localhost .*: exited with status 127' "$tmp/err"
    run "$HVDRUN" -np 2 --min-np 2 -H localhost:2 ./train
    like "in an elastic job it names the worker, whose rank may change" "^hvdrun: localhost: worker [01]: './train' needs libhvd_absent.so.0 " "$tmp/err"
    run "$HVDRUN" -np 1 -x LD_LIBRARY_PATH="$tmp/lib" ./train
    is "a rank with them runs" 0 "$status"
    # A program whose loader will wait for ever once it has run: no writer opens the pipe that its library is then.
    cat >slow.c <<'.'
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
    if (unlink("other/libhvd_absent.so.0") < 0 || mkfifo("other/libhvd_absent.so.0", 0600) < 0)
        return 1;
    return 127;
}
.
    # shellcheck disable=SC2086
    $CC slow.c -o slow -Llib -Wl,--no-as-needed -lhvd_absent "-Wl,-rpath,$tmp/other"
    # On a busy machine the agent may sleep for longer than the loader has: then there is another trial.
    for _ in 1 2 3 4 5; do
        rm -f other/libhvd_absent.so.0
        cp lib/libhvd_absent.so other/libhvd_absent.so.0
        run "$HVDRUN" --heartbeat-timeout 1 -np 1 ./slow
        [ "$status" = 68 ] || break
    done
    is "a loader that does not answer is not waited for until the host counts as lost" 127 "$status"
    run "$HVDRUN" -np 1 sh -c 'exit 127'
    is "a program may end with 127" 127 "$status"
    unlike "of which nothing is said" "not found here" "$tmp/err"
else
    skip "the loader is asked for libraries" "it is not glibc's"
fi

# Programs that are no programs
echo 'int main(void) { return 0; }' >alone.c
# shellcheck disable=SC2086
$CC alone.c -o alone -Wl,--dynamic-linker=/no/such/loader.so
run "$HVDRUN" -np 1 ./alone
is "a program whose loader is not there cannot be executed" 126 "$status"
like "which names the loader" "^hvdrun: FAILED on localhost: command cannot be executed: './alone': its loader '/no/such/loader.so': No such file or directory\$" "$tmp/err"
printf '#!./alone\n' >by_alone
chmod +x by_alone
run "$HVDRUN" -np 1 ./by_alone
like "also where it is that of a script's interpreter" "cannot be executed: './by_alone': its interpreter './alone' needs '/no/such/loader.so': No such file" "$tmp/err"
printf 'print("hello")\n' >train.py
run "$HVDRUN" -np 1 train.py
is "a script in Python that is not in PATH is not found" 127 "$status"
like "which names what would run it" "command not found: 'train.py' \\(looked for in PATH\\); did you mean: python train.py\$" "$tmp/err"
run "$HVDRUN" -np 1 ./train.py
is "one that is not executable cannot be executed" 126 "$status"
like "nor without python" "cannot be executed: './train.py': Permission denied; did you mean: python ./train.py\$" "$tmp/err"
chmod +x train.py
run "$HVDRUN" -np 1 ./train.py
is "nor can one without a line with #!, which is nothing for /bin/sh" 126 "$status"
like "which is said" "cannot be executed: './train.py': no #! line; did you mean: python ./train.py\$" "$tmp/err"
printf '#!/bin/sh\necho fine\n' >train.py
run "$HVDRUN" -np 1 ./train.py
is "with one it is" '[0]<stdout>:fine' "$(cat "$tmp/out")"
printf 'echo fine\n' >plain
chmod +x plain
run "$HVDRUN" -np 1 plain
like "a program in the working directory is named with it" "command not found: 'plain' \\(looked for in PATH\\); did you mean: ./plain\$" "$tmp/err"
run "$HVDRUN" -np 1 ./plain
is "other names are read by /bin/sh" '[0]<stdout>:fine' "$(cat "$tmp/out")"
finish
