"""Audits in words: the verdict first, each line of code as `file.py:12`."""

import os
from collections.abc import Iterator

from ..exchange.text import printable

MOST = 400  # characters of a line


def status_of(found: dict) -> int:
    """Return the exit status: 1 if a relation fails, 2 if nothing could be run, otherwise 0."""
    states = [one["status"] for one in found["audits"]]
    if "fails" in states:
        return 1
    return 0 if "holds" in states and not found["problem"] else 2


def report(found: dict, brief: bool = False) -> str:
    """Return the report on a file as text.

    brief: a definition that could not be run has one line, and a file without attention none.
    """
    path = shown(found["file"])
    parts = [[*lines_of(one, path)] for one in found["audits"]]
    if brief:
        parts = [[": ".join(p[:2])] if "could not be run" in p[0] else p for p in parts]
    if found["problem"]:
        parts.append([f"{path} could not be run: {found['problem']}."])
    elif not parts and not brief:
        said = f"{path} has no class or function that looks like attention. If one is, name it: "
        parts.append([f"{said}tensorgrade audit {path}:NAME"])
    return "\n\n".join("\n".join(map(one_line, lines)) for lines in parts)


def one_line(text: str) -> str:
    """Return a text as one printable line, since audited code chooses parts of it.

    >>> one_line("a\\x1b[31mb\\n::error::c")
    'a?[31mb?::error::c'
    """
    return printable(text.replace("\n", "\0").replace("\t", "\0"), MOST)


def shown(path: str) -> str:
    """Return a path relative to this folder if it is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def lines_of(audit: dict, path: str) -> Iterator[str]:
    """Yield the lines on one definition."""
    place = f"{path}:{audit['line']} {audit['name']}"
    if audit["status"] == "not run":
        yield f"{place}: could not be run"
        yield f"  {audit['why'][:1].upper()}{audit['why'][1:].rstrip('.')}."
        yield from causes(audit, path, "What the error means")
        return
    failing, holding, skipped = (
        [one for one in audit["relations"] if one["status"] == status]
        for status in ("fails", "holds", "skipped")
    )
    if failing:
        yield f"{place}: WRONG, {len(failing)} of {len(failing) + len(holding)} relations fail"
    else:
        yield f"{place}: no mistake found, {len(holding)} relations hold"
    yield f"  Taken for {audit['taken_for']}"
    yield from causes(audit, path, "Known mistake")
    said = [one["says"] for one in audit["mistakes"]]
    for one in failing:
        yield f"  ✗ {one['name']}" + ("" if one["why"] in said else f": {one['why']}")
        yield f"      Example: {one['example']}"
    if holding:
        yield f"  ✓ {', '.join(one['name'] for one in holding)}"
    for one in skipped:
        if "formula" in one["name"]:
            yield f"  – Not tested: {one['name']}, because {one['why']}"


def causes(audit: dict, path: str, lead: str) -> Iterator[str]:
    """Yield the known mistakes, each with its line, and the lines that raise errors."""
    for one in audit["mistakes"]:
        if one["name"]:
            yield f"  {lead}: {one['says']}"
        if one["line"]:
            yield f"  Look at {path}:{one['line']}    {one['code']}"


def annotations(found: dict) -> Iterator[str]:
    """Yield commands with which a GitHub workflow marks lines."""
    path = shown(found["file"])
    for audit in found["audits"]:
        failing = [one for one in audit.get("relations", ()) if one["status"] == "fails"]
        if failing:
            said = " ".join(dict.fromkeys(one["why"] for one in failing))
            title = f"{audit['name']}: {failing[0]['name']}".replace(",", " ").replace(":", " ")
            line = next((one["line"] for one in audit["mistakes"]), audit["line"])
            told = f"::error file={path},line={line},title={title}::{said}"
            yield one_line(told.replace("%", "%25"))
