# SPDX-License-Identifier: Apache-2.0
"""What is known of a test without a change: how long it takes, which C files it links, which functions it enters, and which programs
it starts.

One file of JSON for each test that passes, which is good for as long as the program, those that it starts, what measures it and the
fields are the same, so that nothing is measured twice. A test that fails or takes too long is measured each time: the machine may have paused.
"""
import dataclasses
import hashlib
import json
import pathlib
import re
import struct
import subprocess

SLOTS, OFFSET_BITS = 1 << 15, 40  # as in entered.c


@dataclasses.dataclass
class Measured:
    of: str  # digest()
    why: str  # why it is left out, or empty
    seconds: float
    files: list
    entered: list
    programs: list = dataclasses.field(default_factory=list)  # that a unit test starts
    failed: list = dataclasses.field(default_factory=list)  # sentences


def digest(paths):
    """Of the contents of these files and the names of the fields."""
    whole = hashlib.sha256(" ".join(field.name for field in dataclasses.fields(Measured)).encode())
    for path in paths:
        whole.update(path.read_bytes())
    return whole.hexdigest()


def kept(folder, test, of):
    """What was measured of this test before, or None. `of` gives the digest of a test that starts these programs."""
    path = folder / f"{test.replace('/', '+')}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return Measured(**found) if found.get("of") == of(found.get("programs", [])) else None


def keep(folder, test, measured):
    folder.mkdir(exist_ok=True)
    path = folder / f"{test.replace('/', '+')}.json"
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps(dataclasses.asdict(measured)))
    whole.rename(path)


def files_in(program):
    """The names of the C files that a program links."""
    symbols = subprocess.run(["nm", "-a", program], capture_output=True, text=True).stdout
    return re.findall(r"^\S+ a (\S+\.c)$", symbols, re.MULTILINE)


def object_number(name):
    """As in entered.c."""
    number = 2166136261
    for byte in name.encode():
        number = (number ^ byte) * 16777619 & 0xFFFFFFFF
    return number & 0xFFFFFF


def functions_in(program):
    """The name of each function, by number of the object and offset."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True).stdout
    number = object_number(pathlib.Path(program).name) << OFFSET_BITS
    return {number | int(at, 16): name for at, name in re.findall(r"^(\S+) [tT] (\w+)", symbols, re.MULTILINE)}


def entries_of(table):
    return [entry for (entry,) in struct.iter_unpack("=Q", table) if entry]


def entered_functions(table, *names):
    """Those of a table that entered.c filled; `names` are of functions_in()."""
    return sorted({known[entry] for known in names for entry in entries_of(table) if entry in known})


def entered_programs(table, programs):
    """Those of these names that have a function in the table."""
    numbers = {entry >> OFFSET_BITS for entry in entries_of(table)}
    return [name for name in programs if object_number(name) in numbers]


def new_table(path):
    path.write_bytes(bytes(8 * SLOTS))
    return path
