"""Random downloads: names, archives, dates and metadata that learners make, from each system.

No download stops `collect`, and no file comes under another learner's name. Each file says inside
whose it is.
"""

import csv
import io
import os
import random
import re
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from ..support import amount
from .downloads import collect, zipped
from .runs import CH1 as CHAPTER
from .runs import write_course

BATCHES = 8
pytestmark = [
    pytest.mark.proof,
    pytest.mark.filterwarnings("ignore:Duplicate name"),
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names"),
]
SYSTEMS = ("moodle", "canvas", "gradescope", "git")
OWNER = re.compile(rb"owner (\d+) ")

NASTY = [
    "Ada Lovelace", "Ada Lovelace_1_assignsubmission_file", "..", ".ben", "a\nb", "\r", "x" * 300,
    "a_1", "A_1", "timestamp.txt", "venv", "con", "ünï", "e\u0301", "\u202eevil", "\x1b[31mred",
    "[bold]", "_2_assignsubmission_file_", "submission_2", " ", "-", "=1+1", "\U0001f600" * 40,
    "a\\b", "C:x", "~", "{}", "'", '"', ",", ";",
]  # fmt: skip
FILES = [
    f"{CHAPTER}.py", f"{CHAPTER}.py", f"{CHAPTER} (1).py", f"{CHAPTER}.PY", f"{CHAPTER}.ipynb",
    f"{CHAPTER}.txt", "ch2_self_attention.py", "work.zip", "a.b.zip", "submission_metadata.yml",
    "timestamp.txt", "solution.py", f"{CHAPTER} ({'0' * 180}1).py", f"submission_1/{CHAPTER}.py",
    f"Ada_1_assignsubmission_file_/{CHAPTER}.py", f"ada_101_9_{CHAPTER}.py", f"a/b/{CHAPTER}.py",
    f"venv/{CHAPTER}.py", f"{CHAPTER}/{CHAPTER}.py", f"{CHAPTER}",
]  # fmt: skip
TIMES = [
    "2026-11-10 10:00:00 +0000", "0001-01-01 00:00:00 +1400", "9999-12-31 23:59:59 -1400", "", "x",
    "2026-02-30 10:00 UTC", "2026-11-10 10:00:00.123456789 -08:00", "1" * 500, "\x00",
]  # fmt: skip


class Class:
    """A random class: what its system chose for it, and what its learners did."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.system = SYSTEMS[seed % len(SYSTEMS)]
        numbers = self.random.sample(range(1, 30), self.random.randint(1, 7))
        self.names = {number: self.name() for number in numbers}
        # An account's own name: no other learner has it.
        self.logins = {n: self.random.choice(["ada-", "hw-", "x-", ""]) + f"u{n}" for n in numbers}
        self.there: set[int] = set()  # those of whom the download has files

    def name(self) -> str:
        """A display name that a learner may choose; systems take slashes out."""
        parts = self.random.choices(NASTY, k=self.random.choice((1, 1, 1, 2)))
        return "".join(parts).replace("/", " ").replace("\0", " ") or "x"

    def content(self, owner: int, name: str) -> bytes:
        """A file that says whose it is."""
        text = b"owner %d " % owner + self.random.randbytes(self.random.choice((0, 0, 9, 2000)))
        if not name.endswith(".zip") or self.random.random() < 0.3:
            return text
        method = self.random.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2])
        return zipped(dict.fromkeys(self.random.choices(FILES, k=2), text), method)

    def path(self, owner: int, name: str) -> str:
        """Return the place where the system puts a file."""
        known_as, number = self.names[owner], self.random.randrange(10**6)
        late, plain = self.random.choice(["", "LATE_"]), re.sub(r"\W|_", "", known_as) or "x"
        return {
            "moodle": f"{known_as.replace('_', ' ')}_{owner}_assignsubmission_file/{name}",
            "canvas": f"{plain}_{late}{owner}_{number}_{name.replace('/', '-')}",
            "gradescope": f"assignment_1/submission_{owner}/{name}",
            "git": f"hw-{self.logins[owner]}/{name}",
        }[self.system]

    def metadata(self) -> str:
        """Return Gradescope's metadata."""
        records = {}
        for n, name in self.names.items():
            sid = str(self.random.choice([n, 1, "", self.name()]))
            person = {":name": name, ":sid": sid, ":email": f"{self.logins[n]}@x.org"}
            at = self.random.choice(TIMES)
            records[f"submission_{n}"] = {":submitters": [person], ":created_at": at}
        return yaml.safe_dump(records, allow_unicode=self.random.random() < 0.5)

    def write(self, path: Path) -> None:
        """The download as a zip, in which the data of some entries may be damaged."""
        places = []
        with zipfile.ZipFile(path, "w") as archive:
            for owner in self.names:
                for name in self.random.choices(FILES, k=self.random.randint(0, 5)):
                    name = name if self.random.random() < 0.8 else self.name() + ".py"
                    info = zipfile.ZipInfo(self.path(owner, name))
                    self.there.add(owner)
                    methods = [zipfile.ZIP_DEFLATED] * 5 + [zipfile.ZIP_STORED, zipfile.ZIP_LZMA]
                    info.compress_type = self.random.choice(methods)
                    if self.random.random() < 0.05:
                        info.external_attr = 0o120777 << 16
                    archive.writestr(info, self.content(owner, name))
                    at = info.header_offset + 30 + len(info.orig_filename.encode())
                    places.append((at, info.compress_size))
            if self.system == "gradescope":
                archive.writestr("assignment_1/submission_metadata.yml", self.metadata())
        if places and self.random.random() < 0.3:
            at, size = self.random.choice(places)
            data = bytearray(path.read_bytes())
            data[at : at + size] = self.random.randbytes(size)
            path.write_bytes(data)

    def roster(self, path: Path) -> dict[str, int]:
        """Write the system's list of some learners; return their numbers by login."""
        listed = {login: n for n, login in self.logins.items() if self.random.random() < 0.8}
        times = ["-", "", "Monday, 1 January 0001, 12:00 AM", "10 November 2026, 10:00 AM"]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(HEADER)
            for login, n in (listed or {"z": 99}).items():
                name, at = self.names.get(n, "z"), self.random.choice(times)
                writer.writerow((f"Participant {n}", n, login, f"{login}@x.org", name, at))
        return listed


HEADER = ("Identifier", "ID", "Username", "Email", "Full name", "Last modified (submission)")


def owners(path: Path) -> set[int]:
    """Return the owner of a file by its content; of an archive, by the content of its files."""
    data = path.read_bytes()
    with suppress(Exception), zipfile.ZipFile(io.BytesIO(data)) as archive:
        data = b"".join(archive.read(info) for info in archive.infolist())
    return {int(found) for found in OWNER.findall(data)}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_download_stops_collect_or_comes_under_a_wrong_name(tmp_path, batch):
    write_course(tmp_path / "course", lateness={"zone": "UTC"})
    for seed in range(batch, amount(BATCHES), BATCHES):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        one = Class(seed)
        one.write(folder / "download.zip")
        if one.there:
            check(one, folder, tmp_path / "course")


def check(one: Class, folder: Path, course: Path) -> None:
    """Collect a download and look whose files are where.

    It may be refused as a whole if nobody in it is known, or only half of the clones; learners with
    hidden files alone are not in it.
    """
    listed, source = one.roster(folder / "list.csv"), folder / "download.zip"
    asked = ("--roster", folder / "list.csv")
    found = collect(one.system, source, folder / "in", *asked, course=course)
    known = one.there & {*listed.values()}
    if found.status == 2 and len(known) <= len(one.there - known) + 1:
        return
    assert found.status in (0, 1), (one.system, found.said)
    assert all(len(line) < 320 for line in found.said.splitlines() if line.startswith("note: "))
    whose: dict[int, set[str]] = {}
    for path in filter(Path.is_file, (folder / "in").rglob("*")):
        for owner in owners(path):
            whose.setdefault(owner, set()).add(path.relative_to(folder / "in").parts[0])
    students = [student for found in whose.values() for student in found]
    assert len(students) == len(set(students)) == len(whose), "a folder for each"
    for owner, (student,) in whose.items():
        login = one.logins[owner]
        assert login not in listed or student == login, "the folder that the list gives"
        assert login in listed or one.system in ("canvas", "gradescope"), "nobody is guessed"
