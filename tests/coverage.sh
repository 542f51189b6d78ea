#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which lines and branches of the product the tests reach, a line for each room. "make coverage" runs it:
#
#   coverage.sh SRCDIR BUILDDIR     configures and builds in BUILDDIR with gcov's counters, runs the tests, then reports.
#                                   $COVERAGE_TESTS are the tests to run, all of them if it is empty
#   coverage.sh --report BUILDDIR [SRCDIR]     reports what the tests that have run there reached
#
# A line or branch counts as reached if any object that was compiled from it was there. What a process does before SIGKILL ends
# it is not counted, so figures are lower than the truth. Tests that fail are named and do not stop the report.
set -eu
rooms='src|launcher|rendezvous|lib'

# annotated: gcov's view of all objects under this directory.
annotated() {
    # One object at a time: of several with the same source gcov tells no branches. An object that no test ran has no counts, but notes.
    find . -name '*.gcno' -exec gcov --branch-probabilities --branch-counts --stdout {} \; 2>/dev/null
}

# sum_by_room: of that, the table.
sum_by_room() {
    awk -v rooms="^($rooms)/" '
        /^ *-: *0:Source:/ {
            file = $0
            sub(/^ *-: *0:Source:/, "", file)
            if (top != "" && index(file, top) == 1)
                file = substr(file, length(top) + 1)
            while (sub(/^\.\.?\//, "", file))
                ;
            ours = file ~ rooms
            room = file
            sub(/\/[^\/]*$/, "", room)
            next
        }
        !ours { next }
        /^branch/ {
            key = file ":" line ":" $2
            if (!(key in branch_of))
                branch_of[key] = room
            if ($3 == "taken" && $4 > 0)
                taken[key] = 1
            next
        }
        /^ *[0-9#=-][^:]*: *[0-9]+:/ {
            split($0, part, ":")
            count = part[1]
            line = part[2] + 0
            gsub(/[ *]/, "", count)
            if (count == "-" || line == 0)
                next
            key = file ":" line
            if (!(key in line_of))
                line_of[key] = room
            if (count ~ /^[0-9]/)
                reached[key] = 1
        }
        function percent(part, all) { return all ? 100 * part / all : 100 }
        END {
            for (key in line_of) {
                lines[line_of[key]]++
                lines_reached[line_of[key]] += key in reached
            }
            for (key in branch_of) {
                branches[branch_of[key]]++
                branches_taken[branch_of[key]] += key in taken
            }
            for (room in lines) {
                printf "%-24s %7d %6.1f %% %8d %6.1f %%\n", room, lines[room], percent(lines_reached[room], lines[room]), \
                    branches[room], percent(branches_taken[room], branches[room]) | "sort"
                all_lines += lines[room]
                all_reached += lines_reached[room]
                all_branches += branches[room]
                all_taken += branches_taken[room]
            }
            close("sort")
            printf "%-24s %7d %6.1f %% %8d %6.1f %%\n", "together", all_lines, percent(all_reached, all_lines), \
                all_branches, percent(all_taken, all_branches)
        }' top="$1"
}

# report BUILDDIR [SRCDIR]
report() {
    printf '%-24s %7s %8s %8s %8s\n' room lines reached branches taken
    (cd "$1" && annotated | sum_by_room "${2:+$2/}")
}

if [ "$1" = --report ]; then
    report "$2" "${3-}"
    exit
fi
srcdir=$(cd "$1" && pwd) build=$2
mkdir -p "$build"
[ -f "$build/config.status" ] || (cd "$build" && "$srcdir/configure" --quiet CFLAGS='-O0 -g1 --coverage -fprofile-update=atomic')
find "$build" -name '*.gcda' -delete
jobs=$(nproc 2>/dev/null || echo 1)
set -- -s -k -j"$jobs" check
[ -z "${COVERAGE_TESTS-}" ] || set -- "$@" TESTS="$COVERAGE_TESTS"
"${MAKE:-make}" -C "$build" "$@" >"$build/coverage.log" 2>&1 || {
    echo "# some tests have failed; all that they said is in $build/coverage.log:"
    find "$build/tests" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR)' {} + | sed 's/^/#   /; s/\.trs$//'
}
report "$build" "$srcdir"
