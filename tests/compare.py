"""List what changed between the verdicts of two versions, for a person. Never fails.

    python -m tests.compare OLD.jsonl NEW.jsonl             counts, and each difference
    python -m tests.compare OLD.jsonl NEW.jsonl --draw 12   twelve messages, before and after

`python -m tests.floors --rows FILE` writes such rows. Without OLD: those of version 3.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from .answers.reader import version3

Rows = dict[tuple[str, str, str], dict]
COLUMNS = ("points", "status", "mistakes", "line")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="[OLD] NEW")
    parser.add_argument("--draw", type=int, default=0, help="show so many messages that differ")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    options = parser.parse_args()
    *old, new = (read(path) for path in options.files)
    before, after = (old[0] if old else version3()), new
    common = sorted(before.keys() & after.keys())
    if options.draw:
        draw(before, after, common, options.draw, options.seed)
    else:
        list_differences(before, after, common)


def read(path: Path) -> Rows:
    """Read rows by corpus, exercise and name."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["corpus"], row["exercise"], row["name"]): row for row in rows}


def list_differences(before: Rows, after: Rows, common: list) -> None:
    """Print each verdict that differs, the largest loss or gain of points first."""
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


def draw(before: Rows, after: Rows, common: list, number: int, seed: int) -> None:
    """Print messages before and after, drawn from those that differ."""
    differ = [key for key in common if before[key]["message"] != after[key]["message"]]
    for key in random.Random(seed).sample(differ, min(number, len(differ))):
        was, now = before[key], after[key]
        print(f"{' '.join(key)}: {was['points']:g} → {now['points']:g} of {now['max']:g}")
        print(f"  before: {was['message']}\n  after:  {now['message']}\n")


def cells(row: dict) -> list:
    """Return what is compared."""
    return [row[column] for column in COLUMNS]


def gain(was: dict, now: dict) -> float:
    """Return the change of the points, as a share of the exercise."""
    return now["points"] / now["max"] - was["points"] / was["max"]


if __name__ == "__main__":
    main()
