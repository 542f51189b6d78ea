#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ./bootstrap installs for which purpose, what it refuses, and what it says at its end. It runs in a tree of its own
# that has a configure and Makefiles of a few lines; dpkg-query and apt-get only write down what they are asked.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "bootstrap" "nothing of it depends on sanitizers"
    finish
    exit 0
fi

tree=$tmp/tree
mkdir -p "$tree/build-aux" "$tmp/bin"
cp "$srcdir/bootstrap" "$tree"
cp "$srcdir/build-aux/packages.txt" "$srcdir/build-aux/check.mk" "$tree/build-aux"

cat >"$tree/configure" <<'END'
#!/bin/sh
mkdir tests
echo "$PWD" >>../configured
printf 'echo "$*" >>../rechecked\n' >config.status && chmod +x config.status
cat >Makefile <<'.'
all Makefile config.h:
count-tests count-thread-tests: ; @set one $$(cat ../more); echo $$#
TESTS = one
check check-threads:
	@test ! -e ../long || exec tail -f /dev/null
	@test -n "$(TESTS)" || { ! cat ../broken 2>/dev/null; }
	@rm -f tests/again
	@test -z "$(TESTS)" || for test in one $$(cat ../more); do \
	    cp ../results tests/$$test.trs; cp ../said tests/$$test.log; \
	done
	@test -z "$(TESTS)" || ! grep -q FAIL ../results
%.log:
	@echo "$$PWD $@" >>../reruns
	@if test -e tests/again; then cp ../third $*.trs; else cp ../second $*.trs; fi
	@touch tests/again && echo "ran again" >$@
.
END
: >"$tree/more"
cat >"$tmp/bin/dpkg-query" <<END
#!/bin/sh
for package; do :; done
! grep -qx "\$package" "$tmp/installed" || echo "ii "
END
cat >"$tmp/bin/apt-get" <<END
#!/bin/sh
[ "\$1" = update ] && exit
for word; do
    case \$word in install | -*) ;; *) echo "\$word" ;; esac
done >"$tmp/asked"
[ ! -e "$tmp/no-network" ] || exit 100
cat "$tmp/asked" >>"$tmp/installed"
END
printf '#!/bin/sh\n[ "$1" != -n ] || shift\nexec "$@"\n' >"$tmp/bin/sudo"
chmod +x "$tree/configure" "$tmp/bin"/*

bootstrap() { run env PATH="$tmp/bin:$PATH" "$tree/bootstrap" "$@"; }
packages() { sed 's/#.*//; /^$/d' "$tree/build-aux/packages.txt" | grep -E "	($1)\$" | cut -f1; }

# What is refused
while IFS='|' read -r arguments text; do
    # shellcheck disable=SC2086  # a row's words
    bootstrap $arguments
    ok "'bootstrap $arguments' is refused in one line, status 2" refused bootstrap 2 "$text"
done <<.
|one of build, demo, check and packages
biuld|'biuld' is not one of
build demo|takes no argument, so not 'demo'
check --fast|takes --strict and nothing else, so not '--fast'
check --strict --fast|takes --strict and nothing else, so not '--strict --fast'
--help me|takes no argument, so not 'me'
packages|packages takes one of
packages tests|packages takes one of
packages build demo|packages takes one of
.
bootstrap --help
is "--help is no mistake" "0 5" "$status $(grep -c '^  ./bootstrap ' "$tmp/out")"

# What is installed
for row in 'build:compiler|build|programs|library' 'demo:compiler|build|programs|library|examples' 'check:.*'; do
    goal=${row%%:*} purposes=${row#*:}
    bootstrap packages "$goal"
    is "'packages $goal' prints what it needs" "$(packages "$purposes")" "$(cat "$tmp/out")"
    : >"$tmp/installed" && : >"$tmp/no-network"
    bootstrap "$goal"
    is "'$goal' installs that and nothing else" "$(packages "$purposes")" "$(cat "$tmp/asked")"
    is "and fails where that fails" 100 "$status"
done
bootstrap packages build
unlike "a build installs no browser, no server and no firewall" 'chromium|openssh|nftables|mandoc|curl' "$tmp/out"
rm "$tmp/no-network"

# A build and what comes next
: >"$tmp/installed"
bootstrap build
is "a build ends well" 0 "$status"
like "and says how a job is run" 'build/hvdrun -np 2 ' "$tmp/err"
like "and how to install" 'make -C build install' "$tmp/err"
bootstrap build
is "run again it configures nothing" "1 " "$(wc -l <"$tree/configured") $(cat "$tree/rechecked" 2>/dev/null)"
packages examples >>"$tmp/installed"
bootstrap build
is "it configures again, as it was, when packages have come" "--quiet --recheck" "$(head -n 1 "$tree/rechecked")"

# The check
reruns() { cat "$tree/reruns" 2>/dev/null; }
printf ':test-result: PASS\n:test-result: SKIP\n' >"$tree/results"
echo 'SKIP: tests/one 2 - b # SKIP no c' >"$tree/said"
bootstrap check
is "a check in which nothing fails ends well" 0 "$status"
is "its last line has the result" "3 passed, 0 failed, 3 skipped" "$(tail -n 1 "$tmp/out")"
like "it says how many tests there are" ' 3 of 3 tests have ended$' "$tmp/err"
like "and what was left out, and why" 'build-tsan/tests/one: 2 - b # SKIP no c$' "$tmp/err"
printf ':test-result: FAIL\n' >"$tree/results"
cp "$tree/results" "$tree/second"
echo 'not ok 1 - it broke' >"$tree/said"
bootstrap check
is "one in which something fails does not" 1 "$status"
is "and counts that" "0 passed, 3 failed, 0 skipped" "$(tail -n 1 "$tmp/out")"
like "it shows what failed" 'it broke' "$tmp/out"
like "and how many of all" ' 3 of 3 tests have ended, 3 of them failed$' "$tmp/err"
is "and has run it once more in each build" 3 "$(reruns | wc -l)"

# A test that fails once and passes twice
passed=":test-result: PASS" failed=":test-result: FAIL"
again() { # SECOND THIRD ARGUMENT...: a check whose tests fail, then have these two results
    rm -f "$tree/reruns"
    echo "$1" >"$tree/second" && echo "$2" >"$tree/third"
    shift 2
    bootstrap check "$@"
}
again "$passed" "$passed"
is "a test that fails once and passes twice is forgiven" 0 "$status"
is "the last lines name the program, its sentence and the log, and count it" \
    "flaky: build-tsan/tests/one: it broke; log: build-tsan/failed/tests/one.log
3 passed, 0 failed, 0 skipped, 3 flaky" "$(tail -n 2 "$tmp/out")"
is "each build has a line" 3 "$(grep -c '^flaky: ' "$tmp/out")"
is "it has run twice in each build" "2 2 2" "$(reruns | sort | uniq -c | awk '{ print $1 }' | xargs)"
is "what it said when it failed is kept" "$(cat "$tree/said")" "$(cat "$tree/build-asan/failed/tests/one.log")"
again "$passed" "$failed"
is "one that fails in the third run is not forgiven" 1 "$status"
is "and is counted as failed" "0 passed, 3 failed, 0 skipped" "$(tail -n 1 "$tmp/out")"
like "with what it said first" 'it broke' "$tmp/out"
again "$passed" "$passed" --strict
is "--strict forgives nothing" "1 0" "$status $(reruns | wc -l)"
is "and counts it as failed" "0 passed, 3 failed, 0 skipped" "$(tail -n 1 "$tmp/out")"
echo 'WARNING: ThreadSanitizer: data race' >>"$tree/said"
again "$passed" "$passed"
is "what a sanitizer has reported is not forgiven" "1 0" "$status $(reruns | wc -l)"
echo 'not ok 1 - it broke' >"$tree/said"
echo 'two three four' >"$tree/more"
again "$passed" "$passed"
is "where very many fail, none runs again" "1 0" "$status $(reruns | wc -l)"
like "which is said" 'more than 10 test programs have failed' "$tmp/err"
: >"$tree/more"
echo 'it does not compile' >"$tree/broken"
again "$passed" "$passed"
is "nor where a build fails" "1 0" "$status $(reruns | wc -l)"
like "which says why" 'it does not compile' "$tmp/out"
rm "$tree/broken"

# A check that is ended from outside; sleep is short, so that progress is seen
: >"$tree/long"
printf '#!/bin/sh\nexec /bin/sleep 0.05\n' >"$tmp/bin/sleep" && chmod +x "$tmp/bin/sleep"
start env PATH="$tmp/bin:$PATH" "$tree/bootstrap" check
until_said ' 0 of 3 tests have ended$' "$tmp/err"
kill "$pid" && wait "$pid" 2>/dev/null
for process in $(survivors | cut -d/ -f3); do
    ! grep -qs -e make -e tail "/proc/$process/comm" || kill "$process"
done
ok "nothing is left of a check that is ended" until_true no_survivors_now
kill_job
finish
