"""The answers that this repository knows, each with the truth about it. No engine is imported.

An answer is a chapter's text that equals the solution except for one exercise. It is an edit of the
solution, or a definition below it (the last definition of a name counts).
"""

import ast
import csv
import difflib
import gzip
import json
import re
import runpy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REGION = re.compile(r"(### BEGIN SOLUTION.*?### END SOLUTION)", re.DOTALL)
KEY = ("corpus", "chapter", "exercise", "name")  # fields of an answer, columns of files
Edits = list[tuple[str, str]]  # pieces of the solution, each with its replacement


@cache
def solution(chapter: str) -> str:
    """Return the text of a chapter's solution, without the marked wrong lines."""
    text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
    return re.sub(r"  ### BUG: .*", "", text)


def edited(source: str, exercise: str, edits: Edits) -> str:
    """Return a chapter's text with pieces of one exercise's solution replaced.

    Each piece must occur exactly once between `### BEGIN SOLUTION` and `### END SOLUTION`.
    """
    first, last = place_of(source, exercise)
    lines = source.splitlines()
    parts = REGION.split("\n".join(lines[first:last]))
    for old, new in edits:
        found = sum(part.count(old) for part in parts[1::2])
        assert found == 1, f"{exercise}: {old!r} occurs {found} times"
        parts[1::2] = [part.replace(old, new) for part in parts[1::2]]
    return "\n".join([*lines[:first], *"".join(parts).splitlines(), *lines[last:], ""])


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
    edits = [*edited_answers("right_edits", "RIGHT"), *edited_answers("wrong_edits", "WRONG")]
    return [*solutions(), *edits, *right_answers(), *definitions(), *generated()]


def solutions() -> Iterator[Answer]:
    """Yield each exercise of the solutions."""
    for path in sorted((ROOT / "solutions").glob("ch*.py")):
        text = solution(path.stem)
        for exercise in sorted(defined_in(text)):
            first, last = place_of(text, exercise)
            if "### BEGIN SOLUTION" in "\n".join(text.splitlines()[first:last]):
                yield Answer("solution", path.stem, exercise, "solution", text, True)


def edited_answers(folder: str, listed: str) -> Iterator[Answer]:
    """Yield the edits of solutions that the files of a folder list by exercise and name."""
    for path in sorted((HERE / folder).glob("*.py")):
        source = solution(path.stem)
        for exercise, programs in runpy.run_path(str(path))[listed].items():
            for name, edits in programs.items():
                text = edited(source, exercise, edits)
                faults = frozenset() if listed == "RIGHT" else changed_lines(source, text)
                yield Answer(folder, path.stem, exercise, name, text, listed == "RIGHT", faults)


def right_answers() -> Iterator[Answer]:
    """Yield right definitions in unusual forms: files with one or more exercises of a chapter."""
    for path in sorted((HERE / "right_answers").glob("*/*.py")):
        text = path.read_text(encoding="utf-8")
        for exercise in sorted(defined_in(text) & defined_in(solution(path.parent.name))):
            yield Answer("right_answers", path.parent.name, exercise, path.stem, text, True)


def definitions() -> Iterator[Answer]:
    """Yield definitions as people wrote them, below the solution of their chapter."""
    with (HERE / "definitions.tsv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\")]
    for row in rows:
        code = (HERE / "definitions" / f"{row['name']}.py").read_text(encoding="utf-8")
        text = f"{solution(row['chapter'])}\n\n{code}"
        wanted = [one for one in row["line"].split(" | ") if one]
        below = range(text.count("\n") - code.count("\n"), text.count("\n") + 1)
        lines = ["", *text.splitlines()]
        names = row["mistakes"].split()
        yield Answer(
            **{field: row[field] for field in (*KEY, "unsays", "until")},
            text=text,
            right=row["truth"] == "right",
            faults=frozenset(at for at in below if lines[at].strip() in wanted),
            mistakes=frozenset(name for name in names if not name.startswith("~")),
            also=frozenset(name[1:] for name in names if name.startswith("~")),
            says=tuple(one for one in row["says"].split(" & ") if one),
        )


# Facts that are known mistakes themselves, with the names that they may be given.
NAMES_OF_FACTS = {
    "input_changed": {"input_overwritten", "normed_in_place"},
    "mask_as_attribute": {"mask_as_plain_attribute"},
    "no_refusal": {"num_heads_unchecked", "groups_unchecked", "gqa_heads_unchecked"},
}


def generated() -> Iterator[Answer]:
    """Yield wrong answers that a program made: edits of the solution, one JSON object a line.

    "mutant": one small edit, without a known mistake. "fact": an edit that changes no value, such
    as a mask that is no buffer. "beside": a known mistake and a fact; its name is `mistake+fact`.
    """
    with gzip.open(HERE / "generated.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        source = solution(row["chapter"])
        text = edited(source, row["exercise"], row["edits"])
        *mistakes, fact = row["name"].split("+")
        yield Answer(
            **{field: row[field] for field in KEY},
            text=text,
            right=False,
            faults=changed_lines(source, text),
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
    with gzip.open(HERE / "version3.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {(row["corpus"], row["exercise"], row["name"]): row for row in rows}


def twins(exercise: str, name: str) -> frozenset[str]:
    """Return the other names of a known mistake: no case distinguishes them, or they are merged."""
    return twins_by_name().get((exercise, name), frozenset())


@cache
def twins_by_name() -> dict[tuple[str, str], frozenset[str]]:
    """Read `twins.tsv`: exercise, name, its twin."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for line in (HERE / "twins.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        exercise, name, twin = line.split("\t")
        for key, other in (((exercise, name), twin), ((exercise, twin), name)):
            found[key] = found.get(key, frozenset()) | {other}
    return found


@dataclass(frozen=True)
class Told:
    """A text and its expected verdict. A field with its default demands nothing.

    says: words that the message contains, with ` & ` between them. unsays: words that it must not.
    names: the mistakes. line: a piece of the line at fault; if `says` has `{}`, the message has its
    number there, and the row need not. points: the least and the largest share of them; by default,
    not all. public: ask the learner's own checks.
    """

    chapter: str
    exercise: str
    name: str
    text: str = field(repr=False)
    says: str = ""
    unsays: str = ""
    names: list[str] | None = None
    line: str = ""
    points: tuple[float, float] | None = None
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
    """Yield the rows of told/*.py: TOLD, by exercise and name, lists edits and what they give."""
    for path in sorted((HERE / "told").glob("*.py")):
        for exercise, rows in runpy.run_path(str(path))["TOLD"].items():
            for name, (edits, expected) in rows.items():
                text = changed(path.stem, exercise, [edits] if isinstance(edits, str) else edits)
                yield Told(path.stem, exercise, name, text, **expected)


def changed(chapter: str, exercise: str, edits: list[tuple[str, str] | str]) -> str:
    """Return a solution with pieces of a definition replaced, and with texts below it."""
    source = solution(chapter)
    lines = source.splitlines()
    first, last = place_of(source, exercise)
    part = "\n".join(lines[first:last])
    for old, new in (one for one in edits if isinstance(one, tuple)):
        assert part.count(old) == 1, f"{exercise}: {old!r} occurs {part.count(old)} times"
        part = part.replace(old, new)
    below = [one for one in edits if isinstance(one, str)]
    return "\n".join([*lines[:first], part, *lines[last:], *below, ""])
