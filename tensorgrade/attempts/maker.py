"""Make attempts for tests, from a folder of learner files, for self-check or for grading."""

from collections.abc import Iterable
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from ..course import Course, CourseError
from ..exchange.references import References, load_references
from ..exchange.stored import stored_path
from ..judging.checks import load_checks
from ..project import load_course
from ..recognition.fingerprints import load_fingerprints
from ..sandbox.holes import is_locked, must_hold
from ..sandbox.own_code import own_forks
from ..sandbox.processes import ForkServer
from ..sources.program import Program, Source, Unreadable, read_given, read_source
from ..sources.submitted_files import SubmittedFiles
from .attempt import Attempt
from .lab import Lab
from .setup import DEVICES, Setup
from .side import Pairs, Side, read_sources


class AttemptMaker:
    """The source of attempts for one folder of tests, chapter by chapter."""

    def __init__(self, setup: Setup):
        self.setup, self.tests, self.device = setup, setup.tests, choose_device(setup.device)
        self.course: Course = load_course(self.tests)
        self.own = load_checks(self.tests)
        self.sides: dict[tuple[Path, str], Side] = {}
        self.given: dict[str, tuple[dict, tuple[str, ...], dict[str, str]]] = {}
        self.warm: ForkServer | None = None
        self.attempts: dict[str, Attempt] = {}

    @property
    def exercises(self) -> Path:
        """Return the folder of the learners' side."""
        return self.tests.parent / "exercises"

    def names(self, chapter: str) -> list[str]:
        """Return the names of a chapter's exercises."""
        return [exercise.name for exercise in self.course.chapter(chapter).exercises]

    def side(self, chapter: str, folder: Path | None = None) -> Side:
        """Return what a folder, by default that of the tests, knows of a chapter; read once."""
        key = folder, _ = folder or self.tests, chapter
        if key not in self.sides:
            names = self.names(chapter)
            self.sides[key] = Side(
                load_references(folder, chapter, names),
                self.own,
                partial(load_fingerprints, folder, chapter),
                partial(self.learners_side, chapter),
                partial(self.pairs, chapter),
            )
        return self.sides[key]

    def learners_side(self, chapter: str) -> Side | None:
        """Return what learners have of a chapter; None if it is missing."""
        built = self.is_built(chapter, self.exercises)
        return self.side(chapter, self.exercises) if built else None

    def references(self, chapter: str) -> References:
        """Return a chapter's references."""
        return self.side(chapter).references

    def is_hidden(self, chapter: str) -> bool:
        """Return True if the expected values of a chapter's cases may never be shown."""
        return self.references(chapter).hidden

    def is_built(self, chapter: str, folder: Path | None = None) -> bool:
        """Return True if a chapter's references are in a folder, by default that of the tests."""
        folder = folder or self.tests
        return all(stored_path(folder, chapter, name).exists() for name in self.names(chapter))

    def attempt(self, chapter: str, path: Path) -> Attempt:
        """Return the attempt in a learner's file. An unreadable file gives an attempt too."""
        try:
            source: Source | SubmittedFiles = read_source(path, self.course.limits.source_bytes)
        except Unreadable as error:
            source = SubmittedFiles("", chapter, reason=str(error))
        return self.attempt_from_source(chapter, source)

    def attempt_from_source(self, chapter: str, source: Source | SubmittedFiles) -> Attempt:
        """Return the attempt in a text, or in files from which the text must still be extracted."""
        return self.attempt_with(self.lab(chapter), self.program(chapter, source))

    def program(self, chapter: str, source: Source | SubmittedFiles) -> Program:
        """Return a text or files with everything that the course adds to them."""
        parameters = self.course.chapter(chapter).parameters
        return Program(chapter, source, *self.given_for(chapter), parameters)

    def given_for(self, chapter: str) -> tuple[dict, tuple[str, ...], dict[str, str]]:
        """Return a chapter's substitutes, the names they override, and its exercises.

        See `given`, `rebind` and `exercises` of Program.
        """
        if chapter not in self.given:
            chapters = [c.name for c in self.course.chapters]
            bugs = self.references(chapter).bugs
            exercises = {name: bugs.get(name, "") for name in self.names(chapter)}
            self.given[chapter] = *read_given(self.exercises, chapter, chapters), exercises
        return self.given[chapter]

    def attempt_with(self, lab: Lab, program: Program) -> Attempt:
        """Return the attempt in a program that a lab runs."""
        return Attempt(lab, program, self.course, self.side(program.chapter))

    def pairs(self, chapter: str) -> Pairs | None:
        """Return the search for two mistakes at once on hidden cases.

        None on public cases, because fingerprints of their pairs are stored. None, too, if the
        solution or the public references are missing, as in the containers of course systems.
        """
        public = self.side(chapter).public
        if not self.is_hidden(chapter) or public is None:
            return None
        names = self.names(chapter)
        sources = {name: read_sources(stored_path(self.tests, chapter, name)) for name in names}
        there = {name: one for name, one in sources.items() if one}
        if there.keys() != sources.keys():
            return None
        solution, lab = partial(self.solution, chapter), Lab(None, self.course.limits)
        return Pairs(public.fingerprints, there, self.own.signatures, solution, lab)

    def solution(self, chapter: str, text: str) -> Program:
        """Return a version of a chapter's solution as it would be submitted."""
        return self.program(chapter, Source(text, f"{chapter}.py"))

    def lab(self, chapter: str) -> Lab:
        """Return a lab with the sandbox for hidden cases, and without one for public ones.

        Raises NotIsolated or NotStarted.
        """
        if self.is_hidden(chapter):
            return Lab(self.warm_up(), self.course.limits, self.device)
        # A fork of a process that has looked for a GPU cannot use it.
        here = self.setup.here or self.device != "cpu"
        return Lab(None if here else self.unlocked, self.course.limits, self.device, own=True)

    @cached_property
    def unlocked(self) -> Any:
        """The server for a learner's own code. Raises NotStarted."""
        return own_forks(self.course.limits)

    def warm_up(self) -> ForkServer:
        """Return the fork server; start it if necessary, and try if its sandbox holds.

        Raises NotIsolated or NotStarted.
        """
        if self.warm is None:
            locked = is_locked(self.course.isolation, self.setup.isolation, self.device)
            must_be_installed(self.course.packages)
            server = ForkServer(self.course.limits, locked, self.device)
            must_hold(server, private_paths(self.tests, self.setup.private))
            self.warm = server
        return self.warm

    def close(self) -> None:
        """End the servers that were started, and the processes of the attempts that are kept."""
        for attempt in self.attempts.values():
            attempt.lab.close()
        for server in (self.warm, self.__dict__.get("unlocked")):
            if server is not None:
                server.close()


def private_paths(tests: Path, folders: Iterable[Path] = ()) -> dict[str, Path]:
    """Return what no learner may read of a course and of a run's folders, by what it is."""
    root = tests.resolve().parent
    return {
        "the hidden references": root / "graders" / "references",
        "the solutions": root / "solutions",
        "the course's settings": root / "course_config.py",
        "the gradebook": root / "gradebook.db",
        "another submission": root / "submitted",
        **{f"files in {folder}": folder.resolve() for folder in folders},
    }


def must_be_installed(packages: Iterable[str]) -> None:
    """Raise CourseError if a package that learners may import is missing here."""
    for name in packages:
        try:
            version(name)
        except PackageNotFoundError:
            said = (
                f"learners may import {name} (packages in course_config.py), which is not installed"
            )
            raise CourseError(f"{said} here: `pip install {name}`") from None


class NoDevice(CourseError):
    """The requested device does not exist; the message says so."""


def choose_device(device: str) -> str:
    """Return `cpu` or `cuda`; `auto` prefers CUDA. Raises NoDevice, or CourseError for others."""
    if device not in DEVICES:
        raise CourseError(f"--device must be one of {', '.join(DEVICES)}, not {device}")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise NoDevice("torch finds no CUDA device here, so there is nothing to test on it")
    return device
