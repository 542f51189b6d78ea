# SPDX-License-Identifier: Apache-2.0
"""A copy of the sources and its build: compiles and links what has a change, and runs tests of it.

All is built once, and the output of make is kept: a mutant repeats the one command that compiled its file, and for each
program the one that linked it, with the new object before the archives, from which the linker takes only what is missing then.
So nothing in the build changes. A test in sh runs what is installed in tests/stage, and a unit test may start a program of the build, such
as hvdssh: there the new program is mounted over the old one.

A mutant may do anything, also kill(-1, SIGKILL). Each test runs in namespaces of its own (processes, mounts, IPC), without
control groups, with limits of time and memory.
"""
import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import baseline

PARTS = ("lib", "launcher", "rendezvous")
SIMULATORS = ("tests/simulator/simulate", "tests/simulator/simulate_elastic")
PROGRAMS = ("hvdrun", "hvdagent", "hvdssh", "hvdrendezvousd")
FIRST_S, SLOWER = 20, 5  # a test has this time, and what it needs without a change as often as that
UNKNOWN_S = 100
PROGRAM_TEST_S = 40  # a test in sh that needs longer without a change is left out
PATIENCE_S = 20
EXCUSED = 3
TOO_LONG = "took too long"
OTHER_LANGUAGES = re.compile(r"^python_|\$\{?(FC|HEAT|FASHION_MNIST|FUNCTION_APPROXIMATION|PINN|SOFTMAX_REGRESSION|SYNTHETIC_BENCHMARK)\b")
COMPILE = re.compile(r"--mode=compile (?:ccache )?(.*?) -MT (\S+)\.lo .* -c -o \S+\.lo (?:`[^`]*`)?(?:\.\./source/)?(\S+\.c)\b")
LINK = re.compile(r"^(/bin/sh \S*libtool\S* .*--mode=link .*) -o (tests/\S+|" + "|".join(PROGRAMS) + r") (.*)$", re.MULTILINE)
CFLAGS = "-O0 -g0 -finstrument-functions"
OPTIMISED = ("-O2", "-g0", "-fno-instrument-functions")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
MEMORY = 8 << 30
NOT_COPIED = shutil.ignore_patterns(".git", "autom4te.cache", "__pycache__", "mutants.py", "places.py", "tree.py", "baseline.py", "equivalent.txt")
ALONE = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child"] + ["--user", "--map-root-user"] * (os.geteuid() != 0)
IN_NAMESPACE = """mount -t proc proc /proc && mount -t tmpfs none /dev/shm || exit 99
[ ! -d /sys/fs/cgroup ] || mount -t tmpfs none /sys/fs/cgroup || exit 99
while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 99; shift 2; done
shift
"$@"
exit $?"""


class Result:
    """How a test ended: `why` is empty if it passed, or only sentences of `excused` failed."""

    def __init__(self, status, output, seconds, excused=()):
        failed = re.findall(r"^not ok.*", output, re.MULTILINE)
        self.failed = [sentence_of(line) for line in failed]
        news = [line for line in failed if sentence_of(line) not in excused]
        self.seconds = seconds
        if status is None:
            self.why = TOO_LONG
        elif news:
            self.why = news[0]
        else:
            self.why = "" if status == 0 or failed else f"exit status {status}"


def sentence_of(line):
    """Without its number, in which a test in sh that has failed before may differ."""
    return re.sub(r"^not ok \d+", "", line)


def set_limits():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    set_no_core()


def set_no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Tree:
    def __init__(self, work, jobs):
        self.work, self.source, self.build = work, work / "source", work / "build"
        self.jobs = jobs
        self.tests = {}  # what is known of each test: a baseline.Measured
        self.compiled = {}  # the compiler and its options, of each file
        self.links = {}  # the command of each program, before and behind "-o PROGRAM"
        self.files = {}  # the names of the C files in each of PROGRAMS
        self.variables = {}  # of tests in sh
        self.staged = {}  # where each of PROGRAMS is installed

    def copy(self, origin, arguments):
        """Copies what has changed, so that little is built again. `origin` is never written to."""

        def copy_if_other(source, target):
            is_new = not os.path.exists(target)
            if is_new or pathlib.Path(source).read_bytes() != pathlib.Path(target).read_bytes():
                shutil.copy2(source, target)
                if not is_new:
                    os.utime(target)

        def skipped(folder, names):
            builds = {n for n in names if (pathlib.Path(folder) / n / "config.status").exists()}
            return builds | {*NOT_COPIED(folder, names)} | {n for n in names if (pathlib.Path(folder) / n).resolve() == self.work}

        shutil.copytree(origin, self.source, symlinks=True, dirs_exist_ok=True, ignore=skipped, copy_function=copy_if_other)
        if not (self.build / "config.status").exists():
            self.build.mkdir(exist_ok=True)
            compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
            command = ["../source/configure", "--quiet", f"CC={compiler}", f"CFLAGS={CFLAGS}", *arguments]
            subprocess.run(command, cwd=self.build, check=True)

    def make(self, *targets):
        """The paths are relative, so that another copy finds the same objects in ccache."""
        libtool = "LIBTOOL=/bin/sh ../source/build-aux/libtool-quick"
        command = ["make", "-Otarget", f"-j{self.jobs}", libtool, "V=1", *targets]
        with open(self.build / "commands.log", "a") as log:
            return subprocess.run(command, cwd=self.build, stdout=log, stderr=subprocess.PIPE, text=True)

    def make_all(self):
        """Builds all programs and tests; returns the names of the tests that could be built."""
        units = [str(p.relative_to(self.source).with_suffix("")) for part in PARTS for p in self.source.glob(f"tests/unit/{part}/**/*_test.c")]
        made = self.make("-k", *sorted(units), *SIMULATORS, *PROGRAMS)
        self.make("-k", "check", "TESTS=")
        variables = subprocess.run(["make", "-s", "print-test-variables"], cwd=self.build, stdout=subprocess.PIPE, text=True, check=True).stdout
        self.variables = dict(line.split("=", 1) for line in variables.splitlines() if "=" in line)
        self.read_commands()
        unit_tests = [test for test in [*sorted(units), *SIMULATORS] if (self.build / test).exists()]
        if not unit_tests:
            sys.exit(f"mutants: no test can be built:\n{made.stderr}")
        return unit_tests + self.find_programs()

    def find_programs(self):
        """The tests in sh that run what is installed, on this host alone, without trainings and other languages."""
        staged = {p.name: p for p in (self.build / "tests/stage").rglob("hvd*") if p.name in PROGRAMS and p.is_file()}
        self.staged = {name: staged[name] for name in PROGRAMS if name in staged and name in self.links}
        self.files = {name: baseline.files_in(self.build / name) for name in self.staged}
        scripts = {p: p.read_text() for p in (self.source / "tests/program").glob("*_test.sh")} if self.staged else {}
        ours = (p for p, text in scripts.items() if "HVD" in text and "tests/hosts.sh" not in text and not OTHER_LANGUAGES.search(p.name + text))
        return sorted(str(p.relative_to(self.source)) for p in ours)

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

    def link(self, test, made, *more):
        """The program with this object beside it."""
        before, behind = self.links[test]
        program = made.parent / os.path.basename(test)
        command = [*before, *more, "-o", str(program), str(made), *behind]
        return program if subprocess.run(command, cwd=self.build, capture_output=True).returncode == 0 else None

    def started(self, test):
        """Where the programs are that the test may start, by name."""
        return self.staged if test.endswith(".sh") else {name: self.build / name for name in self.tests[test].programs}

    def changed(self, test, file, made, *more):
        """What run() wants to run this test of this object: a command, and pairs of files to mount. None if it does not link."""
        words, mounts = self.command(test)
        if file.name in self.tests[test].files:
            words = [self.link(test, made, *more)]
        for name, place in self.started(test).items():
            if file.name in self.files[name]:
                mounts += [self.link(name, made, *more), place]
        return (words, mounts) if all(words + mounts) else None

    def command(self, test):
        """The same without a change."""
        return (["sh", self.source / test] if test.endswith(".sh") else [self.build / test], [])

    def run(self, test, command, **more):
        """Runs it; `more` are variables."""
        words, mounts = command
        unknown_s = FIRST_S + PROGRAM_TEST_S if test.endswith(".sh") else UNKNOWN_S
        limit = FIRST_S + SLOWER * self.tests[test].seconds if test in self.tests else unknown_s
        few = "yes" if test in SIMULATORS or "ASAN_OPTIONS" in more else "no"  # a quarter of the jobs
        variables = {"srcdir": str(self.source), "builddir": str(self.build), "CK_DEFAULT_TIMEOUT": "20", "CK_TIMEOUT_MULTIPLIER": "1"}
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as private, tempfile.TemporaryFile("w+", errors="replace") as output:
            child = subprocess.Popen(
                [*ALONE, "sh", "-c", IN_NAMESPACE, "sh", *map(str, mounts), "--", *map(str, words)], cwd=self.build,
                env={**os.environ, **self.variables, **variables, "SANITIZERS": few, "PATIENCE_S": str(PATIENCE_S), "TMPDIR": private, **more},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=set_no_core if "ASAN_OPTIONS" in more else set_limits,
            )  # fmt: skip
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                child.kill()  # and so the first process of the namespace, with which the others end
                child.wait()
            output.seek(0)
            excused = self.tests[test].failed if test in self.tests else ()
            return Result(status, output.read(10 << 20), time.monotonic() - start, excused)

    def table(self):
        """Where a test has its table of functions, for processes without its variables."""
        return self.work / "recording" / "table"

    def table_macro(self):
        return f'-DENTERED_TABLE="{self.table()}"'

    def recording(self, folder):
        """The programs with entered.c in them, since one is static and would not load it; and what run() mounts."""
        made = folder / "entered.o"
        source = self.source / "tests/mutants/entered.c"
        subprocess.run(["gcc", "-O2", "-fPIC", self.table_macro(), "-c", "-o", made, source], check=True)
        programs = {name: self.link(name, made) for name in self.staged}
        mounts = [(program, place) for name, program in programs.items() if program for place in (self.staged[name], self.build / name)]
        return list(filter(None, programs.values())), [path for pair in mounts for path in pair]

    def why_not(self, test, result):
        """Why a test that ended so without a change is left out, or empty."""
        if test.endswith(".sh") and result.seconds > PROGRAM_TEST_S:
            return "takes too long"
        few = test.endswith(".sh") and 0 < len(result.failed) <= EXCUSED
        return "" if few else result.why

    def measure(self):
        """Builds all, and runs each test once as it is, if it has not passed before. One that fails here is left out this time;
        of a test in sh a few sentences may fail, which then say nothing."""
        tests = self.make_all()
        folder = self.work / "recording"
        folder.mkdir(exist_ok=True)
        recorder = folder / "entered.so"
        source = self.source / "tests/mutants/entered.c"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", self.table_macro(), "-o", recorder, source], check=True)
        self.table().touch()
        programs, mounts = self.recording(folder)
        names = [baseline.functions_in(program) for program in programs]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, found in zip(tests, pool.map(lambda test: self.measure_test(test, recorder, mounts, names), tests)):
                if found.why:
                    print(f"# left out: {test}, without a change: {found.why}", flush=True)
                else:
                    self.tests[test] = found
        if not self.tests:
            sys.exit("mutants: no test passes")

    def measure_test(self, test, recorder, mounts, names):
        is_script = test.endswith(".sh")
        program = self.source / test if is_script else self.build / test
        support = self.source / "tests"
        measuring = [program, support / "mutants/entered.c", *([support / "tap.sh", *self.staged.values()] if is_script else ())]

        def of(started):
            return baseline.digest(measuring + [self.build / name for name in started])

        known = baseline.kept(self.work / "baseline", test, of)
        if known:
            return known
        with tempfile.TemporaryDirectory(dir=self.work) as name:
            table = baseline.new_table(pathlib.Path(name) / "table")
            command = (self.command(test)[0], [table, self.table(), *mounts])
            result = self.run(test, command, LD_PRELOAD=str(recorder), ENTERED_FUNCTIONS=str(table))
            own = [] if is_script else [baseline.functions_in(program)]
            entered = baseline.entered_functions(table.read_bytes(), *own, *names)
            started = [] if is_script else baseline.entered_programs(table.read_bytes(), self.files)
        files = [] if is_script else baseline.files_in(program)
        found = baseline.Measured(of(started), self.why_not(test, result), result.seconds, files, entered, started, result.failed)
        if not found.why:
            baseline.keep(self.work / "baseline", test, found)
        return found
