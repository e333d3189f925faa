"""Audit attention code of any origin: find out what it is, and which relations hold for it.

`child.py` runs beside the audited code, in a sandbox, and returns values. `run.py` starts it,
judges these values and reports the findings.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any


def attention(test: Callable[..., Any]) -> Callable[..., None]:
    """Audit what a test returns, a class or a function; the test fails with the report.

    The code's file is loaded again, in the test's own process.

        from tensorgrade import audit

        @audit.attention
        def test_my_attention():
            return MyAttention
    """

    @functools.wraps(test)
    def wrapped(*arguments: Any, **named: Any) -> None:
        from .run import audits, report, status_of

        target = test(*arguments, **named)
        place = f"{inspect.getsourcefile(target)}:{target.__name__}"
        (found,) = audits([place], trust=True)
        if status_of(found):
            raise AssertionError(report(found))

    return wrapped
