"""The answers that this repository knows, each with the truth about it. No engine is imported.

An answer is a chapter's text that equals the solution except for one exercise. It is an edit of the
solution, or a definition below it (the last definition of a name counts). To add one, write a row:
`edits.jsonl` has edits, `definitions.jsonl` what is true of the files in `definitions/`, and
`told.jsonl` what a verdict must say. A row is one JSON object on one line.
"""

import ast
import difflib
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEY = ("corpus", "chapter", "exercise", "name")  # fields of an answer, columns of files
Edits = Iterable[tuple[str, str]]  # pieces of a definition, each with its replacement


@cache
def solution(chapter: str) -> str:
    """Return the text of a chapter's solution, without the marked wrong lines."""
    text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
    return re.sub(r"  ### BUG: .*", "", text)


def edited(source: str, exercise: str, edits: Edits) -> str:
    """Return a chapter's text with pieces of one definition replaced, each of which occurs once."""
    first, last = place_of(source, exercise)
    lines = source.splitlines()
    part = "\n".join(lines[first:last])
    for old, new in edits:
        assert part.count(old) == 1, f"{exercise}: {old!r} occurs {part.count(old)} times"
        part = part.replace(old, new)
    return "\n".join([*lines[:first], *part.splitlines(), *lines[last:], ""])


def replaced(text: str, edits: dict[str, str]) -> str:
    """Return a text with pieces of it replaced, everywhere; each must occur."""
    for old, new in edits.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def rows_of(name: str) -> list[dict]:
    """Return the rows of a file with one JSON object a line, which may be compressed."""
    path = HERE / name
    stored = path.read_bytes()
    text = gzip.decompress(stored) if path.suffix == ".gz" else stored
    return [json.loads(line) for line in text.splitlines()]


@cache
def place_of(source: str, name: str) -> tuple[int, int]:
    """Return a definition's first line and the line after its last one, counted from 0."""
    lines = source.splitlines()
    nodes = [one for one in ast.parse(source).body if getattr(one, "name", "") == name]
    node = nodes[-1]  # the last definition counts
    last = node.end_lineno
    while last < len(lines) and lines[last].strip().startswith("### "):
        last += 1  # the closing marker is a comment, which belongs to no node
    return node.lineno - 1, last


def changed_lines(before: str, after: str) -> frozenset[int]:
    """Return the lines of a text that differ from another one, counted from 1.

    If lines are missing, the line that took their place differs.
    """
    old, new = before.splitlines(), after.splitlines()
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    matcher = difflib.SequenceMatcher(None, old[same:], new[same:], False)
    parts = [part for part in matcher.get_opcodes() if part[0] != "equal"]
    ranges = [range(same + a + 1, same + max(b, a + 1) + 1) for *_, a, b in parts]
    return frozenset(line for lines in ranges for line in lines)


@dataclass(frozen=True)
class Answer:
    """A chapter's text, the exercise to judge in it, and the truth about it.

    faults: wrong lines of the text, counted from 1; empty if they are unknown.
    mistakes: names that must be given. also: further names that would be true.
    says, unsays: words that the message must contain, and words that it must not.
    until: the subject of the issue that will make the verdict true; "" if it is true now.
    """

    corpus: str
    chapter: str
    exercise: str
    name: str
    text: str = field(repr=False)
    right: bool
    faults: frozenset[int] = frozenset()
    mistakes: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    says: tuple[str, ...] = ()
    unsays: str = ""
    until: str = ""

    def __str__(self) -> str:
        return f"{self.corpus}-{self.exercise}-{self.name}"

    def misses(self, line: int | None) -> bool:
        """Return True if a line is given and more than one line away from each fault."""
        return bool(line and self.faults) and min(abs(line - one) for one in self.faults) > 1


def answers() -> list[Answer]:
    """Return all answers except those with known mistakes, which the graders list."""
    return [*solutions(), *edited_answers(), *right_answers(), *definitions()]


def solutions() -> Iterator[Answer]:
    """Yield each exercise of the solutions."""
    for path in sorted((ROOT / "solutions").glob("ch*.py")):
        text = solution(path.stem)
        for exercise in sorted(defined_in(text)):
            first, last = place_of(text, exercise)
            if "### BEGIN SOLUTION" in "\n".join(text.splitlines()[first:last]):
                yield Answer("solution", path.stem, exercise, "solution", text, True)


def right_answers() -> Iterator[Answer]:
    """Yield right definitions in unusual forms: files with one or more exercises of a chapter."""
    for path in sorted((HERE / "right_answers").glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        for exercise in sorted(defined_in(text) & defined_in(solution(path.parent.name))):
            yield Answer("right_answers", path.parent.name, exercise, path.stem, text, True)


def definitions() -> Iterator[Answer]:
    """Yield definitions as people wrote them, below the solution of their chapter."""
    for row in rows_of("definitions.jsonl"):
        code = (HERE / "definitions" / f"{row['name']}.py").read_text(encoding="utf-8")
        text = f"{solution(row['chapter'])}\n\n{code}"
        below = range(text.count("\n") - code.count("\n"), text.count("\n") + 1)
        lines = ["", *text.splitlines()]
        yield Answer(
            **{field: row[field] for field in (*KEY, "right")},
            text=text,
            faults=frozenset(at for at in below if lines[at].strip() in row.get("lines", ())),
            mistakes=frozenset(row.get("mistakes", ())),
            also=frozenset(row.get("also", ())),
            says=tuple(row.get("says", ())),
            unsays=row.get("unsays", ""),
            until=row.get("until", ""),
        )


# Facts that are known mistakes themselves, with the names that they may be given.
NAMES_OF_FACTS = {
    "input_changed": {"input_overwritten", "normed_in_place"},
    "mask_as_attribute": {"mask_as_plain_attribute"},
    "no_refusal": {"num_heads_unchecked", "groups_unchecked", "gqa_heads_unchecked"},
}


def edited_answers() -> Iterator[Answer]:
    """Yield edits of the solutions: those that people wrote, and those that a program made.

    "mutant": one small edit, without a known mistake. "fact": an edit that changes no value, such
    as a mask that is no buffer. "beside": a known mistake and a fact; its name is `mistake+fact`.
    """
    for row in (*rows_of("edits.jsonl"), *rows_of("generated.jsonl.gz")):
        source, right = solution(row["chapter"]), row["corpus"] == "right_edits"
        text = edited(source, row["exercise"], row["edits"])
        *mistakes, fact = row["name"].split("+")
        yield Answer(
            **{field: row[field] for field in KEY},
            text=text,
            right=right,
            faults=frozenset() if right else changed_lines(source, text),
            mistakes=frozenset(mistakes),
            also=frozenset(NAMES_OF_FACTS.get(fact, ())),
        )


@cache
def defined_in(text: str) -> frozenset[str]:
    """Return the names of the functions and classes at the top level of a text."""
    return frozenset(filter(None, (getattr(node, "name", "") for node in ast.parse(text).body)))


@cache
def version3() -> dict[tuple[str, str, str], dict]:
    """Return the rows of version 3 by corpus, exercise and name: points, names, line, message."""
    rows = rows_of("version3.jsonl.gz")
    return {(row["corpus"], row["exercise"], row["name"]): row for row in rows}


def twins(exercise: str, name: str) -> frozenset[str]:
    """Return the other names of a known mistake: no case distinguishes them, or they are merged."""
    return twins_by_name().get((exercise, name), frozenset())


@cache
def twins_by_name() -> dict[tuple[str, str], frozenset[str]]:
    """Read `twins.jsonl`. A name with edits was merged with its twin: graders list it no more."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for row in rows_of("twins.jsonl"):
        for one, other in ((row["name"], row["twin"]), (row["twin"], row["name"])):
            key = row["exercise"], one
            found[key] = found.get(key, frozenset()) | {other}
    return found


@dataclass(frozen=True)
class Told:
    """A text and its expected verdict. A field with its default demands nothing.

    says: words that the message contains. unsays: words that it must not.
    names: the mistakes. line: a piece of the line at fault; if words have `{}`, the message has its
    number there, and the row need not. points: the least and the largest share of them; by default,
    not all. public: ask the learner's own checks.
    """

    chapter: str
    exercise: str
    name: str
    text: str = field(repr=False)
    says: Sequence[str] = ()
    unsays: str = ""
    names: list[str] | None = None
    line: str = ""
    points: Sequence[float] | None = None
    public: bool = False

    def __str__(self) -> str:
        return f"{self.exercise}-{self.name}"

    def blamed(self) -> int:
        """Return the number of the line at fault: in the exercise, else the last with the words."""
        lines = self.text.splitlines()
        places = [at for at, line in enumerate(lines, 1) if self.line in line]
        first, _ = place_of(self.text, self.exercise)
        return next((at for at in places if at > first), places[-1])


def told() -> Iterator[Told]:
    """Yield the rows of `told.jsonl`: edits of a solution and a text below it, or a whole text."""
    for row in rows_of("told.jsonl"):
        if "text" not in row:
            text = edited(solution(row["chapter"]), row["exercise"], row.pop("edits"))
            row["text"] = text + row.pop("below", "")
        yield Told(**row)
