"""A learner's history: the outcome of each exercise, whenever a self-check found another one.

The self-check appends to `.tensorgrade/history.jsonl` in the kit, or in a course's repository. The
file never leaves the learner's machine. A folder that cannot be written has no history, and nothing
else changes.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from .attempts.results import CheckResult, State, state_of
from .folders import OWN_FOLDER


@dataclass(frozen=True)
class Entry:
    """The outcome of one exercise at one moment. at: the time in UTC, in ISO format."""

    at: str
    exercise: str
    state: str
    points: float
    mistakes: tuple[str, ...] = ()

    @property
    def time(self) -> datetime:
        """Return the moment as an aware datetime."""
        return datetime.fromisoformat(self.at)

    @property
    def outcome(self) -> tuple:
        """Return everything except the time."""
        return self.exercise, self.state, self.points, self.mistakes


class History:
    """The history in a kit's folder."""

    def __init__(self, root: Path):
        self.path = root / OWN_FOLDER / "history.jsonl"

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first; lines that are damaged are left out."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
        return [entry for line in lines if (entry := read_entry(line))]

    def add(self, outcomes: Iterable[Entry]) -> None:
        """Append the outcomes that differ from the last one of their exercise."""
        last = {entry.exercise: entry.outcome for entry in self.entries()}
        new = [one for one in outcomes if one.outcome != last.get(one.exercise) and is_begun(one)]
        if not new:
            return
        self.path.parent.mkdir(exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in new)


def is_begun(entry: Entry) -> bool:
    """Return True unless the exercise is still to do."""
    return entry.state != State.TO_DO


def read_entry(line: str) -> Entry | None:
    """Return the entry in a line; None if the line is damaged, such as by a full disk."""
    try:
        told = json.loads(line)
        entry = Entry(**told | {"mistakes": tuple(told["mistakes"])})
        return entry if entry.time.tzinfo else None
    except (ValueError, TypeError, KeyError):
        return None


def is_learners(tests: Path, folder: Path) -> bool:
    """Return True if the checked files are the learner's own, beside the public tests."""
    return folder.resolve() == tests.resolve() and (tests / "course.json").is_file()


def remember(tests: Path, folder: Path, results: dict[str, list[CheckResult]]) -> None:
    """Add the results of a self-check, by exercise, to the history of the learner's kit.

    tests: the folder with the tests. folder: the folder with the checked files.
    """
    if not is_learners(tests, folder):
        return
    now = datetime.now(UTC).isoformat(timespec="seconds")
    found = [entry_of(now, name, checks) for name, checks in results.items() if checks]
    with suppress(OSError):
        History(tests.resolve().parent).add(found)


def entry_of(now: str, exercise: str, checks: list[CheckResult]) -> Entry:
    """Return the outcome of an exercise's checks."""
    findings = [check.finding for check in checks if check.finding]
    names = dict.fromkeys(name for finding in findings for name in finding.mistakes)
    points = round(sum(check.earned for check in checks), 6)
    return Entry(now, exercise, str(state_of(checks)), points, tuple(names))
