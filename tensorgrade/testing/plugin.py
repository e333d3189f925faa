"""The pytest plugin for `exercises/` and `graders/`.

It collects grader files, adds the `attempt` fixture, and requires the `exercise` marker on every
test that uses it. It converts failures to notes for learners, and ends a run with a summary of
all exercises.
"""

import gc
from argparse import ArgumentTypeError
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ..attempts.attempt import Attempt, ExerciseAttempt
from ..attempts.given_code import is_as_given, is_rewritten
from ..attempts.maker import AttemptMaker, NoDevice
from ..attempts.points import scored
from ..attempts.public_side import own_names
from ..attempts.results import CheckResult, Topic
from ..attempts.setup import Setup
from ..course import CourseError
from ..history import remember
from ..judging.diagnosis import Finding, Wrong
from ..sandbox.holes import NotIsolated
from ..sandbox.processes import NotStarted
from ..views.note import Note
from ..views.summary import group, print_nothing_found, print_summary, why_skipped
from . import collecting
from .collected import result_of
from .collecting import TEST, judges, tests_folder
from .settling import settle

EXERCISES = pytest.StashKey[list[str]]()  # the names that `-k` can select, in order
MAKERS = pytest.StashKey[dict[Path, AttemptMaker]]()
# Of an item: the result of its check, the finding that its report shows, and True if it is the
# last selected test of its exercise.
RESULT = pytest.StashKey[CheckResult]()
SHOWN = pytest.StashKey[Finding | None]()
IS_LAST = pytest.StashKey[bool]()


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
        action="store_true",
        default=None,
        help="print sentences and no drawings, as for a screen reader (default without a terminal)",
    )
    group.addoption(
        "--no-plain", dest="plain", action="store_false", help="print drawings into a file too"
    )


def tests_of(argument: str) -> str:
    """Return the tests of a chapter if the argument is the chapter's own file."""
    path = Path(argument)
    if path.suffix != ".py":
        return argument  # a folder such as `.` may have no name
    tests = path.with_name(f"test_{path.name}")
    return str(tests) if tests.exists() else argument


def number_of_hints(text: str) -> int:
    """Return the N of `--hint N`. Raises ArgumentTypeError if a path was given instead."""
    if not text.isdigit():
        raise ArgumentTypeError(
            f"takes a number, not {text!r}; put it last: pytest exercises/ --hint"
        )
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    config.args[:] = [tests_of(argument) for argument in config.args]
    config.pluginmanager.register(collecting)
    config.pluginmanager.register(BareReports())
    config.stash[MAKERS] = {}
    config.stash[EXERCISES] = []


def pytest_unconfigure(config: pytest.Config) -> None:
    for maker in config.stash.get(MAKERS, {}).values():
        maker.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Store the names of the exercises, and hide warnings of learner code."""
    judging = [item for item in items if TEST in item.stash]
    config.stash[EXERCISES] = list(dict.fromkeys(item.stash[TEST].exercise for item in judging))
    for item in judging if config.pluginmanager.has_plugin("warnings") else ():
        # Warnings from learner code would distract learners from the summary.
        item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Mark the last selected test of each exercise, which also reports `beyond_checks`.

    If all tests judge exercises, unregister plugins that are not needed.
    """
    judging = (item for item in session.items if TEST in item.stash)
    for last in {(item.path, item.stash[TEST].exercise): item for item in judging}.values():
        last.stash[IS_LAST] = True
    if session.items and all(map(judges, session.items)):
        # These plugins take time with each test, and learners do not see what they report.
        manager = session.config.pluginmanager
        for name in filter(manager.has_plugin, ("logging-plugin", "hypothesispytest")):
            manager.unregister(name=name)


@pytest.fixture
def attempt(request: pytest.FixtureRequest) -> Attempt:
    """The learner's attempt at the chapter that this file tests, after its cases have run."""
    test = request.node.stash[TEST]
    try:
        maker = maker_for(request.config, tests_folder(request.path))
        made = attempt_in(request.config, maker, test.chapter)
    except NoDevice as error:
        pytest.skip(str(error))
    except (NotIsolated, NotStarted) as error:
        pytest.exit(str(error), returncode=2)
    made.run([test.exercise])
    return made


def attempt_in(config: pytest.Config, maker: AttemptMaker, chapter: str) -> Attempt:
    """Return the attempt at a chapter in the folder of learner files, created once for a run."""
    folder = config.getoption("attempt")
    try:
        hidden = maker.is_hidden(chapter)
    except CourseError as error:  # if nothing has been built yet
        pytest.exit(str(error), returncode=2)
    if hidden and not folder:
        asks = "whose answers? pytest graders/ --attempt DIR, where DIR holds the chapters' files"
        pytest.exit(asks, returncode=2)
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Store the result of a check. Skip its test if the exercise is not started.

    The last test of an exercise fails if names differ or given code was rewritten, because that
    costs points although every check passes.
    """
    if not judges(item):
        return (yield)
    made, error = item.funcargs["attempt"], None
    assert isinstance(made, Attempt)
    try:
        yield
    except Wrong as caught:
        error = caught
    test = item.stash[TEST]
    part = made.exercises[test.exercise]
    result = item.stash[RESULT] = result_of(test, made, error)
    item.stash[SHOWN] = result.finding
    if result.is_to_do or is_as_given(part):
        raise pytest.skip.Exception(why_skipped(part, result), _use_item_location=True)
    if error is not None:
        raise error
    if item.stash.get(IS_LAST, False) and (finding := beyond_checks(part, result)):
        item.stash[SHOWN] = finding
        raise Wrong(finding.diagnosis)


def beyond_checks(part: ExerciseAttempt, result: CheckResult) -> Finding | None:
    """Return the finding on names that differ or on rewritten given code; None if there is none."""
    if not (own_names(part).differ or is_rewritten(part)):
        return None
    more = (one for one in scored(part, [result]) if one.about != Topic.ANSWER)
    return next((one.finding for one in more if not one.passed), None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Convert a failed check to a note, and attach the result of every check to its report."""
    report = yield
    if judges(item) and (call.when == "call" or report.failed):
        made, error = item.funcargs.get("attempt"), call.excinfo and call.excinfo.value
        result = item.stash.get(RESULT, None) or result_of(
            item.stash[TEST], made if isinstance(made, Attempt) else None, error
        )
        vars(report).update(tensorgrade=result, tests=tests_folder(item.path))
        if report.failed and (shown := item.stash.get(SHOWN, result.finding)):
            # pytest prints any object that converts to text, but its types do not allow that.
            report.longrepr = Note(shown)  # type: ignore[assignment]
    return report


class BareReports:
    """A plugin that reports failed checks without a traceback, because the diagnosis suffices.

    For every failure pytest would parse the sources of all frames, which are never shown.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """Return a bare report for a failed check; None lets pytest report everything else."""
        if call.when != "call" or not (call.excinfo and call.excinfo.errisinstance(Wrong)):
            return None
        return pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "failed",
            "",
            call.when,
            duration=call.duration,
            start=call.start,
            stop=call.stop,
        )


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, str] | None:
    """Report checks as done, wrong or to do. The summary explains the wrong ones."""
    result: CheckResult | None = getattr(report, "tensorgrade", None)
    if result is None or (report.when != "call" and report.passed):
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
    results: dict[Path, list[CheckResult]] = {}
    for kind in ("passed", "wrong", "to do", "failed"):
        for report in terminalreporter.getreports(kind):
            if hasattr(report, "tensorgrade"):
                results.setdefault(report.tests, []).append(report.tensorgrade)
    makers = {tests: maker for tests, maker in config.stash[MAKERS].items() if tests in results}
    keyword = config.getoption("keyword")
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and keyword:
        print_nothing_found(terminalreporter, keyword, config.stash[EXERCISES])
    for tests, maker in makers.items():
        if len(makers) > 1:
            terminalreporter.write_line(f"\nBy the tests in {tests.name}/", bold=True)
        folder = config.invocation_params.dir / (config.getoption("attempt") or tests)
        try:
            settled = settle(group(results[tests]), maker)
        except CourseError as error:  # a file of tests that was not selected is broken
            terminalreporter.write_line(f"\nThere is no summary: {error}")
            continue
        print_summary(terminalreporter, settled, maker, config)
        remember(tests, folder, settled.whole)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if an exercise is still to do, because pytest does not count skipped tests."""
    results = (item.stash.get(RESULT, None) for item in session.items)
    if exitstatus == pytest.ExitCode.OK and any(one and not one.passed for one in results):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item) -> bool | None:
    """Let pytest-timeout end no check of an exercise: learner code has time limits of its own."""
    return True if judges(item) and not debugs(item.config) else None
