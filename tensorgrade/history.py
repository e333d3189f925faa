"""A learner's history: the outcome of each exercise, whenever a self-check found another one.

The self-check appends to `.tensorgrade/history.jsonl` in the kit, or in a course's repository. The
file never leaves the learner's machine. A folder that cannot be written has no history, and nothing
else changes.
"""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from .attempts.results import CheckResult, Results, State, state_of
from .folders import OWN_FOLDER


class Entry(msgspec.Struct, frozen=True):
    """The outcome of one exercise at one moment. at: the time in UTC."""

    at: datetime
    exercise: str
    state: str
    points: float
    mistakes: tuple[str, ...] = ()

    @property
    def day(self) -> str:
        """Return the local day, in ISO format."""
        return self.at.astimezone().date().isoformat()

    @property
    def outcome(self) -> tuple:
        """Return everything except the time."""
        return self.exercise, self.state, self.points, self.mistakes


def history_file(root: Path) -> Path:
    """Return the path of the history in a kit's folder."""
    return root / OWN_FOLDER / "history.jsonl"


def read_history(root: Path) -> list[Entry]:
    """Return all entries, the oldest first; damaged lines are left out."""
    found = []
    with suppress(OSError):
        for line in history_file(root).read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Entry))
    return found


def remember(tests: Path, folder: Path, results: Results) -> None:
    """Add the results of a self-check to the history, if they differ from the last ones.

    tests: the folder with the tests. folder: the folder with the checked files; only those beside
    the public tests are the learner's own.
    """
    if folder.resolve() != tests.resolve() or not (tests / "course.json").is_file():
        return
    root = tests.resolve().parent
    last = {entry.exercise: entry.outcome for entry in read_history(root)}
    found = [entry_of(name, checks) for name, checks in results.items() if checks]
    new = [one for one in found if one.outcome != last.get(one.exercise)]
    lines = [msgspec.json.encode(one) + b"\n" for one in new if one.state != State.TO_DO]
    if lines:
        with suppress(OSError):
            history_file(root).parent.mkdir(exist_ok=True)
            with history_file(root).open("ab") as file:
                file.writelines(lines)


def entry_of(exercise: str, checks: list[CheckResult]) -> Entry:
    """Return the outcome of an exercise's checks, with the present time."""
    findings = [check.finding for check in checks if check.finding]
    names = dict.fromkeys(name for finding in findings for name in finding.mistakes)
    points = round(sum(check.earned for check in checks), 6)
    now = datetime.now(UTC).replace(microsecond=0)
    return Entry(now, exercise, str(state_of(checks)), points, tuple(names))
