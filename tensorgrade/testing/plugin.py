"""The pytest plugin: one for `exercises/` and `graders/`.

It collects grader files, adds the `attempt` fixture, demands the `exercise` marker of every test
that takes it, turns failures into notes for learners, and ends a run with a summary for each
exercise.
"""

import gc
from argparse import ArgumentTypeError
from collections.abc import Generator
from pathlib import Path
from typing import Protocol, TypeGuard

import pytest
import torch

from ..attempts.attempt import Attempt
from ..attempts.given_code import is_rewritten
from ..attempts.maker import AttemptMaker, NoDevice
from ..attempts.public_side import own_names
from ..attempts.results import CheckResult
from ..attempts.setup import Setup
from ..course import CourseError
from ..isolation.ladder import NotIsolated
from ..judging.diagnosis import Wrong
from ..views.note import Note
from ..views.summary import print_summary
from .collected import result_of
from .collecting import TEST, Courses, GraderFile, share_out, tests_folder
from .interrupting import Interrupter

COURSES = pytest.StashKey[Courses]()
MAKERS = pytest.StashKey[dict[Path, AttemptMaker]]()
TIMER = pytest.StashKey[Interrupter]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of both folders."""
    group = parser.getgroup("tensorgrade")
    group.addoption("--attempt", metavar="DIR", help="folder with the chapters' files to check")
    group.addoption(
        "--device",
        choices=("cpu", "cuda", "auto"),
        default="cpu",
        help="where the learner's code computes (default: cpu)",
    )
    group.addoption(
        "--isolation",
        choices=("auto", "full", "namespaces", "landlock", "uid", "none"),
        default="auto",
        help="the least that locks learner code in (auto: what the course asks for)",
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


def tests_of(argument: str) -> str:
    """Return the tests of a chapter if the argument is the chapter's own file."""
    path = Path(argument)
    if path.suffix != ".py":
        return argument  # a folder may have no name: `.`
    tests = path.with_name(f"test_{path.name}")
    return str(tests) if tests.exists() else argument


def number_of_hints(text: str) -> int:
    """The N of `--hint N`. Raises ArgumentTypeError where a path got in its place."""
    if not text.isdigit():
        raise ArgumentTypeError(
            f"takes a number, not {text!r}; put it last: pytest exercises/ --hint"
        )
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    config.args[:] = [tests_of(argument) for argument in config.args]
    config.addinivalue_line(
        "markers",
        "exercise(name, points, guard=False): the exercise that a test judges, and its share",
    )
    config.pluginmanager.register(BareReports())
    config.stash[MAKERS] = {}
    config.stash[COURSES] = Courses()


def pytest_unconfigure(config: pytest.Config) -> None:
    for maker in config.stash.get(MAKERS, {}).values():
        maker.close()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """The file of an exercise under graders/ is a file of tests, whatever its name."""
    collectors = yield
    is_grader = parent.config.stash[COURSES].judges_exercise(file_path)
    return [GraderFile.from_parent(parent, path=file_path)] if is_grader else collectors


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collection fails where a test does not say what it judges, or shares do not add up."""
    items[:] = [item for item in items if not (judges(item) and is_for_others(item))]
    items[:] = of_one_exercise(items, config.getoption("keyword"))
    whole = not any("::" in argument for argument in config.args)
    judging = [item for item in items if judges(item)]
    share_out(judging, config.stash[COURSES], whole)
    for item in judging if config.pluginmanager.has_plugin("warnings") else ():
        # What learner code warns of would stand between a learner and the summary.
        item.add_marker(pytest.mark.filterwarnings("ignore"))


def of_one_exercise(items: list[pytest.Item], keyword: str) -> list[pytest.Item]:
    """Those that judge the exercise of that very name, where there is one; else all of them.

    pytest takes a keyword for a part of a name: `mean` stands in `mean_of_rows` too.
    """
    marked = ((item, item.get_closest_marker("exercise")) for item in items if judges(item))
    own: list[pytest.Item] = [
        item for item, marker in marked if marker and marker.args[:1] == (keyword,)
    ]
    return own or items


def is_for_others(item: pytest.Item) -> bool:
    """Whether a test is a learner's own, met among the graders."""
    marker = item.get_closest_marker("exercise")
    return bool(
        marker and marker.kwargs.get("learners_only") and isinstance(item.parent, GraderFile)
    )


def judges(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Whether a test judges an attempt."""
    return isinstance(item, pytest.Function) and "attempt" in item.fixturenames


@pytest.fixture
def attempt(request: pytest.FixtureRequest) -> Attempt:
    """The learner's version of the chapter that this file tests; the cases have run."""
    test = request.node.stash[TEST]
    try:
        maker = maker_for(request.config, tests_folder(request.path))
        made = attempt_in(request.config, maker, test.chapter)
    except NoDevice as error:
        pytest.skip(str(error))
    except NotIsolated as error:
        pytest.exit(str(error), returncode=2)
    made.run([test.exercise])
    return made


def attempt_in(config: pytest.Config, maker: AttemptMaker, chapter: str) -> Attempt:
    """The attempt at a chapter in the folder of learner files, made once for a run."""
    folder = config.getoption("attempt")
    try:
        hidden = maker.is_hidden(chapter)
    except CourseError as error:  # nothing has been built yet
        pytest.exit(str(error), returncode=2)
    if hidden and not folder:
        asks = "whose answers? pytest graders/ --attempt DIR, where DIR holds the chapters' files"
        pytest.exit(asks, returncode=2)
    if chapter not in maker.attempts:
        place = config.invocation_params.dir / Path(folder or maker.tests)
        maker.attempts[chapter] = maker.attempt(chapter, place / f"{chapter}.py")
    return maker.attempts[chapter]


def maker_for(config: pytest.Config, folder: Path) -> AttemptMaker:
    """The maker of a folder of tests, made once for a run."""
    makers = config.stash[MAKERS]
    if folder not in makers:
        isolation, device = config.getoption("isolation"), config.getoption("device")
        torch.set_num_threads(1)  # on tensors this small threads wait for each other
        gc.freeze()  # else every collection goes through all of torch
        makers[folder] = AttemptMaker(Setup(folder, isolation, device))
    return makers[folder]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed check becomes a note, and every check of an exercise leaves its result."""
    report = yield
    if judges(item) and (call.when == "call" or report.failed):
        made, error = item.funcargs.get("attempt"), call.excinfo and call.excinfo.value
        result = result_of(item.stash[TEST], made if isinstance(made, Attempt) else None, error)
        vars(report).update(tensorgrade=result, tests=tests_folder(item.path))
        if result.finding:
            # pytest prints whatever turns into text, and its types do not say so.
            report.longrepr = Note(result.finding)  # type: ignore[assignment]
    return report


class BareReports:
    """Reports of failed checks without a traceback: the diagnosis says it all.

    pytest would parse the sources of all frames on the way, for every failure, and nobody sees
    them.
    """

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        """The report of a failed check; of all else pytest makes its own."""
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
    """Checks end as done, wrong or to do; wrong ones are explained in our own summary."""
    result: CheckResult | None = getattr(report, "tensorgrade", None)
    if result is None or (report.when != "call" and report.passed):
        return None
    if result.passed:
        return "passed", ".", "DONE"
    if result.finding is None:
        return None
    return ("to do", "o", "TO DO") if result.finding.is_to_do else ("wrong", "x", "WRONG")


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """A summary for each exercise, the first thing to work on, and how to get a hint.

    Hidden tests and a learner's own, run at once, have a summary each: both are worth all points.
    """
    results: dict[Path, list[CheckResult]] = {}
    for kind in ("passed", "wrong", "to do", "failed"):
        for report in terminalreporter.getreports(kind):
            if hasattr(report, "tensorgrade"):
                results.setdefault(report.tests, []).append(report.tensorgrade)
    makers = {tests: maker for tests, maker in config.stash[MAKERS].items() if tests in results}
    for tests, maker in makers.items():
        if len(makers) > 1:
            terminalreporter.write_line(f"\nBy the tests in {tests.name}/", bold=True)
        print_summary(terminalreporter, results[tests], maker, config)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Names that differ and rewriting fail no check, and the exercise is not done all the same."""
    attempts = (a for m in session.config.stash[MAKERS].values() for a in m.attempts.values())
    parts = (part for attempt in attempts for part in attempt.exercises.values())
    if exitstatus == pytest.ExitCode.OK and any(
        own_names(part).differ or is_rewritten(part) for part in parts
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


class TimeoutSettings(Protocol):
    """What pytest-timeout tells of a test's timeout, in seconds."""

    timeout: float


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: TimeoutSettings) -> bool | None:
    """In place of pytest-timeout's own timers: one that ends learner code with a sentence."""
    if not judges(item):
        return None
    item.stash[TIMER] = Interrupter(settings.timeout)
    return True


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> bool | None:
    if TIMER not in item.stash:
        return None
    item.stash[TIMER].cancel()
    return True
