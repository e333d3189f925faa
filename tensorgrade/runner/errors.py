"""What to tell about an error that learner code raised: its kind and the learner's own line."""

import traceback

LONGEST, DEEPEST = 500, 12


class OutOfTime(BaseException):
    """Raised inside learner code when its time is up; no `except Exception` catches it."""


def describe_error(error: BaseException, filename: str) -> dict:
    """`type`, its `kinds` (base classes too), `text`, and the `line`, its `source` and `function`
    in the learner's file, if any.

    >>> try: 1 / 0
    ... except ZeroDivisionError as error: describe_error(error, "no such file")["text"]
    'division by zero'
    """
    frame = learner_frame(error, filename)
    line, function, source = (frame.lineno, frame.name, frame.line) if frame else (None, "", "")
    if isinstance(error, SyntaxError) and frame is None:
        line, source = error.lineno, error.text or ""
    return {
        "type": type(error).__name__[:LONGEST],
        "kinds": [kind.__name__[:LONGEST] for kind in type(error).__mro__[:DEEPEST]],
        "text": text_of(error),
        "line": line,
        "function": function,
        "source": (source or "").strip()[:LONGEST],
    }


def learner_frame(error: BaseException, filename: str) -> traceback.FrameSummary | None:
    """The innermost frame of the traceback that lies in the learner's file."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame for frame in reversed(frames) if frame.filename == filename), None)


def text_of(error: BaseException) -> str:
    """The error's message; its own `__str__` may fail, and may be endless."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        return str(text)[:LONGEST]
    except Exception:
        return ""
