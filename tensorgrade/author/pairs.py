"""Tell the mistakes of an exercise apart by their fingerprints, alone and two at once.

Pairs of mistakes are stored in `graders/pairs/<exercise>.json.xz`. Git tracks these files, because
they take minutes to make. They hold fingerprints on public cases: those of single mistakes, and of
pairs. The pairs are valid while the single mistakes give the same values. No facts are stored,
because those of a pair are the facts of both.
"""

import json
import lzma
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ..course import CourseError
from ..folders import write_file
from ..recognition.edits import EditError
from ..recognition.fingerprints import (
    Fingerprint,
    Known,
    facts_of,
    matches,
    read_prints,
    stored_form,
)
from .recording import Imprints, Names, Recording


class Lookalikes:
    """The fingerprints so far, the solution's first, searchable by their imprints."""

    def __init__(self, right: Imprints) -> None:
        self.all: list[Fingerprint] = []
        self.by_words: dict[tuple, list[Fingerprint]] = {}
        self.add(Fingerprint((), right))

    def add(self, fingerprint: Fingerprint) -> None:
        """Add a fingerprint."""
        self.all.append(fingerprint)
        self.by_words.setdefault(words_of(fingerprint.imprints), []).append(fingerprint)

    def of(self, imprints: Imprints, facts: bool = True) -> Names | None:
        """Return the mistakes of the first fingerprint that matches these imprints.

        The result is an empty tuple for right answers, and None if nothing matches. facts: False to
        compare values only.
        """
        for other in self.by_words.get(words_of(imprints), []):
            same = not (facts and facts_of(other.imprints, imprints))
            if same and matches(other, imprints):
                return other.mistakes
        return None


def words_of(imprints: Imprints) -> tuple:
    """Return the part of imprints that must be exactly equal to match, as a key of a dict."""
    return tuple(sorted((case, one.words) for case, one in imprints.items()))


def singles_of(recording: Recording) -> Lookalikes:
    """Return the fingerprints that identify a mistake.

    A shared mistake is left out if it has the results of the solution or of an earlier mistake.
    Raise CourseError if one of the exercise's own mistakes has them. Learners' cases need not tell
    two mistakes apart: there the first one's name is given.
    """
    found, wrong = Lookalikes(recording.right), []
    for name, mistake in recording.mistakes.items():
        single = recording.single(name)
        twin = found.of(single.imprints)
        if twin is None:
            found.add(single)
        elif not mistake.shared and (recording.hidden or not twin):
            alike = " and ".join(twin) or "a right answer"
            wrong.append(f"{recording.about(name)} looks like {alike}")
    if wrong:
        raise CourseError("\n".join(wrong))
    return found


def with_pairs(
    recording: Recording, found: Lookalikes, asked: bool
) -> tuple[list[Fingerprint], bool]:
    """Return the fingerprints of single mistakes and of pairs, and True if pairs are included.

    Stored pairs are reused if the single mistakes still give the same results. Otherwise pairs are
    made and stored if they are asked for.
    """
    path, singles = recording.pairs_path, found.all[1:]
    mistakes = [one.mistakes[0] for one in Known(recording.right, singles).changing]
    names = list(combinations(mistakes, 2))
    if not names:
        return singles, True
    pairs = read_pairs(path, singles)
    if pairs is None:
        if not asked:
            return singles, False
        pairs = made_pairs(recording, found, names)
        write_pairs(path, singles, pairs)
    return [*singles, *pairs], True


def made_pairs(
    recording: Recording, found: Lookalikes, names: list[tuple[str, str]]
) -> list[Fingerprint]:
    """Run pairs of mistakes. Return those whose results match no single mistake.

    Two pairs with matching results are both returned: neither is named, but their points are known.
    """
    made = []
    for pair in names:
        try:
            _, seen = recording.seen(pair)
        except EditError:  # both edit the same text
            continue
        imprints = recording.imprints(seen)
        twin = found.of(imprints, facts=False)
        if twin is None or len(twin) == 2:
            made.append(without_facts(Fingerprint(pair, imprints)))
            found.add(made[-1])
    return made


def without_facts(one: Fingerprint) -> Fingerprint:
    """Return the values of a fingerprint alone."""
    values = {case: replace(imprint, facts=()) for case, imprint in one.imprints.items()}
    return Fingerprint(one.mistakes, values)


def read_pairs(path: Path, singles: list[Fingerprint]) -> list[Fingerprint] | None:
    """Return the stored pairs.

    Return None if they are missing or damaged, or if these single mistakes are not the stored ones.
    """
    try:
        stored = read_prints(json.loads(lzma.decompress(path.read_bytes())))
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError):
        return None
    alone = [one for one in stored if len(one.mistakes) == 1]
    if [one.mistakes for one in alone] != [one.mistakes for one in singles]:
        return None
    if not all(matches(one, now.imprints) for one, now in zip(alone, singles, strict=True)):
        return None
    return [one for one in stored if len(one.mistakes) == 2]


def write_pairs(path: Path, singles: list[Fingerprint], pairs: list[Fingerprint]) -> None:
    """Write pairs with the single mistakes. The same fingerprints give the same bytes."""
    stored = stored_form([*map(without_facts, singles), *pairs])
    text = json.dumps(stored, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, lzma.compress(text.encode()))
