"""The dates in these tests are up to 2030, which must not be the future for them."""

from datetime import UTC, datetime

import pytest

from tensorgrade import lateness


@pytest.fixture(autouse=True)
def after_all_dates(monkeypatch):
    """Put the present behind all dates that these tests use."""
    monkeypatch.setattr(lateness, "now", lambda: datetime(2031, 1, 1, tzinfo=UTC))
