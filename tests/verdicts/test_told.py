"""What learners hear: words, names and lines that a verdict must have, and what would be false."""

import pytest

from ..answers.reader import Told, told
from ..support import Judge, some

TOLD = list(told())
LONGEST = 600  # characters of a message


@pytest.mark.parametrize("row", some(TOLD, 25), ids=str)
def test_a_verdict_says_what_it_should(judge: Judge, row: Told):
    assert row.says or row.line or row.names or row.points, row
    found = judge(row.chapter, row.exercise, row.text, public=row.public)
    least, most = row.points or (0, 0.999)
    assert least - 0.001 <= found.points / found.max_points <= most + 0.001, found
    at = row.blamed() if row.line else None
    for words in row.says:
        assert words.format(at).lower() in found.message.lower(), (words, found)
    assert not row.unsays or row.unsays not in found.message, found
    assert row.names is None or sorted(found.mistakes) == sorted(row.names), found
    assert at is None or "{}" in str(row.says) or found.line == at, (found, at)
    assert len(found.message) <= LONGEST and found.message.isprintable(), found
