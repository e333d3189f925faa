"""Random downloads: names, archives and metadata that learners make, from each system.

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
from .downloads import collect, write_zip, zipped
from .runs import CH1 as CHAPTER
from .runs import write_course

BATCHES = 8
pytestmark = [
    pytest.mark.proof,
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


class Class:
    """A random class: what its system chose for it, and what its learners did."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.system = SYSTEMS[seed % len(SYSTEMS)]
        numbers = self.random.sample(range(1, 30), self.random.randint(1, 7))
        self.names = {number: self.name() for number in numbers}
        # An account's own name: no other learner has it.
        self.logins = {n: self.random.choice(["ada-", "hw-", "x-", ""]) + f"u{n}" for n in numbers}
        self.entries = {
            self.path(owner, name): self.content(owner, name)
            for owner in numbers
            for name in self.random.choices(FILES, k=self.random.randint(0, 5))
        }
        self.there = {owner for content in self.entries.values() for owner in owners(content)}
        if self.system == "gradescope":
            self.entries["assignment_1/submission_metadata.yml"] = self.metadata()

    def name(self) -> str:
        """A display name that a learner may choose; systems take slashes out."""
        return "".join(self.random.choices(NASTY, k=self.random.choice((1, 1, 1, 2))))

    def content(self, owner: int, name: str) -> bytes:
        """A file that says whose it is."""
        text = b"owner %d " % owner + self.random.randbytes(self.random.choice((0, 0, 9, 2000)))
        is_archive = name.endswith(".zip") and self.random.random() < 0.7
        return zipped(dict.fromkeys(self.random.choices(FILES, k=2), text)) if is_archive else text

    def path(self, owner: int, name: str) -> str:
        """Return the place where the system puts a file, under its own name or an odd one."""
        name = name if self.random.random() < 0.8 else self.name() + ".py"
        known_as, number = self.names[owner], self.random.randrange(10**6)
        late, plain = self.random.choice(["", "LATE_"]), re.sub(r"\W|_", "", known_as) or "x"
        return {
            "moodle": f"{known_as.replace('_', ' ')}_{owner}_assignsubmission_file/{name}",
            "canvas": f"{plain}_{late}{owner}_{number}_{name.replace('/', '-')}",
            "gradescope": f"assignment_1/submission_{owner}/{name}",
            "git": f"hw-{self.logins[owner]}/{name}",
        }[self.system]

    def metadata(self) -> str:
        """Return Gradescope's metadata. Learners choose their names and ids."""
        records = {}
        for n, name in self.names.items():
            sid = str(self.random.choice([n, 1, "", self.name()]))
            person = {":name": name, ":sid": sid, ":email": f"{self.logins[n]}@x.org"}
            at = "2026-11-10 10:00:00.123456789 -08:00"
            records[f"submission_{n}"] = {":submitters": [person], ":created_at": at}
        return yaml.safe_dump(records, allow_unicode=self.random.random() < 0.5)

    def roster(self, path: Path) -> set[int]:
        """Write the system's list of some learners; return their numbers."""
        listed = {n: login for n, login in self.logins.items() if self.random.random() < 0.8}
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("Identifier", "ID", "Username", "Email", "Full name"))
            for n, login in (listed or {99: "z"}).items():
                name = self.names.get(n, "z")
                writer.writerow((f"Participant {n}", n, login, f"{login}@x.org", name))
        return {*listed}


def owners(data: bytes) -> set[int]:
    """Return the owner of a file by its content; of an archive, by the content of its files."""
    with suppress(Exception), zipfile.ZipFile(io.BytesIO(data)) as archive:
        data = b"".join(archive.read(info) for info in archive.infolist())
    return {int(found) for found in OWNER.findall(data)}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_download_stops_collect_or_comes_under_a_wrong_name(tmp_path, batch):
    write_course(tmp_path / "course", lateness={"zone": "UTC"})
    for seed in range(batch, amount(BATCHES), BATCHES):
        folder, one = tmp_path / f"{seed}", Class(seed)
        folder.mkdir()
        if one.there:
            write_zip(folder / "download.zip", one.entries)
            check(one, folder, tmp_path / "course")


def check(one: Class, folder: Path, course: Path) -> None:
    """Collect a download and look whose files are where.

    It may be refused as a whole if nobody in it is known, or only half of the clones; learners with
    hidden files alone are not in it.
    """
    listed, source = one.roster(folder / "list.csv"), folder / "download.zip"
    asked = ("--roster", folder / "list.csv")
    found = collect(one.system, source, folder / "in", *asked, course=course)
    known = one.there & listed
    if found.status == 2 and len(known) <= len(one.there - known) + 1:
        return
    assert found.status in (0, 1), (one.system, found.said)
    assert all(len(line) < 320 for line in found.said.splitlines() if line.startswith("note: "))
    whose: dict[int, set[str]] = {}
    for path in filter(Path.is_file, (folder / "in").rglob("*")):
        for owner in owners(path.read_bytes()):
            whose.setdefault(owner, set()).add(path.relative_to(folder / "in").parts[0])
    students = [student for found in whose.values() for student in found]
    assert len(students) == len(set(students)) == len(whose), "a folder for each"
    for owner, (student,) in whose.items():
        assert owner not in listed or student == one.logins[owner], "the folder that the list gives"
        assert owner in listed or one.system in ("canvas", "gradescope"), "nobody is guessed"
