# SPDX-License-Identifier: Apache-2.0
"""Which small changes of the code do the unit tests and the simulators not see?

    mutants.py SRCDIR WORKDIR [--count N] [--seed N] [--only FILE:LINE:] [--others N] [--from N] [--seconds N] [--again FILE] [-j N] [-- CONFIGURE-ARGUMENT...]

Chooses places of lib/, launcher/ and rendezvous/ from the seed, makes one change at a time in a copy of the file, and runs tests until
one fails: those of the file's room, the simulators, those of the room above it, then all others, cheap ones first; only tests that link the
file. A line for each mutant, and totals. Not counted is a mutant that does not compile, or whose optimised object is that of the file.

The tests are built once, from a copy of the tree (WORKDIR/source, WORKDIR/build), and the output of make is kept: a mutant repeats the one
command that compiled its file, and for each test the one that linked it, with the new object before the archives, from which the linker
takes only what is missing then. So nothing in WORKDIR changes, and -j mutants are tried at once.

--again tries those that survived according to a former output; lines may have moved since. What takes long can be run in pieces,
by --seconds and --from; the tests that were measured before are kept.

A mutant may do anything, also kill(-1, SIGKILL). Each test runs in namespaces of its own (processes, mounts, IPC), without
control groups, with limits of time and memory.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import places

PARTS = ("lib", "launcher", "rendezvous")
SIMULATORS = ("tests/simulator/simulate", "tests/simulator/simulate_elastic")
FIRST_S, SLOWER = 20, 10  # a test has this time, and what it needs without a change as often as that
UNKNOWN_S = 20
BATCH = 50
OPTIMISED = ("-O2", "-g0")
COMPILE = re.compile(r"--mode=compile (?:ccache )?(.*?) -MT (\S+)\.lo .* -c -o \S+\.lo (?:`[^`]*`)?(?:\.\./source/)?(\S+\.c)\b")
LINK = re.compile(r"^(/bin/sh \S*libtool\S* .*--mode=link .*) -o (tests/\S+) (.*)$", re.MULTILINE)
MEMORY = 8 << 30
NOT_COPIED = shutil.ignore_patterns(".git", "autom4te.cache", "__pycache__", "mutants*.py", "places.py")
ALONE = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child"] + ["--user", "--map-root-user"] * (os.geteuid() != 0)
IN_NAMESPACE = """mount -t proc proc /proc && mount -t tmpfs none /dev/shm || exit 99
[ ! -d /sys/fs/cgroup ] || mount -t tmpfs none /sys/fs/cgroup || exit 99
"$@"
exit $?"""


class Result:
    """How a test ended: `why` is empty if it passed."""

    def __init__(self, status, output, seconds):
        failed = re.search(r"^not ok.*", output, re.MULTILINE)
        self.seconds = seconds
        if status is None:
            self.why = "took too long"
        elif failed:
            self.why = failed[0]
        else:
            self.why = "" if status == 0 else f"exit status {status}"


def set_limits():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Tree:
    """A copy of the sources and its build."""

    def __init__(self, work, jobs):
        self.source, self.build = work / "source", work / "build"
        self.jobs = jobs
        self.seconds = {}  # of each test, without a change
        self.linked = {}  # the names of the C files in each test
        self.compiled = {}  # the compiler and its options, of each file
        self.links = {}  # the command of each test, before and behind "-o PROGRAM"

    def copy(self, origin, arguments):
        """Copies what has changed, so that little is built again; returns whether anything has. `origin` is never written to."""
        copied = []

        def copy_if_other(source, target):
            is_new = not os.path.exists(target)
            if is_new or pathlib.Path(source).read_bytes() != pathlib.Path(target).read_bytes():
                shutil.copy2(source, target)
                copied.append(target)
                if not is_new:
                    os.utime(target)

        def skipped(folder, names):
            work, builds = self.source.parent, {n for n in names if (pathlib.Path(folder) / n / "config.status").exists()}
            return builds | {*NOT_COPIED(folder, names)} | {n for n in names if (pathlib.Path(folder) / n).resolve() == work}

        shutil.copytree(origin, self.source, symlinks=True, dirs_exist_ok=True, ignore=skipped, copy_function=copy_if_other)
        if not (self.build / "config.status").exists():
            self.build.mkdir(exist_ok=True)
            compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
            command = ["../source/configure", "--quiet", f"CC={compiler}", "CFLAGS=-O0 -g0", *arguments]
            subprocess.run(command, cwd=self.build, check=True)
        return bool(copied)

    def make(self, *targets):
        """The paths are relative, so that another copy finds the same objects in ccache."""
        libtool = "LIBTOOL=/bin/sh ../source/build-aux/libtool-quick"
        command = ["make", "-Otarget", f"-j{self.jobs}", libtool, "V=1", *targets]
        with open(self.build / "commands.log", "a") as log:
            return subprocess.run(command, cwd=self.build, stdout=log, stderr=subprocess.PIPE, text=True)

    def read_commands(self):
        log = (self.build / "commands.log").read_text(errors="replace")
        self.compiled = {pathlib.Path(file): shlex.split(options) for options, _, file in COMPILE.findall(log)}
        self.links = {test: (shlex.split(before), shlex.split(behind)) for before, test, behind in LINK.findall(log)}

    def compile(self, file, source, folder, *more):
        """The object of this text instead of that of the file, or None."""
        path, made = folder / file.name, folder / f"{file.stem}.o"
        path.write_text(source)
        here = ["-iquote", str(self.source / file.parent), "-fPIC", "-DPIC", "-w"]
        command = [*self.compiled[file], *here, *more, "-c", "-o", str(made), str(path)]
        done = subprocess.run(command, cwd=self.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return made if done.returncode == 0 else None

    def link(self, test, made):
        """The test with this object beside it."""
        before, behind = self.links[test]
        program = made.parent / "test"
        command = [*before, "-o", str(program), str(made), *behind]
        return program if subprocess.run(command, cwd=self.build, capture_output=True).returncode == 0 else None

    def run(self, test, program=None):
        limit = FIRST_S + SLOWER * self.seconds.get(test, UNKNOWN_S)
        few = "yes" if test in SIMULATORS else "no"  # a quarter of the jobs
        variables = {"srcdir": str(self.source), "builddir": str(self.build), "SANITIZERS": few, "CK_DEFAULT_TIMEOUT": "20"}
        start = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            child = subprocess.Popen(
                [*ALONE, "sh", "-c", IN_NAMESPACE, "sh", str(program or self.build / test)],
                cwd=self.build, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, preexec_fn=set_limits, start_new_session=True,
            )  # fmt: skip
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                child.kill()  # and so the first process of the namespace, with which the others end
                child.wait()
            output.seek(0)
            return Result(status, output.read(10 << 20), time.monotonic() - start)

    def tests(self):
        found = [p.relative_to(self.source).with_suffix("") for part in PARTS for p in self.source.glob(f"tests/unit/{part}/**/*_test.c")]
        return sorted(map(str, found)) + list(SIMULATORS)

    def measure(self, save):
        """Builds all tests, and runs each once as it is. One that fails here is left out. Calls `save` after each; goes on where it ended."""
        tests = self.tests()
        made = self.make("-k", *tests, "hvdssh")
        tests = [test for test in tests if (self.build / test).exists() and test not in self.seconds]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, result in zip(tests, pool.map(self.run, tests)):
                if result.why:
                    print(f"# left out: {test} fails here without a change: {result.why}", flush=True)
                    continue
                self.seconds[test] = result.seconds
                symbols = subprocess.run(["nm", "-a", self.build / test], capture_output=True, text=True).stdout
                self.linked[test] = re.findall(r"^\S+ a (\S+\.c)$", symbols, re.MULTILINE)
                save()
        if not self.seconds:
            sys.exit(f"mutants: no test passes:\n{made.stderr}")


def order_for(tree, file, others):
    """The tests that can see a change of this file, in the order in which they are run."""
    room = f"tests/unit/{file.parent}"

    def key(test):
        folder, name = os.path.split(test)
        rank = 0 if folder == room else 1 if test in SIMULATORS else 2 if room.startswith(folder) else 3
        alike = len(os.path.commonprefix([name, file.stem])) if rank == 0 else 0
        return rank, -alike, tree.seconds[test]

    tests = sorted((t for t in tree.seconds if file.name in tree.linked[t]), key=key)
    near = [t for t in tests if key(t)[0] < 2]
    return near + tests[len(near) :][:others]


def is_equal(tree, file, source, mutant, folder):
    """Whether the optimiser makes the same of both."""
    objects = [made and made.read_bytes() for made in (tree.compile(file, text, folder, *OPTIMISED) for text in (source, mutant))]
    return objects[0] is not None and objects[0] == objects[1]


def try_tests(tree, tests, made):
    """Returns "killed", "survived" or "not counted", and why."""
    for test in tests:
        program = tree.link(test, made)
        if not program:
            return "not counted", f"{test} does not link"
        result = tree.run(test, program)
        if result.why:
            return "killed", f"{test}: {result.why[:100]}"
    return "survived", f"{len(tests)} tests" if tests else "no unit test links it"


def try_mutant(tree, file, source, place, others):
    """Returns "killed", "survived", "equal" or "not counted", and why."""
    mutant = places.changed(source, place)
    if file not in tree.compiled:
        return "not counted", "not built here"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = tree.compile(file, mutant, folder)
        if not made:
            return "not counted", "does not compile"
        verdict, why = try_tests(tree, order_for(tree, file, others), made)
        if verdict == "survived" and is_equal(tree, file, source, mutant, folder):
            return "equal", "the optimised object is the same"
        return verdict, why


def line_of(source, at):
    return source.count("\n", 0, at) + 1


def describe(file, source, place):
    number = line_of(source, place.start)
    new = places.changed(source, place).split("\n")[number - 1]
    return f"{file}:{number}: {place.kind}: {source.split(chr(10))[number - 1].strip()}  =>  {new.strip()}"


def words_of(description):
    """Without the place."""
    return description.split(": ", 1)[1]


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


def survivors(tree, log):
    """The places that survived in a former output, in its order."""
    for line in log.read_text().splitlines():
        was = re.match(r"SURVIVED: ((\S+?):(\d+): .*  =>  .*)  \(", line)
        if not was or not (tree.source / was[2]).exists():
            continue
        file = pathlib.Path(was[2])
        source = (tree.source / file).read_text()
        same = [place for place in places.places_of(source) if words_of(describe(file, source, place)) == words_of(was[1])]
        for place in sorted(same, key=lambda place: abs(line_of(source, place.start) - int(was[3])))[:1]:
            yield file, source, place


def try_all(tree, mutants, options):
    """Pairs of a mutant and its result, until `count` are killed or have survived or the time is over, some of them at once."""
    counted, end = 0, time.monotonic() + options.seconds
    mutants = itertools.islice(mutants, options.first, None)

    def try_in_time(mutant):
        return try_mutant(tree, *mutant, options.others) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while batch := list(itertools.islice(mutants, min(options.count - counted, BATCH))):
            for mutant, result in zip(batch, pool.map(try_in_time, batch)):
                if not result:
                    return
                counted += result[0] in ("killed", "survived")
                yield mutant, result


def baseline(tree, path, is_new):
    """What measure() found, once for each state of the sources."""
    part = path.with_suffix(".part")

    def save():
        whole = part.with_suffix(".new")
        whole.write_text(json.dumps([tree.seconds, tree.linked]))
        whole.rename(part)

    if is_new:
        path.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
    if not path.exists():
        if part.exists():
            tree.seconds, tree.linked = json.loads(part.read_text())
        tree.measure(save)
        part.rename(path)
    tree.seconds, tree.linked = json.loads(path.read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("srcdir", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=lambda text: int(text or time.time()), default="")
    parser.add_argument("--only", default="", help="places whose FILE:LINE: begins so")
    parser.add_argument("--others", type=int, default=None, help="so many tests of other rooms at most")
    parser.add_argument("--from", dest="first", type=int, default=0, help="leaves out so many of the seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begins no mutant after this time")
    parser.add_argument("--again", type=pathlib.Path, help="a former output: only those that survived")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("arguments", nargs="*", help="for configure")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("mutants: interrupted"))
    options.work.mkdir(parents=True, exist_ok=True)
    tree = Tree(options.work.resolve(), options.jobs)
    is_new = tree.copy(options.srcdir.resolve(), options.arguments)
    baseline(tree, options.work / "baseline.json", is_new)
    tree.read_commands()
    print(f"# seed {options.seed}, {len(tree.seconds)} tests")
    counts = collections.Counter()
    mutants = survivors(tree, options.again) if options.again else choose(tree, options.seed, options.only)
    for (file, source, place), (verdict, why) in try_all(tree, mutants, options):
        counts["tried"] += 1
        counts[verdict] += 1
        counts["killed by a simulator"] += verdict == "killed" and why.startswith(SIMULATORS)
        print(f"{verdict.upper() if verdict == 'survived' else verdict}: {describe(file, source, place)}  ({why})", flush=True)
    counted = counts["killed"] + counts["survived"]
    print(f"# seed {options.seed}: {counted} mutants, {counts['killed']} killed ({100 * counts['killed'] / max(counted, 1):.1f} %), "
          f"{counts['killed by a simulator']} of them by a simulator; {counts['survived']} survived; {counts['equal']} others are equal, "
          f"{counts['not counted']} did not compile or are not built here; the next is --from {options.first + counts['tried']}")  # fmt: skip


main()
