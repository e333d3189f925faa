"""A class as course systems give it out, in the forms that their own documentation shows.

`collect` sorts such a download into SUBMITTED, and returns what is there.
"""

import csv
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..support import ROOT
from .runs import run_here

MOODLE_WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
CANVAS_GRADEBOOK = "Student,ID,SIS User ID,SIS Login ID,Section,Homework (7001)"

Files = dict[str, bytes]  # by path
STAMP = "timestamp.txt"  # when a chapter was submitted
OURS = ("collected.csv", "teams.csv", "extensions.csv")


@dataclass(frozen=True)
class Collected:
    """What is in SUBMITTED, what the command said, and its status.

    files: learners' files by path. stamps: the files about times, by path. lines: of collected.csv.
    """

    files: Files
    stamps: dict[str, str]
    said: str
    status: int
    lines: list[dict[str, str]]

    @property
    def count(self) -> dict[str, str]:
        """The text of the script of a chapter that counts, by learner."""
        found = {tuple(path.split("/")): content for path, content in self.files.items()}
        scripts = {p: c for p, c in found.items() if len(p) == 3 and p[2] == f"{p[1]}.py"}
        return {learner: content.decode() for (learner, _, _), content in scripts.items()}

    def of(self, learner: str) -> Files:
        """Return one learner's files, by path below the learner's folder."""
        mark = f"{learner}/"
        return {p.removeprefix(mark): c for p, c in self.files.items() if p.startswith(mark)}

    def time(self, learner: str, chapter: str) -> str:
        """Return when a learner submitted a chapter; "" if that is unknown."""
        path = f"{learner}/{chapter}/timestamp.txt"
        assert self.stamps.get(path) != "", "nbgrader's formgrader stops at an empty one"
        return self.stamps.get(path, "").strip()


def collect(
    system: str, source: Path, submitted: Path, *options: object, course: Path = ROOT
) -> Collected:
    """Run `tensorgrade collect` in this process."""
    done = run_here("collect", source, submitted, "--from", system, *options, cwd=course)
    below = {path.relative_to(submitted): path for path in submitted.rglob("*") if path.is_file()}
    files = {path.as_posix(): at.read_bytes() for path, at in sorted(below.items())}
    stamps = {path: c.decode() for path, c in files.items() if path.split("/")[-1] == STAMP}
    lines = files.get(OURS[0], b"").decode().splitlines()
    own = {p: c for p, c in files.items() if p not in (*stamps, *OURS) and p[0] != "."}
    told = done.stdout + done.stderr
    return Collected(own, stamps, told, done.returncode, list(csv.DictReader(lines)))


def zipped(entries: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip with these entries; `*` before a name makes a link of it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name.removeprefix("*"))
            info.compress_type = method
            info.external_attr = (0o120777 if name.startswith("*") else 0o100644) << 16
            archive.writestr(info, content)
    return stream.getvalue()


def write_zip(path: Path, entries: dict[str, str | bytes]) -> Path:
    """Write a zip with these entries."""
    path.write_bytes(zipped(entries))
    return path


def moodle(source: Path, files: dict[str, dict[str, bytes]], when: dict[str, str]) -> Path:
    """Write `moodle.zip`; return the grading worksheet with a number for each learner."""
    lines = [MOODLE_WORKSHEET]
    with zipfile.ZipFile(source, "w") as archive:
        for number, (login, own) in enumerate(files.items(), 12345):
            name = f"{login.title()} O'Neil"
            for file, content in own.items():
                archive.writestr(f"{name}_{number}_assignsubmission_file_/{file}", content)
            archive.writestr(f"{name}_{number}_assignsubmission_onlinetext_/onlinetext.html", "")
            at = f'"{when[login]}"' if login in when else "-"
            cells = f"Submitted for grading,,100.00,Yes,{at},-,"
            lines.append(f"Participant {number},{name},{login}@uni.edu,{cells}")
    worksheet = source.with_name("worksheet.csv")
    worksheet.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return worksheet


def canvas(source: Path, files: dict[str, dict[str, bytes]], late: set[str]) -> Path:
    """Write `canvas.zip`; return the gradebook's CSV."""
    lines, number = [CANVAS_GRADEBOOK, "    Points Possible,,,,,39"], 900
    with zipfile.ZipFile(source, "w") as archive:
        for user, (login, own) in enumerate(files.items(), 101):
            for file, content in own.items():
                number += 1
                mark = "LATE_" if login in late else ""
                archive.writestr(f"oneil{login}_{mark}{user}_{number}_{file}", content)
            lines.append(f'"O\'Neil, {login.title()}",{user},u{user},{login}@uni.edu,Section 1,')
    gradebook = source.with_name("gradebook.csv")
    gradebook.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return gradebook


def gradescope(source: Path, files: dict[str, dict[str, bytes]], when: dict[str, str]) -> Path:
    """Write `assignment_1_export/`, and return that folder."""
    folder, entries = source / "assignment_1_export", []
    for number, (login, own) in enumerate(files.items(), 77):
        for file, content in own.items():
            path = folder / f"submission_{number}" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        entries.append(
            f"submission_{number}:\n  :submitters:\n  - :name: {login.title()} O'Neil\n"
            f"    :sid: '{number}'\n    :email: {login}@uni.edu\n"
            f"  :created_at: {when.get(login, '2027-01-10 12:00:00.000000000 -08:00')}\n"
            f"  :score: 0.0\n  :status: processed\n"
        )
    (folder / "submission_metadata.yml").write_text("---\n" + "".join(entries))
    return folder


def git(source: Path, files: dict[str, dict[str, bytes]]) -> Path:
    """Write repositories next to each other, and return their folder."""
    for login, own in files.items():
        repository = source / f"attention-1-{login}"
        (repository / ".git").mkdir(parents=True)
        (repository / ".git" / "config").write_text("[core]\n")
        (repository / "README.md").write_text("x")
        for file, content in own.items():
            (repository / file).parent.mkdir(parents=True, exist_ok=True)
            (repository / file).write_bytes(content)
    return source


def given_out(system: str, folder: Path, files: dict[str, Files], when=None) -> tuple[Path, Path]:
    """Write a class as a system gives it out; return that, and the class list."""
    when, roster = when or {}, folder / "none"
    source = folder / f"{system}.zip"
    if system == "moodle":
        roster = moodle(source, files, when)
    elif system == "canvas":
        roster = canvas(source, files, set(when))
    elif system == "gradescope":
        source = gradescope(folder / "g", files, when)
    else:
        source, roster = git(folder / "r", files), logins(folder, *files)
    return source, roster


def logins(folder: Path, *names: str) -> Path:
    """Write a class list with these logins."""
    folder.joinpath("logins.csv").write_text("\n".join(["username", *names]) + "\n")
    return folder / "logins.csv"
