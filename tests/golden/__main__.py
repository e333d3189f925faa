"""Grade the golden corpus and compare the verdicts with the stored ones.

    python -m tests.golden            compare; list what changed, exit with 1 if anything did
    python -m tests.golden --write    store today's verdicts
    python -m tests.golden --messages FILE    also write what learners read, to compare two versions

Points, status, mistakes, line, stage and certainty are stored, without the wording.
"""

import argparse
import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

from tensorgrade.attempts.pipeline import verdicts_on
from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.grader import Grader
from tensorgrade.project import Project
from tensorgrade.sources.submitted_files import Handin

from .corpus import Entry, corpus

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("golden.tsv")
COLUMNS = ("points", "status", "mistakes", "line", "stage", "sure")
PARTS = 4  # of each chapter, so that the cores end at about the same time
Rows = dict[str, list[str]]
Verdicts = dict[str, Verdict]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store today's verdicts")
    parser.add_argument("--messages", type=Path, help="write the messages to this file")
    parser.add_argument("--jobs", type=int, help="worker processes")
    options = parser.parse_args()
    verdicts = graded(options.jobs)
    if options.messages:
        lines = (f"{name}\t{verdicts[name].message}\n" for name in sorted(verdicts))
        options.messages.write_text("".join(lines), encoding="utf-8")
    rows = {name: cells(verdict) for name, verdict in verdicts.items()}
    if options.write:
        store(rows)
        print(f"{len(rows)} verdicts stored")
        return
    changes = differences(stored(), rows)
    print(*changes, f"{len(rows)} verdicts, {len(changes)} changed", sep="\n")
    sys.exit(bool(changes))


def store(rows: Rows) -> None:
    """Write the verdicts, one a line, sorted by name."""
    with STORED.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, "excel-tab", lineterminator="\n")
        table.writerow(["name", *COLUMNS])
        table.writerows([name, *rows[name]] for name in sorted(rows))


def stored() -> Rows:
    """Read the stored verdicts, by name."""
    with STORED.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, "excel-tab")
    return {name: cells for name, *cells in rows}


def differences(before: Rows, after: Rows) -> list[str]:
    """Return a line for every verdict that is new, gone or another one."""
    return [
        f"{name}\n    was {before.get(name)}\n    is  {after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def graded(jobs: int | None = None) -> Verdicts:
    """Grade the whole corpus; chapters are split into parts that run side by side."""
    chapters = [chapter.name for chapter in Project(ROOT).course.chapters]
    parts = [(chapter, part) for part in range(PARTS) for chapter in reversed(chapters)]
    with ProcessPoolExecutor(jobs) as pool:
        verdicts: Verdicts = {}
        for some in pool.map(grade_part, *zip(*parts, strict=True)):
            verdicts |= some
    return verdicts


def grade_part(chapter: str, part: int) -> Verdicts:
    """Grade one of the PARTS slices of a chapter."""
    torch.set_num_threads(1)
    project = Project(ROOT)
    graders = {
        public: Grader(Setup(folder, "none"))
        for public, folder in ((False, project.graders), (True, project.exercises))
    }
    entries = list(corpus(project, chapter))[part::PARTS]
    try:
        verdicts: Verdicts = {}
        for entry in entries:
            verdicts |= grade(project, graders, entry)
        return verdicts
    finally:
        for grader in graders.values():
            grader.close()


def grade(project: Project, graders: dict[bool, Grader], entry: Entry) -> Verdicts:
    """Return a verdict for each exercise of an entry that is graded, by its name in the corpus."""
    grader = graders[entry.public]
    beside = project.beside(entry.chapter)
    file = f"{entry.chapter}.py"
    handin = Handin("somebody", entry.chapter, file, entry.text.encode(), beside=beside)
    attempt = grader.attempt(handin)
    known = [exercise.name for exercise in attempt.chapter.exercises]
    asked = [name for name in known if name in entry.exercises or not entry.exercises]
    try:
        verdicts = verdicts_on("somebody", attempt, grader.collected.results(attempt, *asked))
    finally:
        attempt.backend.close()
    return {
        f"{entry.chapter}/{one.exercise}/{entry.name}": one
        for one in verdicts
        if one.exercise in asked
    }


def cells(verdict: Verdict) -> list[str]:
    """Return what is stored of a verdict."""
    row = verdict.row() | {"mistakes": " ".join(verdict.mistakes)}
    return ["" if row[column] is None else str(row[column]) for column in COLUMNS]


if __name__ == "__main__":
    main()
