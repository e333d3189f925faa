"""Replies of any content within the right form: judging ends in a verdict, never in an error.

An error while judging would end the grading of a whole class.
"""

import itertools
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensorgrade.attempts.attempt import Attempt
from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.pipeline import grade
from tensorgrade.course import Limits
from tensorgrade.exchange.cases import Case
from tensorgrade.exchange.observation import (
    Loaded,
    Looked,
    Observation,
    Outcome,
    read_observation,
)
from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.runner.wire import BadMessage, pack, unpack
from tensorgrade.sources.program import Program, Source

from ..support import amount

WORDS = st.text(max_size=5)
NUMBERS = st.integers(-5, 5) | st.just(10**400) | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
SHAPES = st.sampled_from([(), (0,), (1,), (3,), (0, 4), (2, 0, 3), (1, 1, 1, 1)])
KINDS = ("float64", "float32", "float16", "bool", "int64", "uint8")
DTYPES = st.sampled_from([getattr(torch, kind) for kind in KINDS])
TENSORS = st.builds(lambda shape, dtype: torch.ones(shape).to(dtype), SHAPES, DTYPES)
SHARED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
CHAPTERS = ("ch1_simplified_attention", "ch3_causal_attention")
LARGE = ("ch2_self_attention", "ch4_multi_head_attention")  # a verdict on any reply takes seconds


KIND = "POSITIONAL_OR_KEYWORD"
# The stub's parts have other names here.
TAKEN = (("first", KIND), ("second", KIND), ("third", "KEYWORD_ONLY"), ("more", "VAR_KEYWORD"))


class Answering(Lab):
    """A lab in which every program says what a function returns for its cases."""

    isolation = "none"

    def __init__(self, reply: Callable[[Case], Observation], loaded: Loaded, facts: Looked):
        super().__init__(None, Limits())
        self.reply, self.loaded, self.facts = reply, loaded, facts

    def look(self, program: Program, bugs: dict[str, str] | None = None) -> Looked:
        return replace(self.facts, source=program.text)

    def load(self, program: Program) -> Loaded:
        return self.loaded

    def run(self, program: Program, cases: list[Case]) -> list[Observation]:
        return [*map(self.reply, cases)]


def hostile(maker, chapter: str, names: list[str], choose) -> Attempt:
    """Return an attempt whose replies are the right ones with parts exchanged by a chooser."""
    references = maker.side(chapter).references
    right = {case.id: expected for name in names for case, expected in references.of(name)}

    def reply(case) -> Observation:
        """The right answer to a case, bent, packed, and read as any reply is."""
        if case.id not in right:  # a public case, to compare an error's text with
            return Observation(Outcome.KILLED)
        expected = right[case.id]
        # A refusal's text is not stored; a right one gives the numbers that the case passes.
        numbers = " ".join(str(value) for _, value in case.passed if isinstance(value, int))
        error = expected.error and asdict(expected.error) | {"text": numbers}
        header = {"id": case.id, "error": error}
        header |= {"values": dict(expected.values), "facts": dict(expected.facts)}
        tensors = dict(expected.tensors)
        choose(header, tensors)
        try:
            return read_observation(unpack(pack(header, tensors)), case.id)
        except (BadMessage, ValueError):
            return Observation(Outcome.KILLED)

    loaded = Loaded(names=tuple(names), parameters=dict.fromkeys(names, TAKEN))
    facts = Looked(changes=dict.fromkeys(references.bugs, 1))  # no text; the given code is fixed
    lab = Answering(reply, loaded, facts)
    program = maker.program(chapter, Source("", ""))
    return Attempt(lab, program, maker.course, maker.side(chapter))


# An edit of one reply: the part, its index if there are several, and the new content.
BENDS = st.tuples(
    st.sampled_from(["tensor", "tensors", "value", "fact", "inner", "error", "gone", "none"]),
    st.integers(0, 99),
    st.integers(0, 99),
    JSON,
    # A bool tensor for dropped weights ends the judging: see test_answers.py.
    TENSORS.filter(lambda tensor: tensor.dtype != torch.bool),
)


def bend(how, header: dict, tensors: dict) -> None:
    """Exchange one part of a reply: tensors, a value, a fact, a part of one, the error."""
    part, which, inner, value, tensor = how
    if part == "tensor" and tensors:
        tensors[pick(tensors, which)] = tensor
    elif part == "tensors":
        tensors.update(dict.fromkeys(tensors, tensor))
    elif part == "gone" and tensors:
        del tensors[pick(tensors, which)]
    elif part == "value":
        header["values"][pick({**tensors, "x": 0}, which)] = {"type": "int", "json": value}
    elif part == "error":
        header["error"] = {"type": value, "text": value, "line": value} if inner % 2 else value
    elif part in ("fact", "inner") and header["facts"]:
        name = pick(header["facts"], which)
        fact = header["facts"][name]
        whole = part == "fact" or not isinstance(fact, dict) or not fact
        header["facts"][name] = value if whole else fact | {pick(fact, inner): value}


def pick(things: dict, which: int) -> str:
    """One of the names."""
    return sorted(things)[which % len(things)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter", [*CHAPTERS, *(pytest.param(name, marks=pytest.mark.proof) for name in LARGE)]
)
def test_any_reply_gets_a_verdict(judge, chapter):
    """Every exercise gets its row, with points between none and all."""
    grader = judge.grader(False)
    names = [exercise.name for exercise in grader.maker.course.chapter(chapter).exercises]

    @settings(max_examples=min(100, amount(3)), suppress_health_check=SHARED, derandomize=True)
    @given(st.lists(BENDS, min_size=1, max_size=6))
    def judged(bends):
        # Drawn before: the tests that ask for replies run in another thread.
        turns = itertools.cycle(bends)
        tried = hostile(grader.maker, chapter, names, lambda h, t: bend(next(turns), h, t))
        verdicts = grade("x", tried)
        assert [v.exercise for v in verdicts] == names
        assert all(0 <= v.points <= v.max_points and v.message.isprintable() for v in verdicts)
        assert all(len(v.message) <= LONGEST_MESSAGE for v in verdicts)

    judged()


@pytest.mark.parametrize("chapter", [*CHAPTERS, *LARGE])
def test_right_replies_pass(judge, chapter):
    """The fuzzed backend's starting point earns everything, so that bending it means something."""
    grader = judge.grader(False)
    names = [exercise.name for exercise in grader.maker.course.chapter(chapter).exercises]
    tried = hostile(grader.maker, chapter, names, lambda header, tensors: None)
    verdicts = grade("x", tried)
    assert [v.exercise for v in verdicts if v.points != v.max_points] == []
