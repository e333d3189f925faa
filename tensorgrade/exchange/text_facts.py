"""Facts that a process reports about a learner's text before it runs, checked piece by piece."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..runner.wire import BadMessage, unpack


@dataclass(frozen=True)
class TextFacts:
    """Facts about a learner's text. All are empty if the text could not be read.

    changes: by find-the-bug exercise, the number of parts of its syntax tree that differ from the
        given code.
    spans: (names, first line, last line) of each top-level statement.
    names: by exercise, the names in its code that the text does not define itself.
    """

    changes: dict[str, int] = field(default_factory=dict)
    spans: list[tuple[list[str], int, int]] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)


def read_text_facts(message: bytes) -> TextFacts:
    """Return the facts in a reply. Raises BadMessage."""
    told = unpack(message)[0]
    spans = told.get("spans")
    if not isinstance(spans, list) or not all(map(is_span, spans)):
        raise BadMessage("not the spans of statements")
    return TextFacts(
        by_name(told.get("changes"), is_count),
        [(names, first, last) for names, first, last in spans],
        by_name(told.get("names"), is_texts),
    )


def by_name(told: object, is_right: Callable[[object], bool]) -> dict:
    """Return the argument. Raises BadMessage unless it is a dict whose values are all right."""
    if not isinstance(told, dict) or not all(map(is_right, told.values())):
        raise BadMessage("not facts by name")
    return told


def is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def is_span(span: object) -> bool:
    """Return True if the argument is names with the numbers of a first and a last line."""
    if not isinstance(span, list) or len(span) != 3 or not is_texts(span[0]):
        return False
    _, first, last = span
    return type(first) is int and type(last) is int and 0 < first <= last
