"""Fixtures and options for the project's own tests."""

import gc
import shutil
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from tensorgrade.project import Project

from . import support

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # commands that tests run in forks import their helpers from here


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--amount",
        type=int,
        default=1,
        help="how many times as many of many similar cases to try (make test: 3, proofs: 100)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Set the amount before any file of tests is read. A busy machine makes no answer wrong."""
    support.AMOUNT = config.getoption("--amount")
    support.BY_NAME = bool(config.getoption("keyword")) or any("[" in word for word in config.args)
    settings.register_profile("amount", deadline=None, max_examples=support.amount(12))
    settings.load_profile("amount")


@pytest.hookimpl(tryfirst=True)  # before xdist reads these options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole folder on all cores; `-n 0` keeps it in one process.

    A file's tests stay together, because they share what the file's fixtures build.
    """
    whole, option = config.args == ["tests"], config.option
    if whole and option.numprocesses is None and not hasattr(config, "workerinput"):
        option.numprocesses, option.dist = "logical", "loadfile"


def pytest_sessionstart() -> None:
    """End in a clone in which nothing is built."""
    for course in (ROOT, *sorted((ROOT / "courses").iterdir())):
        if not any((course / "graders" / "references").glob("*/*.safetensors")):
            place = "" if course == ROOT else f"cd {course.relative_to(ROOT)} && "
            pytest.exit(f"nothing has been built yet; first run: {place}tensorgrade build", 1)


def pytest_collection_finish() -> None:
    """Freeze all objects, so that garbage collection does not scan torch and thousands of tests."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for what a test needs before any fixture starts."""
    for mark in item.iter_markers("needs"):
        support.require(*mark.args)


@pytest.fixture(scope="session")
def project() -> Project:
    """The course that this repository holds."""
    torch.set_num_threads(1)
    return Project(ROOT)


@pytest.fixture(scope="session")
def judge():
    """A text in, a verdict out, from one warm grader for each worker."""
    made = support.Judge()
    yield made
    made.close()


@pytest.fixture(scope="session")
def small_course(tmp_path_factory) -> Path:
    """A small course, built and released. Tests that change it take `course`."""
    from .author.small_course import build, make_course

    root = make_course(tmp_path_factory.mktemp("courses") / "small")
    build(root)
    support.release(root)
    return root


@pytest.fixture(scope="session")
def kit(tmp_path_factory) -> Path:
    """This course's kit as a learner unpacks it. Tests that change it take `own`."""
    from .kits import unpacked

    return unpacked(tmp_path_factory.mktemp("kits"))


@pytest.fixture
def course(small_course, tmp_path) -> Path:
    """A copy of the small course and of its cache. It is fresh in the new place, too."""
    return shutil.copytree(small_course, tmp_path / "small")


@pytest.fixture
def own(kit, tmp_path) -> Path:
    """A copy of the kit, in which a learner works."""
    return shutil.copytree(kit, tmp_path / "kit")
