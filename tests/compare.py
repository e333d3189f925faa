"""List what changed between the verdicts of two versions, for a person. Never fails.

    python -m tests.compare OLD.jsonl NEW.jsonl

`python -m tests.floors --rows FILE` writes such rows. Without OLD: those of version 3.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from .answers.reader import version3

Rows = dict[tuple[str, str, str], dict]
COLUMNS = ("points", "status", "mistakes", "line")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="[OLD] NEW")
    *old, new = (read(path) for path in parser.parse_args().files)
    list_differences(old[0] if old else version3(), new)


def read(path: Path) -> Rows:
    """Read rows by corpus, exercise and name."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["corpus"], row["exercise"], row["name"]): row for row in rows}


def list_differences(before: Rows, after: Rows) -> None:
    """Print each verdict that differs, the largest loss or gain of points first."""
    common = sorted(before.keys() & after.keys())
    changed = [key for key in common if cells(before[key]) != cells(after[key])]
    changed.sort(key=lambda key: -abs(gain(before[key], after[key])))
    for key in changed:
        was, now = before[key], after[key]
        print(" ".join(key), f"({gain(was, now):+.2f} of the exercise)")
        for column in COLUMNS:
            if was[column] != now[column]:
                print(f"    {column:<9}{was[column]} → {now[column]}")
    by_corpus = Counter(key[0] for key in changed)
    other_words = sum(before[key]["message"] != after[key]["message"] for key in common)
    print(f"{len(common)} verdicts, {len(changed)} differ {dict(by_corpus)},")
    print(f"{other_words} messages differ; only in one: {len(before.keys() ^ after.keys())}")


def cells(row: dict) -> list:
    """Return what is compared."""
    return [row[column] for column in COLUMNS]


def gain(was: dict, now: dict) -> float:
    """Return the change of the points, as a share of the exercise."""
    return now["points"] / now["max"] - was["points"] / was["max"]


if __name__ == "__main__":
    main()
