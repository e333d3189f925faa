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
from .course import Course
from .folders import OWN_FOLDER
from .views.points import earned
from .views.words import definition_in

HISTORY = Path(OWN_FOLDER) / "history.jsonl"  # in the kit's folder


class Entry(msgspec.Struct, frozen=True):
    """The outcome of one exercise at one moment. at: the time in UTC. code: with known mistakes."""

    at: datetime
    exercise: str
    state: str
    points: float
    mistakes: tuple[str, ...] = ()
    code: str = ""

    @property
    def outcome(self) -> tuple:
        """Return what makes an entry new."""
        return self.state, self.points, self.mistakes


def read_history(root: Path) -> list[Entry]:
    """Return all entries, the oldest first; damaged lines are left out."""
    found = []
    with suppress(OSError):
        for line in (root / HISTORY).read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Entry))
    return found


def remember(course: Course, tests: Path, folder: Path, results: Results) -> None:
    """Add the results of a self-check to the history, if they differ from the last ones.

    tests: the folder with the tests. folder: the folder with the checked files; only those beside
    the public tests are the learner's own.
    """
    if folder.resolve() != tests.resolve() or not (tests / "course.json").is_file():
        return
    root = tests.resolve().parent
    last = {one.exercise: one.outcome for one in read_history(root)}
    with suppress(OSError):
        found = [entry_of(course, folder, name, checks) for name, checks in results.items()]
        begun = [one for one in found if one.state != State.TO_DO]
        new = [one for one in begun if one.outcome != last.get(one.exercise)]
        if not new:
            return
        (root / HISTORY).parent.mkdir(exist_ok=True)
        with (root / HISTORY).open("ab") as file:
            file.writelines(msgspec.json.encode(one) + b"\n" for one in new)


def entry_of(course: Course, folder: Path, exercise: str, checks: list[CheckResult]) -> Entry:
    """Return the outcome of an exercise's checks, with the present time. Raises OSError."""
    names = dict.fromkeys(name for one in checks if one.finding for name in one.finding.mistakes)
    script = folder / f"{course.exercise(exercise)[0].name}.py"
    text = script.read_text(encoding="utf-8", errors="replace") if names else ""
    code, points = definition_in(text, exercise), earned(checks)
    now = datetime.now(UTC).replace(microsecond=0)
    return Entry(now, exercise, str(state_of(checks)), points, tuple(names), code)
