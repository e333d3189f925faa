"""The dates in these tests are up to 2030, which must not be the future for them."""

from datetime import UTC, datetime

import pytest

from tensorgrade import lateness

from .runs import Term


@pytest.fixture(autouse=True)
def after_all_dates(monkeypatch):
    """Put the present behind all dates that these tests use."""
    monkeypatch.setattr(lateness, "now", lambda: datetime(2031, 1, 1, tzinfo=UTC))


@pytest.fixture
def term(monkeypatch, tmp_path):
    """A term whose files say what they are worth."""
    return Term(tmp_path / "term", monkeypatch)
