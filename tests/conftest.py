"""Fixtures for the project's own tests."""

import sys
from pathlib import Path

import pytest
import torch

from tensorgrade.attempts.setup import Setup
from tensorgrade.instructor.grader import Grader
from tensorgrade.project import Project

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # commands that tests run in forks import their helpers from here


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
