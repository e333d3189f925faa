"""Grade definitions like those in public code, and compare with the verdicts they should get.

A folder holds the definitions, and `cases.tsv` with a row for each: the points, the known mistakes,
the code of the line to report, and the beginning of the message. The column `gap` says what is
still wrong with today's verdict.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...attempts.maker import AttemptMaker
from ...attempts.pipeline import verdict
from ...attempts.setup import Setup
from ...attempts.verdict import Verdict
from ...course import CourseError
from ...project import Project
from ...sources.submitted_files import SubmittedFiles
from ...testing.collected import CollectedTests

FOLDER = "benchmarks/open_world"
TITLES = ("exercise", "right, accepted", "wrong, refused", "named", "located", "false")


@dataclass(frozen=True)
class Judged:
    """A definition's row of `cases.tsv`, its verdict, and the code of the reported line."""

    row: dict[str, str]
    verdict: Verdict
    line: str

    @property
    def is_right(self) -> bool:
        """True if the definition deserves to be accepted."""
        return self.row["says"].startswith("Right.")

    @property
    def is_refused(self) -> bool:
        """True if the verdict says that something other than a name or an order is wrong."""
        return not self.verdict.message.startswith("Right.")

    @property
    def is_named(self) -> bool:
        """True if the verdict has the names of all mistakes, and no other."""
        return bool(self.row["mistakes"]) and self.names == set(self.row["mistakes"].split())

    @property
    def is_located(self) -> bool:
        """True if the verdict has the right line."""
        return bool(self.line) and self.line == self.row["line"]

    @property
    def is_false(self) -> bool:
        """True if the verdict has a name that does not belong there, or a wrong line."""
        named = self.names - set(self.row["mistakes"].split())
        return bool(named) or (bool(self.line) and self.line != self.row["line"])

    @property
    def names(self) -> set[str]:
        """The names that the verdict gives."""
        return set(self.verdict.mistakes)


def cases(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the table. Raises CourseError if there is none."""
    path = folder / "cases.tsv"
    if not path.exists():
        raise CourseError(f"{path} is missing: the definitions to measure, with their verdicts")
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file, delimiter="\t")]


def measure(project: Project) -> Iterator[Judged]:
    """Grade each definition below its chapter's solution, on hidden cases."""
    folder = project.root / FOLDER
    maker, tests = AttemptMaker(Setup(project.graders, "none")), CollectedTests(project.graders)
    for row in cases(folder):
        code = (folder / f"{row['name']}.py").read_text(encoding="utf-8")
        chapter, name = row["chapter"], row["exercise"]
        text = f"{project.solution(chapter).read_text(encoding='utf-8')}\n\n{code}"
        beside = project.beside(chapter)
        submitted_files = SubmittedFiles(
            "somebody", chapter, f"{chapter}.py", text.encode(), beside=beside
        )
        attempt = maker.attempt_from_source(chapter, submitted_files)
        try:
            checks = tests.results(attempt, name)
            exercise = project.course.chapter(chapter).exercise(name)
            found = verdict("somebody", exercise, attempt.exercises[name], checks)
        finally:
            attempt.backend.close()
        yield Judged(row, found, text.splitlines()[found.line - 1].strip() if found.line else "")
    maker.close()


def table(judged: list[Judged]) -> str:
    """Return the table per exercise, with a last row for all of them."""
    names = dict.fromkeys(one.row["exercise"] for one in judged)
    rows = [counted(name, [one for one in judged if one.row["exercise"] == name]) for name in names]
    lines = [TITLES, ("---",) * len(TITLES), *rows, counted("all", judged)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def counted(name: str, some: list[Judged]) -> tuple[str, ...]:
    """Return one row: a name, and the counts of some definitions."""
    right = [one for one in some if one.is_right]
    wrong = [one for one in some if not one.is_right]

    def share(count: int, of: list[Judged]) -> str:
        return f"{count} of {len(of)}" if of else ""

    return (
        name,
        share(sum(not one.is_refused for one in right), right),
        share(sum(one.is_refused for one in wrong), wrong),
        share(sum(one.is_named for one in wrong), wrong),
        share(sum(one.is_located for one in wrong), wrong),
        share(sum(one.is_false for one in some), some),
    )
