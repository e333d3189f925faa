"""Stored pairs of mistakes: `graders/pairs/<exercise>.json.xz`.

Git tracks these files, because they take minutes to make. They hold fingerprints on public cases:
those of single mistakes, and of pairs. The pairs are valid while the single mistakes give the same
values. No facts are stored, because those of a pair are the facts of both.
"""

import json
import lzma
from dataclasses import replace
from pathlib import Path

from ...folders import write_file
from ...project import Project
from ...recognition.fingerprints import Fingerprint, matches, read_prints, stored_form


def pairs_path(project: Project, exercise: str) -> Path:
    """Return the path of the pairs of an exercise's mistakes."""
    return project.graders / "pairs" / f"{exercise}.json.xz"


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


def without_facts(one: Fingerprint) -> Fingerprint:
    """Return the values of a fingerprint alone."""
    values = {case: replace(imprint, facts=()) for case, imprint in one.imprints.items()}
    return Fingerprint(one.mistakes, values)


def write_pairs(path: Path, singles: list[Fingerprint], pairs: list[Fingerprint]) -> None:
    """Write pairs with the single mistakes. The same fingerprints give the same bytes."""
    stored = stored_form([*map(without_facts, singles), *pairs])
    text = json.dumps(stored, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, lzma.compress(text.encode()))
