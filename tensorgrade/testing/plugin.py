"""The pytest plugin for `exercises/` and `graders/`.

It shows each check of an exercise as a test, under the learner's file `exercises/<chapter>.py` or
the grader file. It shows failures as notes for learners, and ends a run with a summary of all
exercises.
"""

import functools
import gc
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ..attempts.attempt import Attempt
from ..attempts.maker import AttemptMaker, NoDevice
from ..attempts.results import CheckResult, Results
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..course import Chapter, Check, Course, CourseError
from ..history import remember
from ..judging.diagnosis import Wrong
from ..project import load_course
from ..views.note import Note
from ..views.summary import print_nothing_found, print_summary

KEYWORD = "a check of a course"  # of the items that show checks, in their reports
EXERCISES = pytest.StashKey[list[str]]()  # the names that `-k` can select, in order
MAKERS = pytest.StashKey[dict[Path, AttemptMaker]]()  # by folder of checks
RESULTS = pytest.StashKey[dict[Path, Results]]()  # by folder of checks


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for both folders."""
    group = parser.getgroup("tensorgrade")
    group.addoption("--attempt", metavar="DIR", help="folder with the chapters' files to check")
    group.addoption(
        "--device",
        choices=("cpu", "cuda", "auto"),
        default="cpu",
        help="the device for learner code (default: cpu)",
    )
    group.addoption(
        "--isolation",
        choices=("auto", "none"),
        default="auto",
        help="none runs learner code without a sandbox (auto: what the course says)",
    )
    group.addoption(
        "--hint",
        nargs="?",
        const=1,
        type=number_of_hints,
        metavar="N",
        default=0,
        help="show the first N hints for the exercise to work on first",
    )
    group.addoption(
        "--plain",
        action=BooleanOptionalAction,
        default=None,
        help="print sentences and no drawings, as for a screen reader (default without a terminal)",
    )


def number_of_hints(text: str) -> int:
    """Return the N of `--hint N`. Raises ArgumentTypeError if a path was given instead."""
    if not text.isdigit():
        raise ArgumentTypeError(
            f"takes a number, not {text!r}; put it last: pytest exercises/ --hint"
        )
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MAKERS], config.stash[RESULTS], config.stash[EXERCISES] = {}, {}, []


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    gc.freeze()  # otherwise pytest searches everything for garbage, twice
    for maker in config.stash.get(MAKERS, {}).values():
        maker.close()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect the checks that a file of a course shows, and never import it as a file of tests."""
    collectors = yield
    found = [
        ChecksFile.from_parent(parent, path=path, folder=folder, chapter=chapter, names=names)
        for path, folder, chapter, names in files_of_checks(file_path)
    ]
    return list(found) or collectors


def files_of_checks(path: Path) -> Iterator[tuple[Path, Path, Chapter, list[str]]]:
    """Yield (file, folder of checks, chapter, exercises) for what a path shows.

    A grader file shows the exercises that it judges, a learner's file its chapter. The file of a
    chapter may be missing. Then `course.json` shows the chapter.
    """
    folder, graders = path.parent, path.parents[1]
    signs = (graders.parent / "course_config.py", graders / "course.json")
    if path.suffix in (".py", ".json") and (folder / "course.json").exists():
        for chapter in course_in(folder).chapters:
            file = folder / f"{chapter.name}.py"
            shows = file if file.exists() else folder / "course.json"
            if path == shows and not (folder / chapter.name).is_dir():  # else these are graders
                yield file, folder, chapter, [one.name for one in chapter.exercises]
    elif path.suffix == ".py" and any(map(Path.exists, signs)):
        for chapter in course_in(graders).chapters:
            names = [one.name for one in chapter.exercises if path.stem in (one.name, one.like)]
            if chapter.name == folder.name and names:
                yield path, graders, chapter, names


@functools.cache
def course_in(folder: Path) -> Course:
    """Return the course of a folder of checks, read once. Raises UsageError if it is wrong."""
    try:
        return load_course(folder)
    except CourseError as error:
        raise pytest.UsageError(str(error)) from None


class ChecksFile(pytest.File):
    """A file that shows checks: a learner's file of a chapter, or a grader file."""

    def __init__(self, *, folder: Path, chapter: Chapter, names: list[str], **more: Any):
        super().__init__(**more)
        self.folder, self.chapter, self.names = folder, chapter, names

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each check; graders leave out those without points."""
        is_learners = self.path.parent == self.folder
        for exercise in map(self.chapter.exercise, self.names):
            for check in exercise.checks:
                if check.points or is_learners:
                    name = f"{exercise.name}: {check.says}"
                    yield CheckItem.from_parent(
                        self, name=name, file=self, exercise=exercise.name, check=check
                    )


class CheckItem(pytest.Item):
    """A check of an exercise as a test. result: of the check, as soon as its exercise ran."""

    def __init__(self, *, file: ChecksFile, exercise: str, check: Check, **more: Any):
        super().__init__(**more)
        self.file, self.exercise, self.check = file, exercise, check
        self.result: CheckResult | None = None
        self.keywords[KEYWORD] = True

    def setup(self) -> None:
        """Run and check all selected exercises of the chapter, unless that has been done."""
        folder, chapter = self.file.folder, self.file.chapter
        try:
            maker = maker_for(self.config, folder)
            self.attempt = attempt_in(self.config, maker, chapter.name)
        except NoDevice as error:
            pytest.skip(str(error))
        except CourseError as error:  # such as no sandbox
            pytest.exit(str(error), returncode=2)
        known = self.config.stash[RESULTS].setdefault(folder, {})
        if self.exercise not in known:
            items = (item for item in self.session.items if isinstance(item, CheckItem))
            selected = {item.exercise for item in items if item.file.folder == folder}
            asked = [one.name for one in chapter.exercises if one.name in selected]
            known.update(results_on(self.attempt, *asked))

    def runtest(self) -> None:
        """Report the check. Skip it if the exercise is not started."""
        part = self.attempt.answers[self.exercise]
        results = self.config.stash[RESULTS][self.file.folder][self.exercise]
        result = self.result = next(one for one in results if one.asks == self.check.says)
        if result.is_to_do or part.is_as_given:
            finding = result.finding  # None if the given code passes the check
            found = finding.diagnosis.problem if finding else "find the mistake in the given code"
            why = f"{self.exercise} is to do: {found}"
            raise pytest.skip.Exception(why, _use_item_location=True)
        if result.finding is not None:
            raise Wrong(result.finding.diagnosis)
        if error := part.failures[self.check.says]:  # of the check itself
            raise error

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return a note on a failed check. Another error is shown as pytest shows it."""
        finding = self.result.finding if self.result else None
        return Note(finding) if finding else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place and the headline of an error."""
        return self.path, 0, self.exercise


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the checks of one exercise, if `-k` names it, and hide warnings of learner code.

    pytest matches a keyword with parts of names: `mean` also matches `mean_of_rows`.
    """
    checks = [item for item in items if isinstance(item, CheckItem)]
    config.stash[EXERCISES] = list(dict.fromkeys(item.exercise for item in checks))
    own = [item for item in checks if item.exercise == config.getoption("keyword")]
    items[:] = own or items
    for item in checks if config.pluginmanager.has_plugin("warnings") else ():
        # Warnings from learner code would distract learners from the summary.
        item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """If there are only checks, unregister plugins that are not needed."""
    checks = [item for item in session.items if isinstance(item, CheckItem)]
    if checks and len(checks) == len(session.items):
        # These plugins take time with each test, and learners do not see what they report.
        manager = session.config.pluginmanager
        for name in filter(manager.has_plugin, ("logging-plugin", "hypothesispytest")):
            manager.unregister(name=name)


def attempt_in(config: pytest.Config, maker: AttemptMaker, chapter: str) -> Attempt:
    """Return the attempt at a chapter in the folder of learner files, created once for a run.

    Raises CourseError, also if nothing is built yet.
    """
    folder = config.getoption("attempt")
    if maker.side(chapter).references.hidden and not folder:
        raise CourseError(
            "whose answers? pytest graders/ --attempt DIR, where DIR holds the chapters' files"
        )
    if chapter not in maker.attempts:
        place = config.invocation_params.dir / Path(folder or maker.tests)
        maker.attempts[chapter] = maker.attempt(chapter, place / f"{chapter}.py")
    return maker.attempts[chapter]


def maker_for(config: pytest.Config, folder: Path) -> AttemptMaker:
    """Return the maker for a folder of tests, created once for a run."""
    makers = config.stash[MAKERS]
    if folder not in makers:
        isolation, device = config.getoption("isolation"), config.getoption("device")
        torch.set_num_threads(1)  # with tensors this small, threads only wait for each other
        gc.freeze()  # otherwise every collection scans all of torch
        maker = AttemptMaker(Setup(folder, isolation, device, here=debugs(config)))
        if seconds := config.getoption("timeout", None):  # of pytest-timeout
            limits = replace(maker.course.limits, load_seconds=seconds, case_seconds=seconds)
            maker.course = replace(maker.course, limits=limits)
        makers[folder] = maker
    return makers[folder]


def debugs(config: pytest.Config) -> bool:
    """Return True if a debugger can stop in learner code: with `-s` or `--pdb`."""
    return bool(config.getoption("capture") == "no" or config.getoption("usepdb"))


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Report checks as done, wrong or to do. The summary explains the wrong ones."""
    is_call = isinstance(report, pytest.TestReport) and report.when == "call"
    if not is_call or KEYWORD not in report.keywords:
        return None
    if report.passed:
        return "passed", ".", "DONE"
    if report.skipped:
        return "to do", "o", "TO DO"
    return ("wrong", "x", "WRONG") if isinstance(report.longrepr, Note) else None


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print a summary of the exercises, the first one to work on, and how to get a hint.

    If hidden and public tests run together, each folder gets its own summary, because the tests in
    each of them are worth all points.
    """
    keyword = config.getoption("keyword")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and keyword:
        print_nothing_found(terminalreporter, keyword, config.stash[EXERCISES])
    by_folder = config.stash[RESULTS]
    for tests, results in by_folder.items():
        if len(by_folder) > 1:
            terminalreporter.write_line(f"\nBy the tests in {tests.name}/", bold=True)
        folder = config.invocation_params.dir / (config.getoption("attempt") or tests)
        print_summary(terminalreporter, results, config.stash[MAKERS][tests], config)
        remember(course_in(tests), tests, folder, results)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if an exercise is not right, also if it is still to do or rewritten.

    pytest does not count skipped tests, and no test stands for the size of a repair.
    """
    by_folder = session.config.stash[RESULTS].values()
    checks = (check for results in by_folder for checks in results.values() for check in checks)
    if exitstatus == pytest.ExitCode.OK and not all(check.passed for check in checks):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item) -> bool | None:
    """Let pytest-timeout end no check of an exercise: learner code has time limits of its own."""
    return True if isinstance(item, CheckItem) and not debugs(item.config) else None
