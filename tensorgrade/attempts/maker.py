"""Make attempts for tests, from a folder of learner files, for self-check or for grading."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from ..course import Course, CourseError
from ..exchange.references import load_references
from ..exchange.stored import stored_path
from ..judging.checks import load_checks
from ..project import load_course
from ..recognition.fingerprints import load_fingerprints
from ..sandbox.holes import is_locked, must_hold
from ..sandbox.processes import ForkServer, own_server
from ..sources.program import Program, Source, Unreadable, read_given, read_source
from ..sources.submitted_files import SubmittedFiles
from .attempt import Attempt
from .lab import Lab
from .setup import DEVICES, Setup
from .side import Side, Solution, read_sources


class AttemptMaker:
    """The source of attempts for one folder of tests, chapter by chapter."""

    def __init__(self, setup: Setup):
        self.setup, self.tests, self.device = setup, setup.tests, choose_device(setup.device)
        self.exercises = self.tests.parent / "exercises"  # the folder of the learners' side
        self.course: Course = load_course(self.tests)
        self.own = load_checks(self.tests)
        self.sides: dict[tuple[Path, str], Side] = {}
        self.programs: dict[str, Program] = {}  # by chapter, without a text
        self.warm: ForkServer | None = None
        self.attempts: dict[str, Attempt] = {}

    def names(self, chapter: str) -> list[str]:
        """Return the names of a chapter's exercises."""
        return [exercise.name for exercise in self.course.chapter(chapter).exercises]

    def side(self, chapter: str, folder: Path | None = None) -> Side:
        """Return what a folder, by default that of the tests, knows of a chapter; read once."""
        key = folder, _ = folder or self.tests, chapter
        if key not in self.sides:
            references = load_references(folder, chapter, self.names(chapter))
            side = Side(references, self.own, load_fingerprints(folder, chapter))
            self.sides[key] = side
            if references.hidden and self.is_built(chapter, self.exercises):
                side.learners = self.side(chapter, self.exercises)
                side.solution = self.solution(chapter)
        return self.sides[key]

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
        program = self.program(chapter, source)
        return Attempt(self.lab(chapter), program, self.course, self.side(chapter))

    def program(self, chapter: str, source: Source | SubmittedFiles) -> Program:
        """Return a text or files with everything that the course adds to them."""
        if chapter not in self.programs:
            bugs = self.side(chapter).references.bugs
            exercises = {name: bugs.get(name, "") for name in self.names(chapter)}
            given = read_given(self.exercises, chapter, [c.name for c in self.course.chapters])
            text, parameters = Source("", ""), self.course.chapter(chapter).parameters
            self.programs[chapter] = Program(chapter, text, *given, exercises, parameters)
        return replace(self.programs[chapter], source=source)

    def solution(self, chapter: str) -> Solution | None:
        """Return a chapter's solution; None in the containers of course systems, which lack it."""
        paths = {name: stored_path(self.tests, chapter, name) for name in self.names(chapter)}
        sources = {name: one for name, path in paths.items() if (one := read_sources(path))}
        if sources.keys() != paths.keys():
            return None
        program = self.program(chapter, Source("", f"{chapter}.py"))
        return Solution(sources, program, self.own, Lab(None, self.course.limits))

    def lab(self, chapter: str) -> Lab:
        """Return a lab with the sandbox for hidden cases, and without one for public ones.

        Raises CourseError or NotStarted.
        """
        hidden = self.side(chapter).references.hidden
        return Lab(self.warm_up(), self.course.limits, self.device) if hidden else self.own_lab

    @cached_property
    def own_lab(self) -> Lab:
        """The lab for a learner's own code: one process runs all chapters. Raises NotStarted."""
        # A fork of a process that has looked for a GPU cannot use it.
        here = self.setup.here or self.device != "cpu"
        return Lab(None if here else self.unlocked, self.course.limits, self.device, own=True)

    @cached_property
    def unlocked(self) -> Any:
        """The server for a learner's own code. Raises NotStarted.

        Its process runs all chapters, so it may use the processor time of all of them.
        """
        limits, chapters = self.course.limits, len(self.course.chapters)
        return own_server(replace(limits, processor_seconds=chapters * limits.processor_seconds))

    def warm_up(self) -> ForkServer:
        """Return the fork server; start it if necessary, and try if its sandbox holds.

        Raises CourseError or NotStarted.
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
