# SPDX-License-Identifier: Apache-2.0
"""The verdicts of mutants.py over a tree that stands in for the real one: nothing is compiled, and each test ends as the case says.

A line for each sentence: "ok SENTENCE", or "failed SENTENCE".
"""
import pathlib
import sys
import tempfile

import baseline
import mutants
import places
import tree

FILE = pathlib.Path("lib/base/frame.c")
SOURCE = "int f(int a)\n{\n    return a < 2;\n}\n"
NEAR, FAR = "tests/unit/lib/base/frame_test", "tests/unit/lib/engine/batch_test"
PASSES, FAILS, TOO_LONG = (0, "ok 1 - x"), (0, "not ok 1 - x"), (None, "")


class StandIn:
    """`ends` are those of each test, in the order in which it is run; a test without any does not link."""

    def __init__(self, **ends):
        self.ends = {{"near": NEAR, "far": FAR}[name]: list(those) for name, those in ends.items()}
        self.tests = {test: baseline.Measured("", "", 1, [FILE.name], ["f"]) for test in self.ends}
        self.files = {}

    def started(self, _):
        return {}

    def compile(self, file, source, folder, *flags):
        made = pathlib.Path(folder) / "made.o"
        made.write_text(source)
        return None if tree.SANITIZED[0] in flags else made

    def changed(self, test, *_):
        return ([test], []) if self.ends[test] else None

    def run(self, test, command):
        ends = self.ends[test]
        return tree.Result(*(ends.pop(0) if len(ends) > 1 else ends[0]), 1)


def verdict(**ends):
    place = list(places.places_of(SOURCE))[0]
    with tempfile.TemporaryDirectory() as folder:
        return mutants.Trial(StandIn(**ends), FILE, SOURCE, place, 90, folder).verdict()


def a_mutant_survives_tests_that_pass():
    return verdict(near=[PASSES], far=[PASSES]) == ("survived", "2 tests")


def a_mutant_is_killed_by_a_test_that_fails():
    return verdict(near=[PASSES], far=[FAILS])[0] == "killed"


def a_mutant_that_links_into_no_test_is_not_counted():
    return verdict(near=[], far=[]) == ("not counted", "does not link")


def a_test_that_does_not_link_is_no_test_that_has_passed():
    return verdict(near=[], far=[PASSES]) == ("survived", "1 tests")


def a_mutant_without_a_test_survives():
    return verdict() == ("survived", "no test enters the function")


def a_test_that_takes_too_long_once_does_not_kill():
    return verdict(near=[TOO_LONG, PASSES])[0] == "survived"


def a_test_that_takes_too_long_twice_kills():
    return verdict(near=[TOO_LONG, TOO_LONG]) == ("killed", f"{NEAR}: {tree.TOO_LONG}")


def measured_in(folder, *results):
    """What is known of a test after each of the runs that end so."""
    made = tree.Tree(pathlib.Path(folder), 1)
    program = made.build / NEAR
    program.parent.mkdir(parents=True)
    program.write_text("")
    source = made.source / "tests/mutants/entered.c"
    source.parent.mkdir(parents=True)
    source.write_text("")
    ends = list(results)
    made.run = lambda *_, **more: tree.Result(*ends.pop(0), 1)
    return made, [made.measure_test(NEAR, "", [], []).why for _ in results], ends, source


def a_test_that_took_too_long_without_a_change_is_measured_again():
    with tempfile.TemporaryDirectory() as folder:
        _, found, left, _ = measured_in(folder, TOO_LONG, PASSES)
        return found == [tree.TOO_LONG, ""] and not left


def a_test_that_has_passed_is_not():
    with tempfile.TemporaryDirectory() as folder:
        _, found, left, _ = measured_in(folder, PASSES, FAILS)
        return found == ["", ""] and left == [FAILS]


def but_after_a_change_of_what_measures_it():
    with tempfile.TemporaryDirectory() as folder:
        made, _, left, source = measured_in(folder, PASSES, FAILS)
        source.write_text("another")
        return made.measure_test(NEAR, "", [], []).why == "not ok 1 - x" and not left


def what_was_kept_with_other_fields_is_measured_again():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "test.json").write_text('{"of": "of a former version", "former": 1}')
        return baseline.kept(folder, "test", lambda _: baseline.digest([])) is None


SSH = "tests/unit/launcher/ssh/ssh_process_test"


def starts_hvdssh(folder):
    """A test that starts hvdssh, and links ssh_process.c as hvdssh does; ssh_pump.c is in hvdssh alone. Nothing is linked."""
    made = tree.Tree(pathlib.Path(folder), 1)
    made.files = {"hvdssh": ["ssh_pump.c", "ssh_process.c"], "hvdrun": ["ssh_process.c"]}
    made.tests = {SSH: baseline.Measured("", "", 1, ["ssh_process.c", "hosts.c"], ["move"], ["hvdssh"])}
    made.link = lambda program, *_: f"new {program}"
    return made


def a_program_that_a_unit_test_starts_has_the_change():
    made = starts_hvdssh("/nowhere")
    mounts = ["new hvdssh", made.build / "hvdssh"]
    return [made.changed(SSH, pathlib.Path(name), "made.o") for name in ("ssh_pump.c", "ssh_process.c", "hosts.c")] == [
        ([made.build / SSH], mounts),
        ([f"new {SSH}"], mounts),
        ([f"new {SSH}"], []),
    ]


def a_test_whose_program_does_not_link_does_not_link():
    made = starts_hvdssh("/nowhere")
    made.link = lambda program, *_: program == SSH and "new"
    return made.changed(SSH, pathlib.Path("ssh_process.c"), "made.o") is None


def a_test_sees_what_a_program_enters_that_it_starts():
    made = starts_hvdssh("/nowhere")
    return [mutants.sees(made, SSH, pathlib.Path(file), function) for file, function in (("ssh_pump.c", "move"), ("ssh_pump.c", "end"))] == [True, False]


def a_program_is_started_that_has_a_function_in_the_table():
    with tempfile.TemporaryDirectory() as folder:
        table = baseline.new_table(pathlib.Path(folder) / "table")
        table.write_bytes((baseline.object_number("hvdssh") << baseline.OFFSET_BITS | 64).to_bytes(8, sys.byteorder))
        return baseline.entered_programs(table.read_bytes(), ["hvdrun", "hvdssh"]) == ["hvdssh"]


def what_was_kept_is_measured_again_after_a_change_of_a_program_that_is_started():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        baseline.keep(folder, "test", baseline.Measured("hvdssh as it was", "", 1, [], [], ["hvdssh"]))
        kept = [baseline.kept(folder, "test", lambda started: f"{' '.join(started)} {state}") for state in ("as it was", "changed")]
        return kept[0] is not None and kept[1] is None


CASES = [
    a_mutant_survives_tests_that_pass,
    a_mutant_is_killed_by_a_test_that_fails,
    a_mutant_that_links_into_no_test_is_not_counted,
    a_test_that_does_not_link_is_no_test_that_has_passed,
    a_mutant_without_a_test_survives,
    a_test_that_takes_too_long_once_does_not_kill,
    a_test_that_takes_too_long_twice_kills,
    a_test_that_took_too_long_without_a_change_is_measured_again,
    a_test_that_has_passed_is_not,
    but_after_a_change_of_what_measures_it,
    what_was_kept_with_other_fields_is_measured_again,
    a_program_that_a_unit_test_starts_has_the_change,
    a_test_whose_program_does_not_link_does_not_link,
    a_test_sees_what_a_program_enters_that_it_starts,
    a_program_is_started_that_has_a_function_in_the_table,
    what_was_kept_is_measured_again_after_a_change_of_a_program_that_is_started,
]

for case in CASES:
    print("ok" if case() else "failed", case.__name__.replace("_", " "))
