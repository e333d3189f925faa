"""Audit attention code of any origin: find out what it is, and which relations hold for it.

`child.py` runs beside the audited code, in a sandbox, and returns values. `run.py` starts it and
judges these values, and `report.py` turns the findings into words.
"""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attention(test: Callable[..., Any]) -> Callable[..., None]:
    """Audit what a test returns, a class or a function; the test fails with the report.

    The code runs in the test's own process.

        from tensorgrade import audit

        @audit.attention
        def test_my_attention():
            return MyAttention
    """

    @functools.wraps(test)
    def wrapped(*arguments: Any, **named: Any) -> None:
        from .report import report, status_of
        from .run import Asked, audit_of_file

        target = test(*arguments, **named)
        path = Path(inspect.getsourcefile(target) or "")
        asked = Asked(path, target.__module__, "", target.__name__)
        found = audit_of_file(asked, {}, None)
        if status_of(found):
            raise AssertionError(report(found))

    return wrapped
