"""The folder of results: one run writes at a time, and files are replaced as a whole."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.util import register_after_fork
from pathlib import Path

from ..course import CourseError
from ..lateness import Lateness
from .extensions import EXTENSIONS
from .overrides import OVERRIDES
from .store import RESULTS, Store


def make_folder(out: Path) -> None:
    """Make the folder for results. Raises CourseError if that is impossible."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"the folder {out} cannot be created: {error.strerror}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise CourseError(f"you may not write into {out}; choose another --out")


class Lock:
    """A lock that keeps a second run out of a folder while this process lives.

    Forks do not hold it, so a worker that outlives the process blocks no other run. waits: called
    before this waits for another run; without it, another run is an error.
    """

    def __init__(self, path: Path, waits: Callable[[], None] | None = None):
        try:
            import fcntl
        except ImportError:  # missing on Windows
            return
        try:
            self.file = path.open("w")
        except OSError as error:
            raise CourseError(f"{path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if waits is None:
                raise CourseError(f"another run is writing into {path.parent} just now") from None
            waits()
            fcntl.flock(self.file, fcntl.LOCK_EX)
        register_after_fork(self, lambda lock: lock.file.close())


def is_in_use(out: Path) -> bool:
    """Return True if a run is writing into a folder now; False if that is unknown."""
    try:
        import fcntl

        with (out / "in-use").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


def in_order(exercises: list[str]) -> Callable[[dict], tuple]:
    """Return a sort key for rows: by learner, chapter, and the course's order of exercises."""
    place = {name: number for number, name in enumerate(exercises)}
    last = len(place)  # for exercises that the course no longer has
    return lambda row: (row["student"], row["chapter"], place.get(row["exercise"], last))


def lines_of(rows: list[dict]) -> bytes:
    """Return rows as JSON Lines. A lone surrogate is written as a JSON escape."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return text.encode("utf-8", "backslashreplace")


def digest_of_text(text: bytes) -> str:
    """Return a digest of a file's content."""
    return hashlib.sha256(text).hexdigest()


def write_text(path: Path, text: bytes) -> None:
    """Replace a file completely or not at all. Raises CourseError."""
    temporary = path.with_suffix(".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        why = f"{path} cannot be written: {error.strerror}"
        raise CourseError(f"{why}. Earlier results are kept") from None


def note_on_export(kept: Store, then: str) -> list[str]:
    """Return a note if `results.jsonl` was changed after the last run. then: the consequence."""
    known, path = kept.meta(RESULTS), kept.out / RESULTS
    if not known or (path.exists() and digest_of_text(path.read_bytes()) == known):
        return []
    advice = "To give other points, write them into overrides.csv"
    return [f"{RESULTS} is not as the last run left it; {then}. {advice}"]


SETTINGS = "settings"  # in the store: digests of the settings that the last run applied
DATES = "the deadlines, penalties or rule on attempts in course_config.py"


def settings_now(out: Path, lateness: Lateness) -> dict[str, str]:
    """Return a digest of each setting that changes points without grading a file again."""
    dates = replace(lateness, feedback_from="", hidden_runs_a_day=0)
    files = {name: out / name for name in (OVERRIDES, EXTENSIONS)}
    texts = {n: path.read_bytes() if path.is_file() else b"" for n, path in files.items()}
    return {n: digest_of_text(text) for n, text in (texts | {DATES: repr(dates).encode()}).items()}


def notes_on_settings(kept: Store, lateness: Lateness) -> list[str]:
    """Return a note if settings were changed after the last run, so that points are outdated."""
    then = json.loads(kept.meta(SETTINGS) or "{}")
    now = settings_now(kept.out, lateness)
    changed = [name for name in now if then.get(name, now[name]) != now[name]]
    if not changed:
        return []
    told = f"changed after the last run: {', '.join(changed)}"
    return [f"{told}. The points are still the earlier ones; run `tensorgrade grade` again"]
