"""The pytest plugin: one for `exercises/` and `graders/`.

It adds the `attempt` fixture, demands the `exercise` marker of every test that takes it, turns
failures into notes for learners, and ends a run with a summary for each exercise.
"""

from argparse import ArgumentTypeError
from collections import defaultdict
from pathlib import Path

import pytest

from .course import CourseError
from .desk import Desk, NoDevice
from .diagnosis import Diagnosis, Wrong
from .interrupting import Interrupter
from .judging.unanswered import ENDS
from .results import CheckResult
from .runner.errors import OutOfTime
from .sandbox.ladder import NotIsolated
from .views.note import Note
from .views.summary import print_summary

DESKS = pytest.StashKey[dict]()
TIMER = pytest.StashKey[Interrupter]()
RESULT = pytest.StashKey[CheckResult]()
# Set by `tensorgrade grade`, which runs the same collected tests on one attempt after another.
CURRENT = pytest.StashKey()


def pytest_addoption(parser):
    """The options of both folders."""
    group = parser.getgroup("tensorgrade")
    group.addoption("--attempt", metavar="DIR", help="folder with the chapters' files to check")
    group.addoption("--device", choices=("cpu", "cuda", "auto"), default="cpu",
                    help="where the learner's code computes (default: cpu)")
    group.addoption("--isolation", choices=("auto", "none"), default="auto",
                    help="how hidden graders lock learner code in (default: the best there is)")
    group.addoption("--hint", nargs="?", const=1, type=number_of_hints, metavar="N", default=0,
                    help="show the first N hints for the exercise to work on first")


def tests_of(argument: str) -> str:
    """The tests of a chapter, where a learner names the chapter's own file."""
    path = Path(argument)
    tests = path.with_name(f"test_{path.name}")
    return str(tests) if path.suffix == ".py" and tests.exists() else argument


def number_of_hints(text: str) -> int:
    """The N of `--hint N`. Raises ArgumentTypeError where a path got in its place."""
    if not text.isdigit():
        raise ArgumentTypeError(f"takes a number, not {text!r}; put it last: pytest exercises/ --hint")
    return int(text)


def pytest_configure(config):
    config.args[:] = [tests_of(argument) for argument in config.args]
    config.addinivalue_line(
        "markers", "exercise(name, points, guard=False): the exercise that a test judges, and its share"
    )
    config.stash[DESKS] = {}


def pytest_unconfigure(config):
    for desk in config.stash.get(DESKS, {}).values():
        desk.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Collection fails where a test does not say what it judges, or shares do not add up."""
    shares = defaultdict(float)
    for item in (item for item in items if judges(item)):
        marker = item.get_closest_marker("exercise")
        if marker is None or not marker.args or "points" not in marker.kwargs:
            raise pytest.UsageError(f"{item.nodeid} takes `attempt` but has no @exercise(name, points=…)")
        shares[item.path, marker.args[0]] += marker.kwargs["points"]
    if not any("::" in argument for argument in config.args):
        for (path, name), points in shares.items():
            check_share(path, name, points)


def check_share(path: Path, name: str, points: float) -> None:
    """The shares of one exercise's tests add up to its points in the course."""
    from .course import load_course

    try:
        wanted = load_course(path.parent).chapter(chapter_of(path)).exercise(name).points
    except CourseError as error:
        raise pytest.UsageError(str(error)) from None
    if abs(points - wanted) > 1e-6:
        raise pytest.UsageError(f"{path.name}: the tests of {name} add up to {points:g} points, not {wanted:g}")


def judges(item) -> bool:
    """Whether a test judges an attempt."""
    return "attempt" in getattr(item, "fixturenames", ())


def chapter_of(path: Path) -> str:
    """`ch1_x` for `test_ch1_x.py`."""
    return path.stem.removeprefix("test_")


@pytest.fixture
def attempt(request):
    """The learner's version of the chapter that this file tests."""
    chapter = chapter_of(request.path)
    if current := request.config.stash.get(CURRENT, None):
        return current
    try:
        desk = desk_for(request.config, request.path.parent)
    except NoDevice as error:
        pytest.skip(str(error))
    if desk.chapter_material(chapter)[0].hidden and not request.config.getoption("attempt"):
        pytest.exit("whose answers? pytest graders/ --attempt DIR, where DIR holds the chapters' files", returncode=2)
    key = (request.path, chapter)
    if key not in desk.attempts:
        folder = Path(request.config.getoption("attempt") or request.path.parent)
        path = request.config.invocation_params.dir / folder / f"{chapter}.py"
        try:
            desk.attempts[key] = desk.attempt(chapter, path)
        except NotIsolated as error:
            pytest.exit(str(error), returncode=2)
    return desk.attempts[key]


def desk_for(config, folder: Path) -> Desk:
    """The desk of a folder of tests, made once for a run."""
    desks = config.stash[DESKS]
    if folder not in desks:
        desks[folder] = Desk(folder, config.getoption("device"), config.getoption("isolation"))
    return desks[folder]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed check becomes a note, and every check of an exercise leaves its result."""
    report = yield
    if judges(item) and (call.when == "call" or report.failed):
        marker = item.get_closest_marker("exercise")
        result = CheckResult(marker.args[0], marker.kwargs["points"], report.passed, said_by(item))
        if report.failed:
            result.diagnosis = diagnosis_of(call.excinfo)
        if result.diagnosis is not None and item.config.stash.get(CURRENT, None) is None:
            part = getattr(item.funcargs["attempt"], result.exercise)
            report.note = Note(result.said, result.diagnosis, mistakes_of(item, result), part.trace)
            report.longrepr = report.note
        report.tensorgrade = item.stash[RESULT] = result
        report.chapter = chapter_of(item.path)
    return report


def said_by(item) -> str:
    """The test's own line: its docstring."""
    return " ".join((item.function.__doc__ or item.name).split())


def diagnosis_of(excinfo) -> Diagnosis | None:
    """The diagnosis that a failure carries; None for an error of the test itself."""
    if excinfo.errisinstance(Wrong):
        return excinfo.value.diagnosis
    if excinfo.errisinstance(OutOfTime):
        return Diagnosis("timeout", ENDS["timeout"])
    return None


def mistakes_of(item, result: CheckResult) -> dict[str, str]:
    """Messages of the mistakes recognised in the exercise, by name."""
    part = getattr(item.funcargs["attempt"], result.exercise)
    if result.diagnosis.kind in ("to do", "timeout"):
        return {}
    return {name: part.attempt.fingerprints.messages[name] for name in part.mistakes}


def pytest_report_teststatus(report):
    """Checks end as done, wrong or to do; wrong ones are explained in our own summary."""
    result = getattr(report, "tensorgrade", None)
    if result is None or (report.when != "call" and report.passed):
        return None
    if result.passed:
        return "passed", ".", "DONE"
    if result.diagnosis is None:
        return None
    to_do = result.diagnosis.kind == "to do"
    return ("to do", "o", "TO DO") if to_do else ("wrong", "x", "WRONG")


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(terminalreporter, config):
    """A summary for each exercise, the first thing to work on, and how to get a hint."""
    reports = [r for kind in ("passed", "wrong", "to do", "failed") for r in terminalreporter.getreports(kind)]
    reports = [report for report in reports if hasattr(report, "tensorgrade")]
    desks = list(config.stash[DESKS].values())
    if reports and desks:
        print_summary(terminalreporter, reports, desks[0], config)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item, settings):
    """In place of pytest-timeout's own timers: one that ends learner code with a sentence."""
    if not judges(item):
        return None
    item.stash[TIMER] = Interrupter(settings.timeout)
    return True


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_cancel_timer(item):
    if TIMER not in item.stash:
        return None
    item.stash[TIMER].cancel()
    return True
