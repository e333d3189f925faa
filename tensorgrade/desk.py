"""Makes attempts for tests: from a folder of learner files, for self-check or for grading."""

from pathlib import Path

import torch

from .attempt import Attempt
from .backends.elsewhere import Elsewhere
from .backends.in_process import InProcess
from .backends.requests import Requests
from .course import Course, load_course
from .fingerprints import Fingerprints, load_fingerprints
from .observation import Loaded
from .references import References, load_references
from .sandbox.ladder import choose_rung
from .sandbox.warm_process import WarmProcess
from .submission import Submission, Unreadable, read_given, read_source


class Desk:
    """Where one folder of tests gets its attempts, chapter by chapter.

    tests: `exercises/` or `graders/`, whose references say whether they are hidden.
    """

    def __init__(self, tests: Path, device: str = "cpu", isolation: str = "auto"):
        self.tests, self.device, self.isolation = tests, choose_device(device), isolation
        self.course: Course = load_course(tests)
        self.known: dict[str, tuple[References, Fingerprints]] = {}
        self.given: dict[str, tuple[dict, tuple[str, ...]]] = {}
        self.requests = Requests()
        self.warm: WarmProcess | None = None
        self.attempts: dict = {}

    def chapter_material(self, chapter: str) -> tuple[References, Fingerprints]:
        """References and fingerprints of a chapter, read once."""
        if chapter not in self.known:
            folder = self.tests / "references"
            self.known[chapter] = (
                load_references(folder / f"{chapter}.safetensors"),
                load_fingerprints(folder / f"{chapter}.fingerprints.json"),
            )
        return self.known[chapter]

    def attempt(self, chapter: str, path: Path) -> Attempt:
        """The attempt in a learner's file. A file that cannot be read is an attempt all the same."""
        try:
            source = read_source(path, self.course.limits.source_bytes)
        except Unreadable as error:
            return self.unread(chapter, str(error))
        return self.attempt_from_source(chapter, source, str(path))

    def unread(self, chapter: str, reason: str) -> Attempt:
        """The attempt of somebody whose file cannot be read, for this reason."""
        if self.chapter_material(chapter)[0].hidden:
            self.warm_up()
        return self.attempt_from(chapter, Unread(reason, self.warm.isolation if self.warm else "in-process"))

    def attempt_from_source(self, chapter: str, source: str, filename: str) -> Attempt:
        """The attempt in a source text."""
        if chapter not in self.given:
            chapters = [c.name for c in self.course.chapters]
            self.given[chapter] = read_given(self.tests.parent / "exercises", chapter, chapters)
        given, rebind = self.given[chapter]
        submission = Submission(chapter, source, filename, given, rebind)
        return self.attempt_from(chapter, self.backend(chapter, submission))

    def attempt_from(self, chapter: str, backend) -> Attempt:
        references, fingerprints = self.chapter_material(chapter)
        return Attempt(backend, self.course, references, fingerprints)

    def backend(self, chapter: str, submission: Submission):
        """In this process for public cases, elsewhere for hidden ones."""
        references, _ = self.chapter_material(chapter)
        if not references.hidden:
            return InProcess(submission, self.device)
        self.warm_up()
        return Elsewhere(submission, self.warm, self.course.limits, self.device, self.requests)

    def warm_up(self) -> None:
        """Start the warm process, if there is none. Raises NotIsolated or NotStarted."""
        if self.warm is None or not self.warm.alive():
            rung = choose_rung(self.course.isolation, self.isolation, self.device)
            self.warm = WarmProcess(self.course.limits, rung)

    def close(self) -> None:
        """End the warm process, if one was started."""
        if self.warm is not None:
            self.warm.close()


class Unread:
    """Stands for a backend where there was no file to run; the reason is told for every exercise."""

    device = "cpu"

    def __init__(self, reason: str, isolation: str):
        self.reason, self.isolation = reason, isolation

    def load(self) -> Loaded:
        """Nothing is defined, for the one reason."""
        error = {"type": "Unreadable", "text": self.reason, "line": None, "function": "",
                 "source": "", "verb": "", "missing": None, "kinds": []}
        return Loaded("unreadable", (), ({"names": [], "error": error},))

    def run(self, cases: list) -> list:
        raise AssertionError("an unreadable file is never run")

    def close(self) -> None:
        """Nothing to give back."""


class NoDevice(Exception):
    """The device asked for is not there; the message says so."""


def choose_device(device: str) -> str:
    """`cpu` or `cuda`; `auto` takes CUDA where there is one. Raises NoDevice."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise NoDevice("torch finds no CUDA device here, so there is nothing to test on it")
    return device
