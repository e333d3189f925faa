"""Expected values never enter the process of learner code: a search of its memory proves it."""

from pathlib import Path

import pytest
import torch

from tensorgrade.attempts.lab import Lab
from tensorgrade.sandbox.processes import ENVIRONMENT, ForkServer

from ..support import stored_references

CHAPTER = "ch3_causal_attention"
WRONG = """
import os, torch
SEEN = []
def causal_attention_weights(attn_scores, d_k):
    SEEN.append(attn_scores)  # each case arrives alone, and is gone when the next one arrives
    return torch.zeros_like(attn_scores)
"""


@pytest.fixture
def exchange(project):
    """A child that has answered all cases of an exercise, wrongly, and is still alive."""
    references = stored_references(project, CHAPTER)
    entries = references.of("causal_attention_weights")
    with ForkServer(project.course.limits, locked=False) as warm:
        lab, program = Lab(warm, project.course.limits), project.program(CHAPTER, WRONG)
        assert lab.load(program).status == "loaded"
        seen = lab.run(program, [case for case, _ in entries])
        assert all(observation.status == "answered" for observation in seen)
        yield entries, children_of(warm.process.pid)


def children_of(pid: int) -> list[int]:
    """Process ids below a process, itself included."""
    found = [pid]
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += children_of(int(path.parent.name))
    return found


def memory_holds(pid: int, needles: list[bytes]) -> set[int]:
    """Return those of these byte strings that are in the writable memory of a process."""
    found = set()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, rights = line.split()[:2]
            first, last = (int(part, 16) for part in span.split("-"))
            if "rw" not in rights or last - first > 1 << 30:
                continue
            try:
                memory.seek(first)
                block = memory.read(last - first)
            except (OSError, ValueError):
                continue
            found |= {i for i, needle in enumerate(needles) if needle in block}
    return found


def row_bytes(tensor: torch.Tensor) -> bytes:
    """Return the bytes of three neighbouring values, which no chance puts into memory."""
    return tensor.flatten()[-3:].numpy().tobytes()


@pytest.mark.slow
@pytest.mark.machine
def test_expected_values_are_not_in_memory_but_inputs_are(exchange):
    entries, pids = exchange
    cases = [(c, e) for c, e in entries if c.name.startswith("values/") and "float32" not in c.name]
    cases = [(c, e) for c, e in cases if e.tensors["result"].shape[-1] >= 3]
    assert len(cases) >= 3 and len(pids) >= 2
    inputs = [row_bytes(next(iter(case.tensors.values()))) for case, _ in cases]
    expected = [row_bytes(seen.tensors["result"]) for _, seen in cases]
    # The search finds what was sent. It finds nothing that was not sent.
    assert set().union(*(memory_holds(pid, inputs) for pid in pids)) == set(range(len(inputs)))
    assert set().union(*(memory_holds(pid, expected) for pid in pids)) == set()


@pytest.mark.slow
@pytest.mark.machine
def test_environment_and_open_files_of_the_child_say_nothing(exchange, monkeypatch):
    _, pids = exchange
    for pid in pids:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        names = {entry.split(b"=")[0].decode() for entry in environment if entry}
        assert names <= set(ENVIRONMENT) | {"PWD", "LC_CTYPE", "HOME"}, names
    links = [link.readlink() for link in Path(f"/proc/{pids[-1]}/fd").iterdir()]
    assert all(
        str(link).startswith(("socket:", "/dev/null", "pipe:", "anon_inode:")) for link in links
    ), links
