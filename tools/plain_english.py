"""Count phrases that a native technical writer would not use, and fail above a limit.

    python tools/plain_english.py                        check the folders in LIMITS
    python tools/plain_english.py PATH ... [--list N]    measure paths, and show the worst lines

It reads Markdown files, and the comments, docstrings and sentences in Python files. The count works
like a thermometer: rewrite a passage that scores high; do not swap words to please the tool.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# The most phrases per 1,000 words. These limits may only be lowered.
LIMITS = {
    "README.md": 2,
    "CONTRIBUTING.md": 2,
    "docs": 2,
    "kit": 2,
    "tensorgrade": 3,
    "graders": 3,
    "solutions": 3,
    "exercises": 3,
    "courses": 3,
    "course_config.py": 3,
}

PREPOSITION = "about|and|but|by|for|from|in|of|on|or|than|to|with"
VERB = (
    "a|are|can|came|comes|could|did|does|had|has|have|is|it|lies|may|must|should|stands|the|they"
    "|was|were"
)
PLACE = "above|as|at|before|behind|below|beside|between|for|here|in|on|there|where"
SUBJECT = "a|all|an|any|both|code|it|learners|no|one|several|some|that|the|there|they|this|you"
PHRASES = {
    "clause without a noun": r"(?:^|[.:;(] )(?:How often|That which|Those|What(?:ever)?|Whether"
    r"|Who(?:ever)?) (?=[a-z])(?![^.!?]*\?)",
    "what or who as a noun": rf"\b(?:{PREPOSITION}) wh(?:at|o) (?:{VERB})\b",
    "stands, lies": rf"\b(?:lay|lies?|stand|stands|stood) (?:{PLACE})\b",
    "told, tells": r"\b(?:are|be|been|is|was|were) told\b|\bto tell\b"
    r"|\btells? (?:apart|how|nothing|of|what|where|which|whose)\b",
    "where instead of if": rf"(?:^|[.;,(] ?)[Ww]here (?:{SUBJECT})\b",
    "as it is": r"\bas (?:ever|(?:it|they) (?:are|is|was|were|go|goes|stands?))\b",
    "all that, nothing but": r"\ball (?:else|of it|that)\b"
    r"|\b(?:no more than that|nothing but|what else)\b",
    "anew, aloud, by itself": r"\b(?:aloud|anew|by itself|hitherto|made-up)\b"
    r"|\b(?:there(?:by|in|of)|whereby)\b",
    "somebody, nobody": r"\b(?:every|no|some)body\b|\bwhoever\b",
    "is to be": r"\b(?:are|is|was|were) to (?:be|come|do|find|go|have|mend|say)\b",
    "mend, hand in": r"\bmend(?:ed|ing|s)?\b|(?<!by )\bhand(?:ed|s)? in\b",
}
PATTERNS = {kind: re.compile(phrase) for kind, phrase in PHRASES.items()}
SENTENCE_WORDS = 6  # a string with fewer is a name, a key or a pattern


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--list", type=int, default=0, metavar="N", help="show the N worst lines")
    asked = parser.parse_args()
    failed = False
    for name in asked.paths or LIMITS:
        rate, worst = measured(Path(name) if asked.paths else ROOT / name)
        limit = None if asked.paths else LIMITS[name]
        above = limit is not None and rate > limit
        failed |= above
        print(f"{name}: {rate:.1f} per 1,000 words" + (f", more than {limit}" if above else ""))
        print(
            "".join(f"  {count}  {line}\n" for line, count in worst.most_common(asked.list)), end=""
        )
    return int(failed)


def measured(path: Path) -> tuple[float, Counter[str]]:
    """Return a path's phrases per 1,000 words, and the number of phrases on each line."""
    words, hits = 0, Counter[str]()
    for file in files(path):
        for number, text in passages(file):
            words += len(re.findall(r"[A-Za-z']+", text))
            if count := sum(len(pattern.findall(text)) for pattern in PATTERNS.values()):
                hits[f"{file}:{number}  {text.strip()[:120]}"] += count
    return 1000 * hits.total() / max(words, 1), hits


def files(path: Path) -> list[Path]:
    """Return the Markdown and Python files of a path."""
    if path.is_file():
        return [path]
    return [file for file in sorted(path.rglob("*")) if file.suffix in (".md", ".py")]


def passages(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and text of every line in a file that people read."""
    read = python_passages if file.suffix == ".py" else markdown_passages
    for number, line in read(file.read_text(encoding="utf-8")):
        yield number, re.sub(r"`[^`]+`", "CODE", line)


def markdown_passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a Markdown file that are not code."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            code = not code
        elif not code and not line.startswith((" " * 4, "\t")):
            yield number, line


def python_passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments and of long strings in Python code."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
        if token.type == tokenize.STRING:
            string = ast.literal_eval(token.string) if token.string[0] in "\"'" else token.string
            if len(string.split()) >= SENTENCE_WORDS:
                yield from enumerate(string.splitlines(), token.start[0])


if __name__ == "__main__":
    sys.exit(main())
