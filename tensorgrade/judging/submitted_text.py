"""Search the submitted text for words and their lines, for messages.

The text is not parsed, because parsing may crash this process. These functions only search for
words and compare indentation.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from ..exchange.observation import CaughtError
from ..exchange.text import printable

TEXT = re.compile(r"""(["']).*?\1""")
QUOTES = ('"""', "'''")
TRIPLE = re.compile("|".join(QUOTES))
ASSIGN = re.compile(r"(?<![=!<>])=(?!=)")


class SubmittedText:
    """The lines of a text, counted from 1."""

    def __init__(self, text: str):
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines, split as Python does, and printable because they are quoted and analysed."""
        return [printable(line, len(line)) for line in re.split("\r\n|\r|\n", self.text)]

    def with_source_line(self, error: CaughtError) -> CaughtError:
        """Return an error with the text of its line; if that line does not exist, without it."""
        if error.line is None or error.line > len(self.lines):
            return replace(error, line=None, source="", called=None)
        called = error.called if (error.called or 0) <= len(self.lines) else None
        return replace(error, source=self.lines[error.line - 1].strip(), called=called)

    @cached_property
    def documenting(self) -> frozenset[int]:
        """The lines of docstrings and of other triple-quoted texts.

        >>> sorted(SubmittedText("def f():\\n  '''One\\n  j = 1\\n  '''\\n  j = 2").documenting)
        [2, 3, 4]
        """
        found, inside = set(), ""
        for number, line in enumerate(self.lines, 1):
            if inside or line.strip().lstrip("rRbBuUfF").startswith(QUOTES):
                found.add(number)
            for quote in TRIPLE.findall(line if inside else line.partition("#")[0]):
                if inside in ("", quote):
                    inside = quote if not inside else ""
        return frozenset(found)

    def code(self, line: int) -> str:
        """Return a line without its comment; "" for a line of a docstring."""
        if not 0 < line <= len(self.lines) or line in self.documenting:
            return ""
        return self.lines[line - 1].partition("#")[0]

    def indent(self, line: int) -> int:
        """Return the indentation of a line."""
        return len(self.lines[line - 1]) - len(self.lines[line - 1].lstrip())

    def above(self, line: int, *words: str) -> int:
        """Return the nearest enclosing line that begins with one of these words; 0 for none.

        >>> SubmittedText("def f():\\n    for x in y:\\n        pass").above(3, "for", "while")
        2
        """
        depth = self.indent(line)
        for at in range(line - 1, 0, -1):
            first = re.match(r"\s*(\w+)", self.code(at))
            if first and self.indent(at) < depth:
                if first[1] in words:
                    return at
                if first[1] in ("def", "class"):
                    return 0
                depth = self.indent(at)
        return 0

    def is_making(self, line: int) -> bool:
        """Return True if a line is in `__init__`, which runs when an object is made."""
        first = self.above(line, "def") if line <= len(self.lines) else 0
        return self.code(first).strip().startswith("def __init__(")

    def body(self, line: int) -> range:
        """Return the lines of the function around a line, including its first line."""
        first = self.above(line, "def", "async") if line <= len(self.lines) else 0
        return self.block(first, line) if first else range(0)

    def class_around(self, line: int) -> range:
        """Return the lines of the class whose method contains a line, including its first line."""
        function = next(iter(self.body(line)), 0)
        first = self.above(function, "class") if function else 0
        return self.block(first, line) if first else range(0)

    def block(self, first: int, line: int) -> range:
        """Return the lines of a function or a class, from its first one, that contains a line."""
        for last in range(line, len(self.lines) + 1):
            if self.code(last).strip() and self.indent(last) <= self.indent(first):
                return range(first, last)
        return range(first, len(self.lines) + 1)

    def using(self, names: Iterable[str], lines: Iterable[int]) -> tuple[int, str] | None:
        """Return (line, code) of the first use of a name as an attribute or by `getattr`, if any.

        Other words are left out: a name alone, or behind `self`, may be the learner's own.

        >>> text = SubmittedText("softmax = 'x.softmax'\\ny = nn.Softmax(0)\\nz = x.T.softmax(0)")
        >>> text.using(["softmax"], [1, 2, 3]), text.using(["Softmax"], [1, 2, 3])
        ((3, 'x.T.softmax'), (2, 'nn.Softmax'))
        >>> SubmittedText("self.norm = x.sum().norm()").using(["norm"], [1])
        (1, '.norm')
        """
        name = "|".join(map(re.escape, sorted(names)))
        used = re.compile(
            rf"(?<![\w.])(?!self\.)[\w.]*\.(?:{name})\b|getattr\([^()]*[\"'](?:{name})[\"']\)"
        )
        for line in lines:
            code = self.code(line)
            without_texts = TEXT.sub(lambda text: " " * len(text[0]), code)
            for found in used.finditer(code):
                if without_texts[found.start()] != " ":
                    return line, found[0]
        return None

    def goes_on_below(self, line: int) -> bool:
        """Return True if code with the same indentation follows, which `raise` makes unreachable.

        >>> text = SubmittedText("def f():\\n    raise E\\n\\n    x = 1")
        >>> [text.goes_on_below(n) for n in (2, 4, 9)]
        [True, False, False]
        """
        below = (at for at in range(line + 1, len(self.lines) + 1) if self.code(at).strip())
        after = next(below, 0) if 0 < line <= len(self.lines) else 0
        return after > 0 and self.indent(after) == self.indent(line)

    def comes_behind_code(self, line: int) -> bool:
        """Return True if a function has code above a line, except for the code of a stub.

        >>> [SubmittedText(f"def f():\\n    {code}\\n    raise E").comes_behind_code(3)
        ...     for code in ("x = 1", "# x", "super().__init__()")]
        [True, False, False]
        """
        body = self.body(line)
        ends = (at for at in body if self.code(at).rstrip().endswith(":"))  # the signature
        above = (self.code(at).strip() for at in range(next(ends, line) + 1, line))
        return any(code and code != "super().__init__()" for code in above)

    def making(self, word: str, lines: Iterable[int]) -> int:
        """Return the only one of some lines that assigns to a name; 0 for none or several."""
        found = [line for line in lines if self.makes(word, line)]
        return found[0] if len(found) == 1 else 0

    def makes(self, word: str, line: int) -> bool:
        """Return True if a line assigns to a name or to an attribute of `self`."""
        text = self.code(line)
        *targets, _ = ASSIGN.split(text)
        # Text after an open bracket is an argument of a call, as in `y = f(dim=dim, p=1)`.
        targets = [*takewhile(lambda target: "(" not in target, targets)]
        if targets:
            return word in re.sub("[,:+*/@-]", " ", " ".join(targets)).split()
        if text.strip().startswith("for "):
            return word in re.split(r"\W+", text.partition(" in ")[0])
        name = re.escape(word.removeprefix("self."))
        return bool(re.search(rf"""self\.register_buffer\(["']{name}["']""", text))
