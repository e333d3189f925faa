"""Fixtures for the project's own tests."""

import gc
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from tensorgrade.attempts.pipeline import unexplained_verdict, verdict
from tensorgrade.attempts.recognized import mistakes
from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Verdict
from tensorgrade.instructor.grader import Grader
from tensorgrade.project import Project
from tensorgrade.runner.source import Unreadable
from tensorgrade.sources.submitted_files import SubmittedFiles

from .needs import pytest_configure, pytest_runtest_setup, pytest_terminal_summary

__all__ = ["pytest_configure", "pytest_runtest_setup", "pytest_terminal_summary"]  # for pytest
settings.register_profile("untimed", deadline=None)  # a busy machine makes no answer wrong
settings.register_profile("few", deadline=None, max_examples=20)  # by default; CI tries 100
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # commands that tests run in forks import their helpers from here


@pytest.hookimpl(tryfirst=True)  # before xdist reads these options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole folder on all cores; `-n 0` keeps it in one process.

    A file's tests stay together, because they share what the file's fixtures build.
    """
    whole, option = config.args == ["tests"], config.option
    if whole and option.numprocesses is None and not hasattr(config, "workerinput"):
        option.numprocesses, option.dist = "logical", "loadfile"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Choose how many examples property tests try; end in a clone in which nothing is built."""
    settings.load_profile("few" if session.config.option.markexpr == "not slow" else "untimed")
    for course in (ROOT, *sorted((ROOT / "courses").iterdir())):
        if not (course / "graders" / "references" / "made_from.json").exists():
            place = "" if course == ROOT else f"cd {course.relative_to(ROOT)} && "
            pytest.exit(f"nothing has been built yet; first run: {place}tensorgrade build", 1)


def pytest_collection_finish() -> None:
    """Freeze all objects, so that garbage collection does not scan torch and thousands of tests."""
    gc.freeze()


@pytest.fixture(scope="session")
def project() -> Project:
    """The course that this repository holds."""
    torch.set_num_threads(1)
    return Project(ROOT)


@pytest.fixture(scope="session")
def grader():
    """One warm grader over the hidden tests, for all tests that grade."""
    torch.set_num_threads(1)
    made = Grader(Setup(ROOT / "graders", "none"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def judged(project, grader):
    """A function: the verdict on one exercise of a chapter's text.

    The other exercises are loaded with it, but their cases are not run: for texts in which the
    others are the solution's own. What the solution carries lies beside it. told: look for what
    learners are told, too, which earns nothing and takes as long as all else.
    """

    def judged(chapter: str, exercise: str, text: str, told: bool = True) -> Verdict:
        beside = project.beside(chapter)
        submitted_files = SubmittedFiles(
            "somebody", chapter, f"{chapter}.py", text.encode(), beside=beside
        )
        attempt = grader.attempt(submitted_files)
        part = attempt.exercises[exercise]
        try:
            results = grader.collected.results(attempt, exercise)
            asked = project.course.chapter(chapter).exercise(exercise)
            if not told:
                bare = unexplained_verdict("somebody", asked, part, results)
                return replace(bare, mistakes=list(mistakes(part)))
            return verdict("somebody", asked, part, results)
        finally:
            attempt.backend.close()

    return judged


@pytest.fixture(scope="session")
def reader(grader):
    """Reads learners' files in children of the warm process, for tests that only read."""

    class Here:
        def name_of_source(self, submitted_files: SubmittedFiles) -> str:
            try:
                return grader.maker.source_of(submitted_files).filename
            except Unreadable:
                return ""

        def parts(self, text: str) -> list:
            return grader.maker.reader().parts(text)

    return Here()
