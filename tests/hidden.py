"""What a course keeps from its learners, and a search for it in whatever they get."""

import io
import re
import zipfile
from collections.abc import Iterator

import numpy as np
import torch
from safetensors.torch import load

from tensorgrade.author.mistakes import every_mistake
from tensorgrade.exchange.stored import PART, SUFFIX, unpacked_part
from tensorgrade.project import Project

from .support import stored_references


def secrets_of(project: Project) -> dict[str, list[bytes]]:
    """Return what must stay hidden, by kind; each piece is telling and has at least 8 bytes."""
    return {
        "solutions": [line.encode() for line in solution_lines(project)],
        "graders": [line.encode() for line in grader_lines(project)],
        "mistakes": [new.encode() for new in edits_of_mistakes(project)],
        "hidden numbers": [*hidden_numbers(project)],
        "seed": [str(project.course.seed).encode()],
    }


def solution_lines(project: Project) -> set[str]:
    """Return telling lines of the solutions; of a find-the-bug exercise, those that differ."""
    found = set()
    for chapter in project.course.chapters:
        for cell in project.solution(chapter.name).read_text("utf-8").split("\n# %%"):
            regions = re.findall(r"### BEGIN SOLUTION(.*?)### END", cell, re.DOTALL)
            lines = [line for region in regions for line in region.splitlines()]
            right = [line.partition("  ### BUG: ")[0] for line in lines if "### BUG: " in line]
            found |= {line.strip() for line in right or lines if len(line.strip()) > 24}
    return found


def grader_lines(project: Project) -> set[str]:
    """Return telling lines of code of the graders. Learners get their checks and `checks.py`."""
    messages = [mistake.message for mistake in every_mistake(project)]
    paths = [path for path in project.graders.rglob("*.py") if path.name != "checks.py"]
    stubs = "".join(path.read_text("utf-8") for path in project.exercises.glob("*.py"))
    lines = {line.strip() for path in paths for line in path.read_text("utf-8").splitlines()}
    return {
        line
        for line in lines
        if len(line) > 40
        and any(sign in line for sign in "=@(")
        and not line.startswith(("from tensorgrade", '"'))
        and not line.startswith(("check(", "it."))
        and line not in stubs  # a docstring's example
        and not any(line.strip('"') in message for message in messages)
    }


def edits_of_mistakes(project: Project) -> set[str]:
    """Return the code of known mistakes, if it is more than a name or a number."""
    made = (new for one in every_mistake(project) for _, new in one.edits)
    lines = (line.strip() for new in made for line in new.splitlines())
    lines = (line for line in lines if not line.endswith("("))  # the next line tells
    return {line for line in lines if len(line) > 30 and any(sign in line for sign in ".=@")}


def hidden_numbers(project: Project) -> Iterator[bytes]:
    """Yield the first numbers of the inputs and results of hidden cases."""
    for chapter in project.course.chapters:
        # Learners have some of these numbers: the examples of docstrings, and their results.
        public = {
            bytes_of(tensor)
            for case, expected in stored_references(project, chapter.name, hidden=False).entries
            for tensor in (*case.tensors.values(), *expected.tensors.values())
        }
        for case, expected in stored_references(project, chapter.name).entries:
            if not case.tensors:  # nothing is drawn: anybody can compute what comes out
                continue
            for tensor in [*case.tensors.values(), *expected.tensors.values()]:
                first = tensor.flatten()[: max(3, 8 // tensor.itemsize)].contiguous()
                telling = tensor.is_floating_point() and len({*first[:3].tolist()}) == 3
                if telling and bytes_of(tensor) not in public:
                    yield bytes_of(first)


def bytes_of(tensor: torch.Tensor) -> bytes:
    """Return the numbers of a tensor as bytes."""
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def opened(files: dict[str, bytes]) -> dict[str, bytes]:
    """Add what is in zip files, wheels and recordings, by their paths."""
    found = dict(files)
    for name in files:
        if name.endswith((".zip", ".whl")):
            with zipfile.ZipFile(io.BytesIO(files[name])) as inner:
                found |= opened({f"{name}!{part}": inner.read(part) for part in inner.namelist()})
        if name.endswith(SUFFIX):
            tensors = {n: t for n, t in load(files[name]).items() if n.startswith(PART)}
            found |= {f"{name}!{n}": repr(unpacked_part(t)).encode() for n, t in tensors.items()}
    return found


def found_in(text: bytes, needles: list[bytes]) -> list[bytes]:
    """Return the needles in a text; if the first eight bytes of one match, compare all of it."""
    assert needles and min(map(len, needles)) >= 8
    by_start: dict[int, list[bytes]] = {}
    for needle in needles:
        by_start.setdefault(int.from_bytes(needle[:8], "little"), []).append(needle)
    starts, found = np.array(sorted(by_start), "<u8"), []
    for shift in range(min(8, len(text))):
        numbers = np.frombuffer(text, "<u8", (len(text) - shift) // 8, shift)
        nearest = starts[np.searchsorted(starts, numbers).clip(max=len(starts) - 1)]
        for place in np.flatnonzero(nearest == numbers):
            at = shift + 8 * int(place)
            same = by_start[int(numbers[place])]
            found += [needle for needle in same if text.startswith(needle, at)]
    return found
