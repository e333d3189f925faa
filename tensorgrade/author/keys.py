"""The key of a recording: a digest of everything that its runs depend on.

Lesson text, docstrings, comments and messages do not count. The numbers of the cases are
rounded, because processors differ in the last digit of a random number.
"""

import ast
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import torch

from ..built import RECORDING
from ..exchange.cases import Case
from ..exchange.references import case_to_json
from ..judging.checks import FILE
from ..project import parsed, text_in
from ..runner.wire import pack
from .pairs import pairs_path
from .recording import Recording

DIGITS = 16  # binary digits of a number that count
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def key_of(recording: Recording) -> str:
    """Return the key of a recording. Raises CourseError if a file cannot be read."""
    seen = blake2b(f"{RECORDING} {torch.__version__}".encode(), digest_size=12)
    pairs = pairs_path(recording.project, recording.exercise)
    stored = [pairs.read_bytes().hex()] if not recording.hidden and pairs.exists() else []
    for text in (*texts_of(recording), *stored):
        seen.update(f"{len(text)} {text}".encode())
    for case in recording.cases:
        seen.update(packed(case))
    return seen.hexdigest()


@lru_cache(maxsize=256)  # of the files before a recording runs: authors save others meanwhile
def texts_of(recording: Recording) -> tuple[str, ...]:
    """Return the texts that decide what a recording's versions are and how results are stored."""
    project, chapter, name = recording.project, recording.chapter, recording.exercise
    given = sorted((project.exercises / "given" / chapter).glob("*.py"))
    checks = project.course.chapter(chapter).exercise(name).checks
    called = {call.name for check in checks for call in check.calls}
    own, own_file = recording.own, project.graders / FILE
    has_own = not called.isdisjoint(own.checks) or any(
        case.signature in own.signatures for case in recording.cases
    )
    return (
        code_of(recording.source, recording.lesson),
        repr([(one.name, one.edits) for one in recording.mistakes.values()]),
        repr([(check.points, check.says, check.calls) for check in checks]),
        repr(recording.bugs),
        *(f"{path.name} {code_of(text_in(path), path)}" for path in given),
        *([code_of(text_in(own_file), own_file)] if has_own else []),
        repr(sorted(project.stages.items())),
    )


def packed(case: Case) -> bytes:
    """Return a case as bytes, with rounded numbers."""
    types = {name: str(tensor.dtype) for name, tensor in case.tensors.items()}
    numbers = {name: rounded(tensor) for name, tensor in case.tensors.items()}
    return pack(case_to_json(case) | {"types": types}, numbers)


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    """Return the floats of a tensor with their first binary digits; other tensors unchanged."""
    if not tensor.is_floating_point():
        return tensor
    mantissa, exponent = torch.frexp(tensor.double())
    return torch.ldexp((mantissa * 2**DIGITS).round(), exponent)


@lru_cache(maxsize=128)  # all exercises of a chapter ask for the same files
def code_of(text: str, path: Path) -> str:
    """Return the code in a file's text without docstrings and comments. Raises CourseError."""
    module = parsed(text, path)
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(module)
