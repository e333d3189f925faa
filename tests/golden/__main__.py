"""Grade the golden corpus and compare the verdicts with the stored ones.

    python -m tests.golden            compare; list what changed, exit with 1 if anything did
    python -m tests.golden --write    store today's verdicts
    python -m tests.golden --messages FILE    also write what learners read, to compare two versions

Points, status, mistakes, line, stage, certainty and the messages' ids are stored, without the
wording. Each worker process has one warm grader for hidden checks and one for public ones.
"""

import argparse
import csv
import gc
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import torch

from tensorgrade.attempts import in_child
from tensorgrade.attempts.pipeline import verdicts_on
from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.grader import Grader, forget
from tensorgrade.project import Project
from tensorgrade.sources.submitted_files import SubmittedFiles

from .corpus import Entry, corpus

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("golden.tsv")
COLUMNS = ("points", "status", "mistakes", "line", "stage", "sure", "messages")
AT_ONCE = 8  # entries of one task
LONG_SEARCH = 5.0  # seconds for edits, so that a busy machine finds the same ones
Rows = dict[str, list[str]]
Verdicts = dict[str, Verdict]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store today's verdicts")
    parser.add_argument("--messages", type=Path, help="write the messages to this file")
    parser.add_argument("--jobs", type=int, help="worker processes")
    parser.add_argument("--every", type=int, default=1, help="take only every Nth submission")
    options = parser.parse_args()
    verdicts = graded(options.jobs, options.every)
    if options.messages:
        lines = (f"{name}\t{verdicts[name].message}\n" for name in sorted(verdicts))
        options.messages.write_text("".join(lines), encoding="utf-8")
    rows = {name: cells(verdict) for name, verdict in verdicts.items()}
    if options.write:
        store(rows)
        print(f"{len(rows)} verdicts stored")
        return
    before = stored()
    if options.every > 1:
        before = {name: cells for name, cells in before.items() if name in rows}
    changes = differences(before, rows)
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


def graded(jobs: int | None = None, every: int = 1) -> Verdicts:
    """Grade the corpus, a few entries at a time in each worker process. every: only each Nth."""
    torch.set_num_threads(1)
    chosen = range(0, len(entries()), every)  # read here, so that forked workers share them
    graders()
    tasks = [chosen[at : at + AT_ONCE] for at in range(0, len(chosen), AT_ONCE)]
    with ProcessPoolExecutor(jobs) as pool:
        verdicts: Verdicts = {}
        for some in pool.map(grade_some, tasks):
            verdicts |= some
    return verdicts


@cache
def project() -> Project:
    """Return the course, which each process reads once."""
    return Project(ROOT)


@cache
def entries() -> list[Entry]:
    """Return the whole corpus."""
    names = [chapter.name for chapter in project().course.chapters]
    return [entry for name in reversed(names) for entry in corpus(project(), name)]


@cache
def graders() -> dict[bool, Grader]:
    """Return a process's graders: for public checks under True, for hidden ones under False."""
    in_child.SECONDS_OF_SEARCH = LONG_SEARCH
    folders = {False: project().graders, True: project().exercises}
    return {public: Grader(Setup(folder, "none")) for public, folder in folders.items()}


def grade_some(places: range) -> Verdicts:
    """Grade the entries at these places of the corpus."""
    torch.set_num_threads(1)
    gc.disable()
    verdicts: Verdicts = {}
    for place in places:
        verdicts |= grade(entries()[place])
    forget()
    return verdicts


def grade(entry: Entry) -> Verdicts:
    """Return a verdict for each exercise of an entry that is graded, by its name in the corpus."""
    grader = graders()[entry.public]
    file = f"{entry.chapter}.py"
    beside = project().beside(entry.chapter)
    submitted_files = SubmittedFiles(
        "somebody", entry.chapter, file, entry.text.encode(), beside=beside
    )
    attempt = grader.attempt(submitted_files)
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
    said = [verdict.message_id, *(one["message_id"] for one in verdict.params.get("also", ()))]
    row = verdict.row() | {"mistakes": " ".join(verdict.mistakes), "messages": " ".join(said)}
    return ["" if row[column] is None else str(row[column]) for column in COLUMNS]


if __name__ == "__main__":
    main()
