"""Audits in words: the verdict first, each line of code as `file.py:12`."""

import os
import re
from collections.abc import Iterator

MARKS = {"fails": "✗", "holds": "✓"}


def status_of(found: dict) -> int:
    """Return the exit status: 1 if a relation fails, 2 if nothing could be run, otherwise 0."""
    states = [one["status"] for one in found["audits"]]
    if "fails" in states:
        return 1
    return 0 if "holds" in states and not found["problem"] else 2


def report(found: dict) -> str:
    """Return the report on a file as text."""
    path = shown(found["file"])
    parts = ["\n".join(lines_of(one, path)) for one in found["audits"]]
    if found["problem"]:
        parts.append(f"{path} could not be run: {found['problem']}.")
    elif not parts:
        parts.append(
            f"{path} has no class or function that looks like attention. If one is, name it: "
            f"tensorgrade audit {path}:NAME"
        )
    return clean("\n\n".join(parts))


def shown(path: str) -> str:
    """Return a path relative to this folder if it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def clean(text: str) -> str:
    """Replace control characters, since audited code chooses parts of the text.

    >>> clean("a\\x1b[31mb\\nc")
    'a?[31mb\\nc'
    """
    return re.sub(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\x9f]", "?", text)


def lines_of(audit: dict, path: str) -> Iterator[str]:
    """Yield the lines on one definition."""
    place = f"{path}:{audit['line']} {audit['name']}"
    if audit["status"] == "not run":
        yield f"{place}: could not be run"
        yield f"  {sentence(audit['why'])}"
        if audit.get("at"):
            yield from cause(audit, path)
        return
    relations = audit["relations"]
    failing = [one for one in relations if one["status"] == "fails"]
    holding = [one["name"] for one in relations if one["status"] == "holds"]
    skipped = [one for one in relations if one["status"] == "skipped"]
    if failing:
        yield f"{place}: WRONG, {len(failing)} of {len(failing) + len(holding)} relations fail"
    else:
        yield f"{place}: no mistake found, {len(holding)} relations hold"
    roles = "; ".join(f"{topic} {value}" for topic, value in audit["roles"].items())
    yield f"  Taken for {audit['kind']}" + (f": {roles}" if roles else "")
    if failing:
        yield from cause(audit, path)
    for one in failing:
        yield f"  {MARKS['fails']} {one['name']}: {one['why']}"
        if one["example"]:
            yield f"      Smallest example: {one['example']}"
    if holding:
        yield f"  {MARKS['holds']} {', '.join(holding)}"
    formula = [one for one in skipped if one["name"].startswith("equality with F.")]
    for one in formula:
        yield f"  – Not tested: {one['name']}, because {one['why']}"
    others = [one["name"] for one in skipped if one not in formula]
    if others:
        yield f"  – Does not apply: {', '.join(others)}"


def cause(audit: dict, path: str) -> Iterator[str]:
    """Yield the known mistakes, and the line with its repair."""
    mistakes, at = audit["mistakes"], audit["at"]
    if len(mistakes) == 1:
        lead = "What the error means" if audit["status"] == "not run" else "Known mistake"
        yield f"  {lead}: {mistakes[0]['says']}"
    elif mistakes:
        yield "  Known mistakes:"
        for one in mistakes:
            yield f"    {path}:{one['line']} {one['says']}"
    if at:
        yield from place_of(at, path)


def place_of(at: dict, path: str) -> Iterator[str]:
    """Yield the line to look at, and its repair."""
    yield f"  Look at {path}:{at['line']}    {at['code']}"
    if at["fix"] == "pass":
        yield "      Without this line every relation holds."
    elif at["fix"]:
        yield f"      With this line every relation holds:    {at['fix']}"


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def annotations(found: dict) -> Iterator[str]:
    """Yield commands with which a GitHub workflow marks lines."""
    path = shown(found["file"])
    for audit in found["audits"]:
        if audit["status"] != "fails":
            continue
        failing = [one for one in audit["relations"] if one["status"] == "fails"]
        said = " ".join([*(m["says"] for m in audit["mistakes"]), *(one["why"] for one in failing)])
        title = escaped(f"{audit['name']}: {failing[0]['name']}").replace(",", "%2C")
        title = title.replace(":", "%3A")
        line = audit["at"].get("line", audit["line"])
        yield f"::error file={path},line={line},title={title}::{escaped(said)}"


def escaped(text: str) -> str:
    """Return a text in the form that workflow commands need.

    >>> escaped("50%\\nmore")
    '50%25%0Amore'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
