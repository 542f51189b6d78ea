# SPDX-License-Identifier: Apache-2.0
"""Which small changes of the code does no test see?

    mutants.py SRCDIR WORKDIR [--count N] [--seed N] [--only FILE:LINE:] [--each SECONDS] [--from N] [--seconds N] [--again FILE] [-j N] [-- CONFIGURE-ARGUMENT...]

Chooses places of lib/, launcher/ and rendezvous/ from the seed, makes one change at a time in a copy of the file, and runs tests until
one fails. Only tests that enter the function are run: those of the file's room, the simulators, those of other rooms, cheap ones first, the
near ones again with AddressSanitizer and UBSan in this file, then tests in sh that run the programs. A line for each mutant, and totals:

    killed        a test fails; or takes too long, twice
    SURVIVED      all tests that enter the function and link have passed, or no test enters it
    undecided     all have passed that were run until its time was over
    equivalent    equivalent.txt says that it means the same, or the optimiser makes the same object of it; not counted
    not counted   it does not compile, none of its tests links, or its file is not built here

--again tries those that were not killed according to a former output; lines may have moved since. What takes long can be run in pieces,
by --seconds and --from; what was measured of tests that have passed is kept.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

import places
from tree import OPTIMISED, PARTS, SANITIZED, SIMULATORS, TOO_LONG, Tree

BATCH = 50
NEAR = 6  # so many tests are run again with sanitizers
ASAN_OPTIONS = "quarantine_size_mb=16:hard_rss_limit_mb=4096"


def rank_of(test, file):
    """0 for tests of the file's room, 1 for simulators, 2 for those of the room above it, 3 for others, 4 for tests in sh."""
    room, folder = f"tests/unit/{file.parent}", os.path.dirname(test)
    if test.endswith(".sh"):
        return 4
    return 0 if folder == room else 1 if test in SIMULATORS else 2 if room.startswith(folder) else 3


def sees(tree, test, file, function):
    """Whether a test can see a change of this function. Initialisers of a file are in none: then those that link the file."""
    known = tree.tests[test]
    if any(file.name in tree.files[name] for name in tree.started(test)) and function in known.entered:
        return True
    return file.name in known.files and (not function or function in known.entered)


def order_for(tree, file, function):
    """The tests that can see a change there, in the order in which they are run."""

    def key(test):
        rank = rank_of(test, file)
        alike = len(os.path.commonprefix([os.path.basename(test), file.stem])) if rank == 0 else 0
        return rank, -alike, tree.tests[test].seconds

    return sorted((t for t in tree.tests if sees(tree, t, file, function)), key=key)


class Trial:
    """One mutant: its texts, and the folder of what is made of them."""

    def __init__(self, tree, file, source, place, seconds, folder):
        self.tree, self.file, self.source, self.folder = tree, file, source, pathlib.Path(folder)
        self.mutant = places.changed(source, place)
        self.tests = order_for(tree, file, places.function_at(source, place.start))
        self.end = time.monotonic() + seconds
        self.is_cut = False
        self.linked = set()  # the tests that were run

    def is_equal(self):
        """Whether the optimiser makes the same of both."""
        def object_of(text):
            made = self.tree.compile(self.file, text, self.folder, *OPTIMISED)
            return made and made.read_bytes()

        made = object_of(self.mutant)
        return made is not None and made == object_of(self.source)

    def failure(self, test, made, *flags, **variables):
        """Why the test fails with this object, or empty; None if it does not link. The machine may pause once: a test that took
        too long is run again."""
        command = self.tree.changed(test, self.file, made, *flags)
        if not command:
            return None
        self.linked.add(test)
        why = self.tree.run(test, command, **variables).why
        return self.tree.run(test, command, **variables).why if why == TOO_LONG else why

    def kill_plainly(self, tests):
        """A test and why it fails, or None."""
        made = self.tree.compile(self.file, self.mutant, self.folder)
        for test in tests:
            if rank_of(test, self.file) > 0 and time.monotonic() > self.end:
                self.is_cut = True
                return None
            why = made and self.failure(test, made)
            if why:
                return test, why
        return None

    def kill_sanitized(self, tests):
        """The same with sanitizers. A test that also fails so without the change says nothing."""
        made = self.tree.compile(self.file, self.mutant, self.folder, *SANITIZED)
        for test in tests[:NEAR] if made else ():
            if time.monotonic() > self.end:
                self.is_cut = True
                return None
            if self.failure(test, made, *SANITIZED, ASAN_OPTIONS=ASAN_OPTIONS):
                made = self.tree.compile(self.file, self.source, self.folder, *SANITIZED)
                if made and self.failure(test, made, *SANITIZED, ASAN_OPTIONS=ASAN_OPTIONS) == "":
                    return test, "with AddressSanitizer and UBSan"
                return None
        return None

    def verdict(self):
        if not self.tree.compile(self.file, self.mutant, self.folder):
            return "not counted", "does not compile"
        units = [test for test in self.tests if not test.endswith(".sh") and test not in SIMULATORS]
        scripts = [test for test in self.tests if test.endswith(".sh")]
        near = [test for test in self.tests if not test.endswith(".sh")]
        found = self.kill_plainly(near) or self.kill_sanitized(units)
        if not found and self.is_equal():
            return "equivalent", "the optimised object is the same"
        found = found or self.kill_plainly(scripts)
        if found:
            return "killed", f"{found[0]}: {found[1][:100]}"
        if self.is_cut:
            return "undecided", f"its time was over; {len(self.tests)} tests enter the function"
        if self.tests and not self.linked:
            return "not counted", "does not link"
        return "survived", f"{len(self.linked)} tests" if self.tests else "no test enters the function"


def try_mutant(tree, file, source, place, known, seconds):
    """Returns the verdict and why."""
    if line_of_list(file, source, place) in known:
        return "equivalent", known[line_of_list(file, source, place)]
    if file not in tree.compiled:
        return "not counted", "not built here"
    with tempfile.TemporaryDirectory() as folder:
        return Trial(tree, file, source, place, seconds, folder).verdict()


def line_of(source, at):
    return source.count("\n", 0, at) + 1


def change_text(source, place):
    number = line_of(source, place.start) - 1
    new = places.changed(source, place).split("\n")[number]
    return f"{place.kind}: {source.split(chr(10))[number].strip()}  =>  {new.strip()}"


def line_of_list(file, source, place):
    """How equivalent.txt names a change: without the number of the line, which moves."""
    return f"{file}: {change_text(source, place)}"


def describe(file, source, place):
    return f"{file}:{line_of(source, place.start)}: {change_text(source, place)}"


def read_equivalent(path):
    """Reasons by change. A line that begins with "= " is the reason of the changes above it."""
    found, changes = {}, []
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            found.update(dict.fromkeys(changes, line[2:]))
            changes = []
        elif line and not line.startswith("#"):
            changes.append(line)
    if changes:
        sys.exit(f"mutants: {path}: no reason behind: {changes[0]}")
    return found


def choose(tree, seed, only):
    """All places in a random order."""
    files = sorted(p.relative_to(tree.source) for part in PARTS for p in (tree.source / part).rglob("*.c"))
    found = []
    for file in files:
        source = (tree.source / file).read_text()
        for place in places.places_of(source):
            if f"{file}:{line_of(source, place.start)}:".startswith(only):
                found.append((file, source, place))
    random.Random(seed).shuffle(found)
    return found


def not_killed(tree, log):
    """The places that were not killed in a former output, in its order."""
    for line in log.read_text().splitlines():
        was = re.match(r"(?:SURVIVED|undecided): ((\S+?):(\d+): (.*  =>  .*))  \(", line)
        if not was or not (tree.source / was[2]).exists():
            continue
        file = pathlib.Path(was[2])
        source = (tree.source / file).read_text()
        same = [place for place in places.places_of(source) if change_text(source, place) == was[4]]
        for place in sorted(same, key=lambda place: abs(line_of(source, place.start) - int(was[3])))[:1]:
            yield file, source, place


def try_all(tree, mutants, known, options):
    """Pairs of a mutant and its result, until `count` are counted or the time is over, some of them at once."""
    counted, end = 0, time.monotonic() + options.seconds
    mutants = itertools.islice(mutants, options.first, None)

    def try_in_time(mutant):
        return try_mutant(tree, *mutant, known, options.each) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while batch := list(itertools.islice(mutants, min(options.count - counted, BATCH))):
            for mutant, result in zip(batch, pool.map(try_in_time, batch)):
                if not result:
                    return
                counted += result[0] in ("killed", "survived", "undecided")
                yield mutant, result


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("srcdir", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=lambda text: int(text or time.time()), default="")
    parser.add_argument("--only", default="", help="places whose FILE:LINE: begins so")
    parser.add_argument("--each", type=float, default=90, help="so many seconds for a mutant, and longer for tests of its room")
    parser.add_argument("--from", dest="first", type=int, default=0, help="leaves out so many of the seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begins no mutant after this time")
    parser.add_argument("--again", type=pathlib.Path, help="a former output: only those that were not killed")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("arguments", nargs="*", help="for configure")
    return parser.parse_args()


def main():
    options = read_options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("mutants: interrupted"))
    options.work.mkdir(parents=True, exist_ok=True)
    tree = Tree(options.work.resolve(), options.jobs)
    tree.copy(options.srcdir.resolve(), options.arguments)
    tree.measure()
    known = read_equivalent(pathlib.Path(__file__).with_name("equivalent.txt"))
    print(f"# seed {options.seed}, {len(tree.tests)} tests", flush=True)
    counts = collections.Counter()
    mutants = not_killed(tree, options.again) if options.again else choose(tree, options.seed, options.only)
    for (file, source, place), (verdict, why) in try_all(tree, mutants, known, options):
        counts["tried"] += 1
        counts[verdict] += 1
        counts["killed by a simulator"] += verdict == "killed" and why.startswith(SIMULATORS)
        counts["killed by a test in sh"] += verdict == "killed" and ".sh:" in why
        print(f"{verdict.upper() if verdict == 'survived' else verdict}: {describe(file, source, place)}  ({why})", flush=True)
    counted = counts["killed"] + counts["survived"] + counts["undecided"]
    print(f"# seed {options.seed}: {counted} mutants, {counts['killed']} killed ({100 * counts['killed'] / max(counted, 1):.1f} %), "
          f"{counts['killed by a simulator']} of them by a simulator, {counts['killed by a test in sh']} by a test in sh; "
          f"{counts['survived']} survived; {counts['undecided']} undecided; {counts['equivalent']} others are equivalent, "
          f"{counts['not counted']} are not counted; the next is --from {options.first + counts['tried']}")  # fmt: skip


if __name__ == "__main__":
    main()
