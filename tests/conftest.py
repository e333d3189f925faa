"""Fixtures for the project's own tests."""

from pathlib import Path

import pytest
import torch

from tensorgrade.grading.grader import Grader
from tensorgrade.project import Project

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def project() -> Project:
    """The course that this repository holds."""
    torch.set_num_threads(1)
    return Project(ROOT)


@pytest.fixture(scope="session")
def grader():
    """One warm grader over the hidden tests, for all tests that grade."""
    torch.set_num_threads(1)
    made = Grader(ROOT / "graders", isolation="none")
    yield made
    made.close()
