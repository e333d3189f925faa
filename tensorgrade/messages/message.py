"""The parts of a message: parameters, a wording, and an id.

    @dataclass(frozen=True)
    class WrongShape(Message):
        id = "wrong_shape"
        template = "{what} has shape {shape:size}; {asked:size} is expected"
        what: Message
        shape: Shape
        asked: Shape

Program logic uses the class and the fields. A message becomes words, with `render` or `sentence`,
only where people read it or a row is written. No code searches or edits the words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from string import Formatter
from typing import Any, ClassVar

from ..exchange.cases import spoken_shape
from ..exchange.text import short

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Message:
    """Base class. `template` is the wording; a class whose wording varies overrides `wording`."""

    id: ClassVar[str]
    template: ClassVar[str] = ""
    begins_small: ClassVar[bool] = True  # `sentence` makes the first letter a capital

    def wording(self) -> str:
        """Return the template for these parameters."""
        return self.template

    def joins(self) -> tuple["Message | None", ...]:
        """Return the messages that this one joins; empty if it is a single message."""
        return ()


@dataclass(frozen=True)
class Plain(Message):
    """Wording outside of the catalogue: a course's own, or a sentence that is already rendered."""

    id = "plain"
    template = "{text}"
    text: str


@dataclass(frozen=True)
class Clauses(Message):
    """Several messages in one sentence, one after another. Parts that are None are skipped."""

    id = "clauses"
    parts: tuple[Message | None, ...]
    between: str = "; "

    def wording(self) -> str:
        words = map(words_of, self.parts)
        return braced(self.between.join(filter(None, words)))

    def joins(self) -> tuple[Message | None, ...]:
        return self.parts


@dataclass(frozen=True)
class Sentences(Message):
    """Several messages, each in its own sentence. Parts that are None are skipped."""

    id = "sentences"
    parts: tuple[Message | None, ...]

    def wording(self) -> str:
        return braced(" ".join(filter(None, map(sentence, self.parts))))

    def joins(self) -> tuple[Message | None, ...]:
        return self.parts


def render(message: Message | None) -> str:
    """Return the words of a message, cut if too long; "" for None."""
    return short(words_of(message))


def words_of(message: Message | None) -> str:
    """Return all words of a message, for a message that joins it to others."""
    if message is None:
        return ""
    return WORDS.vformat(message.wording(), (), values_of(message))


FILE = re.compile(r"\S+\.(py|ipynb)\b")


def sentence(message: Message | None) -> str:
    """Return a message as a sentence, with a capital letter and a full stop, cut if too long.

    The name of a file keeps its small letter.
    """
    text = " ".join(words_of(message).split())
    is_small = all(part.begins_small for part in list(parts_of(message))[:1])
    if is_small and not FILE.match(text):
        text = text[:1].upper() + text[1:]
    return short(text if not text or text.endswith((".", "?", "!", "…")) else text + ".")


def parts_of(message: Message | None) -> Iterator[Message]:
    """Yield the messages that a message joins, in order; if it joins none, the message."""
    if message is not None and (joined := message.joins()):
        for part in joined:
            yield from parts_of(part)
    elif message is not None:
        yield message


def values_of(message: Message) -> dict[str, Any]:
    """Return the parameters of a message, by name."""
    return {field.name: getattr(message, field.name) for field in fields(message)}


class Words(Formatter):
    """A formatter that writes parameters into a wording.

    `{x:size}` writes a shape (or `?` if there is none), `{x:code}` writes names in code quotes,
    `{x:list}` writes words with commas and a last `and`. A parameter that is a message is rendered.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Message):
            return words_of(value)
        if format_spec == "size":
            return "?" if value is None else spoken_shape(value)
        if value is None:
            return ""
        if format_spec == "code":
            return listed([f"`{one}`" for one in ([value] if isinstance(value, str) else value)])
        if format_spec == "list":
            return listed([words_of(one) if isinstance(one, Message) else one for one in value])
        return format(value, format_spec)


WORDS = Words()


def listed(parts: Sequence[object]) -> str:
    """Return words with commas, and `and` before the last.

    >>> listed([0]), listed([0, 2]), listed([0, 1, 2])
    ('0', '0 and 2', '0, 1 and 2')
    """
    words = [str(part) for part in parts]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def braced(words: str) -> str:
    """Return words that a template shows unchanged."""
    return words.replace("{", "{{").replace("}", "}}")
